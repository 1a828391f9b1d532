package server

import (
	"bytes"
	"regexp"
	"strings"
	"unicode"

	"github.com/google/uuid"
	"k8s.io/apimachinery/pkg/util/validation/field"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/api/wire"
	"scimesh.dev/scimesh/workloads/golden"
)

// Limits of the worker's contract.
const (
	maxCapabilities = 64
	maxCapability   = 63
	maxWorkerName   = 253
	maxEngine       = 128
	maxWaitSeconds  = 30
	maxCachedInputs = 256
	maxMetrics      = 16 << 10
	maxErrorMessage = 4096
	maxContentType  = 255
)

func validateRegister(r *wire.RegisterRequest) error {
	var errs field.ErrorList
	switch name := strings.TrimSpace(r.Name); {
	case name == "":
		errs = append(errs, field.Required(field.NewPath("name"), ""))
	case len(r.Name) > maxWorkerName:
		errs = append(errs, field.TooLong(field.NewPath("name"), "", maxWorkerName))
	case strings.ContainsFunc(r.Name, unicode.IsControl):
		errs = append(errs, field.Invalid(field.NewPath("name"), v1.Quote(r.Name), "must not hold control characters"))
	}
	errs = append(errs, validateCapabilities(r.Capabilities)...)
	if len(r.Engine) > maxEngine || strings.ContainsFunc(r.Engine, unicode.IsControl) {
		errs = append(errs, field.Invalid(field.NewPath("engine"), v1.Quote(r.Engine), "must be at most 128 bytes without control characters"))
	}
	errs = append(errs, validateGolden(r)...)
	if r.CPUCount < 1 {
		errs = append(errs, field.Invalid(field.NewPath("cpu_count"), r.CPUCount, "must be at least 1"))
	}
	if r.MemoryMB < 1 {
		errs = append(errs, field.Invalid(field.NewPath("memory_mb"), r.MemoryMB, "must be at least 1"))
	}
	if r.WorkerID != nil {
		errs = append(errs, validateID(*r.WorkerID, "worker_id")...)
	}
	return v1.AsError(errs)
}

// maxGoldenFaults bounds the molecules that an answer names.
const maxGoldenFaults = 5

// validateGolden checks what an engine claims to give the answers of, if it brings a proof.
func validateGolden(r *wire.RegisterRequest) field.ErrorList {
	if r.Golden == nil || !golden.Claims(r.Engine) {
		return nil
	}
	var errs field.ErrorList
	for _, f := range golden.Check(r.Golden) {
		if len(errs) == maxGoldenFaults {
			break
		}
		errs = append(errs, field.Invalid(field.NewPath("golden").Key(f.SMILES), v1.Quote(r.Golden[f.SMILES]), f.Message))
	}
	return errs
}

// provenEngine is the engine's name, without claims that were not proved.
func provenEngine(r *wire.RegisterRequest) string {
	if r.Golden != nil && golden.Claims(r.Engine) {
		return r.Engine
	}
	return golden.Unproven(r.Engine)
}

func validateCapabilities(names []string) field.ErrorList {
	path := field.NewPath("capabilities")
	if len(names) == 0 {
		return field.ErrorList{field.Required(path, "at least one workload")}
	}
	if len(names) > maxCapabilities {
		return field.ErrorList{field.TooMany(path, len(names), maxCapabilities)}
	}
	var errs field.ErrorList
	for i, name := range names {
		if name == "" || len(name) > maxCapability || strings.ContainsFunc(name, unicode.IsControl) {
			errs = append(errs, field.Invalid(path.Index(i), v1.Quote(name), "must be the name of a workload"))
		}
	}
	return errs
}

func validateClaim(r *wire.ClaimRequest) error {
	errs := validateID(r.WorkerID, "worker_id")
	errs = append(errs, validateCapabilities(r.Capabilities)...)
	if r.MaxConcurrency < 0 { // 0 is absent
		errs = append(errs, field.Invalid(field.NewPath("max_concurrency"), r.MaxConcurrency, "must be at least 1"))
	}
	if r.WaitSeconds < 0 || r.WaitSeconds > maxWaitSeconds {
		errs = append(errs, field.Invalid(field.NewPath("wait_seconds"), r.WaitSeconds, "must be between 0 and 30"))
	}
	if len(r.CachedInputs) > maxCachedInputs {
		errs = append(errs, field.TooMany(field.NewPath("cached_inputs"), len(r.CachedInputs), maxCachedInputs))
	} else {
		for i, digest := range r.CachedInputs {
			errs = append(errs, v1.ValidateSHA256(digest, field.NewPath("cached_inputs").Index(i))...)
		}
	}
	return v1.AsError(errs)
}

func validateHeartbeat(r *wire.HeartbeatRequest) error {
	errs := validateLease(r.WorkerID, r.Attempt)
	if r.Progress != nil && !(*r.Progress >= 0 && *r.Progress <= 1) {
		errs = append(errs, field.Invalid(field.NewPath("progress"), *r.Progress, "must be between 0 and 1"))
	}
	return v1.AsError(errs)
}

func validateResult(r *wire.ResultRequest) error {
	errs := validateLease(r.WorkerID, r.Attempt)
	result := field.NewPath("result")
	if r.Result.ArtifactID == uuid.Nil {
		errs = append(errs, field.Required(result.Child("artifact_id"), ""))
	} else if e := checkResultURI(r.Result.URI, r.Result.ArtifactID); e != nil {
		errs = append(errs, e)
	}
	errs = append(errs, v1.ValidateSHA256(r.Result.SHA256, result.Child("sha256"))...)
	if len(r.Result.ContentType) > maxContentType {
		errs = append(errs, field.TooLong(result.Child("content_type"), "", maxContentType))
	}
	return v1.AsError(append(errs, validateMetrics(r.Metrics)...))
}

func validateMetrics(raw wire.Metrics) field.ErrorList {
	path := field.NewPath("metrics")
	switch trimmed := bytes.TrimSpace(raw); {
	case len(raw) > maxMetrics:
		return field.ErrorList{field.TooLong(path, "", maxMetrics)}
	case len(trimmed) > 0 && trimmed[0] != '{' && string(trimmed) != "null":
		return field.ErrorList{field.TypeInvalid(path, field.OmitValueType{}, "must be an object")}
	case v1.HoldsNUL(raw):
		return field.ErrorList{field.Invalid(path, field.OmitValueType{}, "must not hold the character U+0000")}
	}
	return nil
}

var validErrorCode = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.]{0,63}$`)

func validateFailure(r *wire.FailureRequest) error {
	errs := validateLease(r.WorkerID, r.Attempt)
	if !validErrorCode.MatchString(r.ErrorCode) {
		errs = append(errs, field.Invalid(field.NewPath("error_code"), v1.Quote(r.ErrorCode), "must be a word of at most 64 letters, digits, _ and . that begins with a letter"))
	}
	if r.ErrorMessage == "" {
		errs = append(errs, field.Required(field.NewPath("error_message"), "a sentence for people"))
	}
	if len(r.ErrorMessage) > maxErrorMessage {
		errs = append(errs, field.TooLong(field.NewPath("error_message"), "", maxErrorMessage))
	}
	return v1.AsError(errs)
}

func validateLease(worker uuid.UUID, attempt int32) field.ErrorList {
	errs := validateID(worker, "worker_id")
	if attempt < 1 {
		errs = append(errs, field.Invalid(field.NewPath("attempt"), attempt, "must be at least 1"))
	}
	return errs
}

func validateID(id uuid.UUID, name string) field.ErrorList {
	if id == uuid.Nil {
		return field.ErrorList{field.Required(field.NewPath(name), "a UUID")}
	}
	return nil
}

// oneLine makes a worker's message safe to store and to show: one line without
// control characters and without tokens.
func (s *Server) oneLine(message string) string {
	clean := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(message, "�"))
	return strings.TrimSpace(s.tokens.redact(clean))
}
