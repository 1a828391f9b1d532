package server

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation/field"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/api/wire"
	"scimesh.dev/scimesh/store"
)

// maxPage is the largest page of a list.
const maxPage = 1000

// page reads the parameters of a list.
func page(limit *wire.Limit, next *wire.Continue) (store.Page, error) {
	p := store.Page{}
	if limit != nil {
		if *limit < 1 || *limit > maxPage {
			return p, v1.AsError(field.ErrorList{field.Invalid(field.NewPath("limit"), *limit, "must be between 1 and 1000")})
		}
		p.Limit = int(*limit)
	}
	if next != nil {
		p.Continue = *next
	}
	return p, nil
}

// oneOf checks values of an enumeration.
func oneOf[T ~string](name string, values []T, allowed ...T) error {
	var errs field.ErrorList
	for _, v := range values {
		known := false
		for _, a := range allowed {
			known = known || a == v
		}
		if !known {
			errs = append(errs, field.NotSupported(field.NewPath(name), T(v1.Quote(string(v))), allowed))
		}
	}
	return v1.AsError(errs)
}

func jobPhases(p []v1.JobPhase) error {
	return oneOf("phase", p, v1.JobCreated, v1.JobPlanning, v1.JobRunning, v1.JobReducing, v1.JobCompleted, v1.JobFailed, v1.JobCancelled)
}

func taskPhases(p []v1.TaskPhase) error {
	return oneOf("phase", p, v1.TaskPending, v1.TaskLeased, v1.TaskRunning, v1.TaskCompleted, v1.TaskFailed, v1.TaskCancelled)
}

func workerPhases(p []v1.WorkerPhase) error {
	return oneOf("phase", p, v1.WorkerOnline, v1.WorkerBusy, v1.WorkerOffline)
}

func artifactKinds(k []v1.ArtifactKind) error {
	return oneOf("kind", k, v1.ArtifactInput, v1.ArtifactShard, v1.ArtifactPartial, v1.ArtifactFinal, v1.ArtifactRejects, v1.ArtifactOutput, v1.ArtifactLog)
}

// isDryRun reads the parameter dryRun.
func isDryRun(p *wire.DryRun) (bool, error) {
	if p == nil {
		return false, nil
	}
	return true, oneOf("dryRun", []wire.DryRun{*p}, wire.DryRunAll)
}

// maxFilename is the longest name of a file, in bytes.
const maxFilename = 255

// checkFilename admits names that are safe everywhere. Blobs are not stored
// under them: the name is for people who download.
func checkFilename(name, param string) error {
	problem := ""
	switch {
	case name == "" || name == "." || name == "..":
		problem = "must be a name"
	case len(name) > maxFilename:
		problem = fmt.Sprintf("must be at most %d bytes", maxFilename)
	case !utf8.ValidString(name):
		problem = "must be valid UTF-8"
	case strings.ContainsAny(name, `/\`):
		problem = "must not hold a path separator"
	case strings.ContainsFunc(name, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) }):
		problem = "must not hold control characters"
	default:
		return nil
	}
	return v1.AsError(field.ErrorList{field.Invalid(field.NewPath(param), v1.Quote(strings.ToValidUTF8(name, "�")), problem)})
}

// checkDigest checks an optional SHA-256.
func checkDigest(digest *string, param string) (string, error) {
	if digest == nil {
		return "", nil
	}
	return *digest, v1.AsError(v1.ValidateSHA256(*digest, field.NewPath(param)))
}
