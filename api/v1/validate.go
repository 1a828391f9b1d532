package v1

import (
	"bytes"
	"encoding/hex"
	"strings"

	"github.com/google/uuid"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// ValidateOptions say who validates.
type ValidateOptions struct {
	// AllowPath admits spec.input.path. Only the CLI sets it: it replaces the
	// path by the artifact before it sends the Job.
	AllowPath bool
	// NameOptional admits a Job without a name.
	NameOptional bool
	// InputOptional admits a Job without an input, which then comes with it.
	InputOptional bool
	// URIs decides which chunk URIs are admitted. The zero value admits none.
	URIs URIPolicy
	// AnyURI admits chunk URIs to every host: for those who do not decide, such
	// as the CLI.
	AnyURI bool
}

// Validate returns everything that is wrong with a Job that has its defaults,
// as far as it can be told without the workload and the database.
func Validate(j *Job, opts ValidateOptions) field.ErrorList {
	var errs field.ErrorList
	if j.APIVersion != APIVersion {
		errs = append(errs, field.NotSupported(field.NewPath("apiVersion"), Quote(j.APIVersion), []string{APIVersion}))
	}
	if j.Kind != KindJob {
		errs = append(errs, field.NotSupported(field.NewPath("kind"), Quote(j.Kind), []string{KindJob}))
	}
	errs = append(errs, validateMeta(&j.Metadata, opts, field.NewPath("metadata"))...)
	return append(errs, validateSpec(&j.Spec, opts, field.NewPath("spec"))...)
}

func validateMeta(m *ObjectMeta, opts ValidateOptions, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if m.Name == "" {
		if !opts.NameOptional {
			errs = append(errs, field.Required(path.Child("name"), "a Job has a name"))
		}
	} else {
		errs = append(errs, ValidateName(m.Name, path.Child("name"))...)
	}
	errs = append(errs, validateLabels(m.Labels, path.Child("labels"))...)
	return append(errs, validateAnnotations(m.Annotations, path.Child("annotations"))...)
}

// ValidateName checks the name of a Job: a DNS label (RFC 1123) that cannot be
// taken for a UUID.
func ValidateName(name string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, msg := range validation.IsDNS1123Label(name) {
		errs = append(errs, field.Invalid(path, Quote(name), msg))
	}
	if _, err := uuid.Parse(name); err == nil {
		errs = append(errs, field.Invalid(path, name, "must not have the form of a UUID"))
	}
	return errs
}

func validateLabels(labels map[string]string, path *field.Path) field.ErrorList {
	if len(labels) > MaxLabels {
		return field.ErrorList{field.TooMany(path, len(labels), MaxLabels)}
	}
	var errs field.ErrorList
	for _, key := range sortedKeys(labels) {
		p := path.Key(Quote(key))
		for _, msg := range validation.IsQualifiedName(key) {
			errs = append(errs, field.Invalid(p, Quote(key), msg))
		}
		for _, msg := range validation.IsValidLabelValue(labels[key]) {
			errs = append(errs, field.Invalid(p, Quote(labels[key]), msg))
		}
	}
	return errs
}

func validateAnnotations(annotations map[string]string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	size := 0
	for _, key := range sortedKeys(annotations) {
		size += len(key) + len(annotations[key])
		for _, msg := range validation.IsQualifiedName(key) {
			errs = append(errs, field.Invalid(path.Key(Quote(key)), Quote(key), msg))
		}
		if strings.ContainsRune(annotations[key], 0) {
			errs = append(errs, field.Invalid(path.Key(Quote(key)), field.OmitValueType{}, "must not hold the character U+0000"))
		}
	}
	if size > MaxAnnotations {
		errs = append(errs, field.TooLong(path, "", MaxAnnotations))
	}
	return errs
}

func validateSpec(s *JobSpec, opts ValidateOptions, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if s.Workload == "" {
		errs = append(errs, field.Required(path.Child("workload"), "the name of a registered workload"))
	}
	errs = append(errs, validateInput(&s.Input, opts, path.Child("input"))...)
	errs = append(errs, validateParameters(s.Parameters, path.Child("parameters"))...)
	errs = append(errs, between(path.Child("sharding", "rows"), s.Sharding.Rows, 1, MaxShardRows)...)
	if s.Engine != "" && s.Engine != EngineAny {
		errs = append(errs, field.NotSupported(path.Child("engine"), Quote(s.Engine), []string{EngineAny}))
	}
	errs = append(errs, between(path.Child("maxAttempts"), int64(s.MaxAttempts), 1, MaxMaxAttempts)...)
	errs = append(errs, between(path.Child("priority"), int64(s.Priority), -MaxPriority, MaxPriority)...)
	errs = append(errs, between(path.Child("parallelism"), int64(s.Parallelism), 0, 1<<31-1)...)
	errs = append(errs, between(path.Child("activeDeadlineSeconds"), s.ActiveDeadlineSeconds, 0, MaxSeconds)...)
	return append(errs, between(path.Child("ttlSecondsAfterFinished"), s.TTLSecondsAfterFinished, 0, MaxSeconds)...)
}

func validateParameters(raw []byte, path *field.Path) field.ErrorList {
	switch trimmed := bytes.TrimSpace(raw); {
	case len(raw) > MaxParameters:
		return field.ErrorList{field.TooLong(path, "", MaxParameters)}
	case len(trimmed) > 0 && trimmed[0] != '{':
		return field.ErrorList{field.TypeInvalid(path, field.OmitValueType{}, "must be an object")}
	case HoldsNUL(raw):
		return field.ErrorList{field.Invalid(path, field.OmitValueType{}, "must not hold the character U+0000")}
	}
	return nil
}

// HoldsNUL reports whether a JSON document holds the character U+0000 in a
// string. PostgreSQL cannot store it.
func HoldsNUL(raw []byte) bool {
	for rest := raw; ; {
		i := bytes.Index(rest, []byte(`u0000`))
		if i < 0 {
			return false
		}
		before := rest[:i]
		if n := len(before) - len(bytes.TrimRight(before, `\`)); n%2 == 1 {
			return true
		}
		rest = rest[i+len(`u0000`):]
	}
}

// ValidateSHA256 checks a digest in its one form: 64 lowercase hexadecimal digits.
func ValidateSHA256(digest string, path *field.Path) field.ErrorList {
	sum, err := hex.DecodeString(digest)
	if err != nil || len(sum) != 32 || hex.EncodeToString(sum) != digest {
		return field.ErrorList{field.Invalid(path, Quote(digest), "must be a SHA-256 digest of 64 lowercase hexadecimal digits")}
	}
	return nil
}

func between(path *field.Path, n, low, high int64) field.ErrorList {
	if n < low || n > high {
		return field.ErrorList{field.Invalid(path, n, validation.InclusiveRangeError(int(low), int(high)))}
	}
	return nil
}
