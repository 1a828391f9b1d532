package worker

import (
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"strings"
	"unicode/utf8"

	"scimesh.dev/scimesh/workloads"
)

const (
	maxFailureMessage = 1000 // bytes
	maxFailureCode    = 64   // bytes
)

// Codes of failures that are not a workload's own.
const (
	codePanic            = "Panic"
	codeExecution        = "ExecutionError"
	codeUnknownWorkload  = "UnknownWorkload"
	codeMemory           = "InsufficientMemory"
	codeChecksum         = "InputChecksumMismatch"
	codeInputUnavailable = "InputUnavailable"
	codeProcessEnded     = "WorkerProcessEnded"
	codeDelivery         = "ResultRefused"
	codeLocalStorage     = "LocalStorage"
)

var (
	// An absolute path begins a word; a slash within one, as in a SMILES or a
	// media type, does not.
	absolutePath = regexp.MustCompile(`(^|[\s"'=(\[<,;:|])((?:/[^\s"'<>|:;,()\[\]/]+)+/?|[A-Za-z]:[\\/][^\s"'<>|;,()]*|\\\\[^\s"'<>|;,()]+|~/[^\s"'<>|:;,()]+)`)
	urlSecrets   = regexp.MustCompile(`([A-Za-z][A-Za-z0-9+.-]*://)([^\s/?#"'<>@]*@)?([^\s/?#"'<>:]*(?::\d+)?)(?:[/?#](?:[^\s"'<>]*[^\s"'<>:,.;)])?)?`)
	quoted       = regexp.MustCompile("\"(?:[^\"\\\\]|\\\\.)*\"|`[^`]*`|'[^']{3,}'")
	failureCode  = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]*$`)
)

// sanitizer makes text fit to leave the machine.
type sanitizer struct{ secrets []string }

func newSanitizer(secrets ...string) sanitizer {
	var s sanitizer
	for _, secret := range secrets {
		if secret != "" {
			s.secrets = append(s.secrets, secret)
		}
	}
	return s
}

// line returns text as one line without secrets, absolute paths, the paths of
// URLs and control characters, of at most limit bytes.
func (s sanitizer) line(text string, limit int) string {
	for _, secret := range s.secrets {
		text = strings.ReplaceAll(text, secret, "[redacted]")
	}
	text = strings.ToValidUTF8(text, "\uFFFD")
	text = strings.Map(func(r rune) rune {
		if r == '\t' || r == '\n' || r == '\r' || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		if r < 0x20 || r >= 0x7f && r < 0xa0 {
			return -1
		}
		return r
	}, text)
	text = urlSecrets.ReplaceAllString(text, "$1$3")
	text = absolutePath.ReplaceAllString(text, "$1[path]")
	return truncate(strings.TrimSpace(text), limit)
}

// truncate cuts text to limit bytes without cutting a character.
func truncate(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	const mark = "…"
	cut := limit - len(mark)
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + mark
}

// failure returns what may be told of err. A workload's own Error was written
// for the user; of any other error only the first line is kept, without what
// stands in quotes, since that is often a piece of the input.
func (s sanitizer) failure(err error) Failure {
	var (
		known  *Failure
		user   *workloads.Error
		killed *panicError
	)
	switch {
	case errors.As(err, &known):
		return Failure{Code: known.Code, Message: s.line(known.Message, maxFailureMessage), Retryable: known.Retryable}
	case errors.As(err, &user):
		code := user.Reason
		if len(code) > maxFailureCode || !failureCode.MatchString(code) {
			code = codeExecution
		}
		return Failure{Code: code, Message: s.line(user.Message, maxFailureMessage)}
	case errors.As(err, &killed):
		return Failure{Code: codePanic, Message: s.line(killed.public(), maxFailureMessage), Retryable: true}
	}
	first, _, _ := strings.Cut(err.Error(), "\n")
	first = quoted.ReplaceAllString(first, `"…"`)
	return Failure{Code: codeExecution, Message: s.line(first, maxFailureMessage), Retryable: true}
}

// Error makes a Failure an error, for steps that know what to report.
func (f *Failure) Error() string { return f.Code + ": " + f.Message }

func failuref(code, format string, args ...any) error {
	return &Failure{Code: code, Message: fmt.Sprintf(format, args...), Retryable: true}
}

// panicError is a panic of a workload. Its stack stays on this machine.
type panicError struct {
	value any
	stack []byte
}

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v", e.value) }

// public describes the panic. The text of a run-time error holds indices and
// types; any other value might hold anything.
func (e *panicError) public() string {
	if err, ok := e.value.(runtime.Error); ok {
		return "the workload panicked: " + err.Error()
	}
	return fmt.Sprintf("the workload panicked with a value of type %T", e.value)
}
