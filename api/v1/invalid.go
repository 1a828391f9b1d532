package v1

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// MaxQuote is how many bytes of a user's value an error message repeats.
const MaxQuote = 64

// InvalidError says everything that is wrong with an object.
type InvalidError struct {
	Errors field.ErrorList
}

// Error lists the faults, one after another, each with its path.
func (e *InvalidError) Error() string {
	parts := make([]string, len(e.Errors))
	for i, f := range e.Errors {
		parts[i] = FieldMessage(f)
		if f.Field != "" {
			parts[i] = f.Field + ": " + parts[i]
		}
	}
	return strings.Join(parts, "; ")
}

// AsError returns errs as an *InvalidError, or nil if there are none.
func AsError(errs field.ErrorList) error {
	if len(errs) == 0 {
		return nil
	}
	return &InvalidError{Errors: errs}
}

// FieldMessage says what is wrong with a field, without its path. A forbidden
// field is told by its detail alone: "unknown field; did you mean top_k?".
func FieldMessage(e *field.Error) string {
	if e.Type == field.ErrorTypeForbidden && e.Detail != "" {
		return e.Detail
	}
	short := *e
	switch v := e.BadValue.(type) {
	case string:
		short.BadValue = Quote(v)
	case json.RawMessage:
		short.BadValue = field.OmitValueType{}
	}
	return short.ErrorBody()
}

// UnknownField is the fault of a field that does not exist. It suggests the
// known name that was probably meant.
func UnknownField(path *field.Path, known []string) *field.Error {
	return unknownField(path.String(), path.String(), known)
}

func unknownField(path, name string, known []string) *field.Error {
	if i := strings.LastIndexAny(name, ".]"); i >= 0 {
		name = name[i+1:]
	}
	detail := "unknown field"
	if guess := closest(name, known); guess != "" {
		detail += "; did you mean " + guess + "?"
	}
	return &field.Error{Type: field.ErrorTypeForbidden, Field: path, BadValue: field.OmitValueType{}, Detail: detail}
}

// UnknownWorkload is the fault of a workload that is none of the known ones.
// It suggests the one that was probably meant.
func UnknownWorkload(path *field.Path, name string, known []string) *field.Error {
	e := field.NotSupported(path, Quote(name), known)
	if guess := closest(name, known); guess != "" {
		e.Detail += "; did you mean " + guess + "?"
	}
	return e
}

// Quote cuts s to MaxQuote bytes, at a character.
func Quote(s string) string {
	if len(s) <= MaxQuote {
		return s
	}
	n := MaxQuote
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

// closest returns the known name that was probably meant, or "": the nearest
// by edits, as far as a third of the letters at most are wrong.
func closest(name string, known []string) string {
	if len(name) > MaxQuote {
		return ""
	}
	best, bestDistance := "", 1+max(1, len(name)/3)
	for _, k := range known {
		if d := editDistance(plain(name), plain(k)); d < bestDistance {
			best, bestDistance = k, d
		}
	}
	return best
}

// plain is a name without what is often confused: case, hyphens, underscores.
func plain(s string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(s))
}

// editDistance is the number of letters to insert, delete, replace or swap
// with their neighbour to turn a into b.
func editDistance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}

// wholeError is a fault of a document that has no field to blame.
func wholeError(format string, args ...any) *InvalidError {
	return &InvalidError{Errors: field.ErrorList{{Type: field.ErrorTypeForbidden, BadValue: field.OmitValueType{}, Detail: fmt.Sprintf(format, args...)}}}
}
