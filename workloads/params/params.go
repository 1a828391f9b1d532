// Package params decodes the parameters of a workload strictly: names are
// matched exactly, unknown and duplicate ones are refused, and every fault is
// reported with its path, all at once.
//
// encoding/json alone will not do: it ignores the case of names, lets the last
// duplicate win, and stops at the first fault.
package params

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	v1 "scimesh.dev/scimesh/api/v1"
)

// Fields are the fields of one JSON object while they are being decoded. Its
// methods add what is wrong to Errors and return the zero value for it.
type Fields struct {
	path   *field.Path
	values map[string]json.RawMessage
	Errors field.ErrorList
}

// Decode splits raw, a JSON object or nothing, into its fields. A field whose
// value is null counts as absent. Fields not among known are faults.
func Decode(path *field.Path, raw json.RawMessage, known ...string) *Fields {
	f := &Fields{path: path, values: map[string]json.RawMessage{}}
	if trimmed := bytes.TrimSpace(raw); len(trimmed) == 0 || string(trimmed) == "null" {
		return f
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if err := f.decode(dec, known); err != nil {
		f.Errors = append(f.Errors, field.TypeInvalid(path, field.OmitValueType{}, err.Error()))
	}
	return f
}

func (f *Fields) decode(dec *json.Decoder, known []string) error {
	if t, err := dec.Token(); err != nil {
		return syntaxError(err)
	} else if t != json.Delim('{') {
		return fmt.Errorf("must be an object")
	}
	seen := map[string]bool{}
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return syntaxError(err)
		}
		name := t.(string) // inside an object the decoder yields names here
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return syntaxError(err)
		}
		switch {
		case seen[name]:
			f.Errors = append(f.Errors, field.Duplicate(f.path.Child(v1.Quote(name)), field.OmitValueType{}))
		case !slices.Contains(known, name):
			f.Errors = append(f.Errors, v1.UnknownField(f.path.Child(v1.Quote(name)), known))
		case string(value) != "null":
			f.values[name] = value
		}
		seen[name] = true
	}
	if _, err := dec.Token(); err != nil {
		return syntaxError(err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return fmt.Errorf("must be one object, with nothing after it")
	}
	return nil
}

func syntaxError(err error) error { return fmt.Errorf("must be valid JSON: %w", err) }

// Has reports whether the field was given.
func (f *Fields) Has(name string) bool { return f.values[name] != nil }

// Path returns the path of a field.
func (f *Fields) Path(name string) *field.Path { return f.path.Child(name) }

// Invalid adds a fault of a field, quoting the beginning of its value.
func (f *Fields) Invalid(name, format string, args ...any) {
	f.Errors = append(f.Errors, field.Invalid(f.Path(name), quoted(f.values[name]), fmt.Sprintf(format, args...)))
}

// String returns a text field, which must not be empty when given.
func (f *Fields) String(name string) string {
	raw, ok := f.values[name]
	if !ok {
		return ""
	}
	var s string
	switch err := json.Unmarshal(raw, &s); {
	case err != nil:
		f.Invalid(name, "must be a string")
	case s == "":
		f.Invalid(name, "must not be empty")
	}
	return s
}

// Choice returns a text field that must be one of the choices; the first is
// the default.
func (f *Fields) Choice(name string, choices ...string) string {
	if !f.Has(name) {
		return choices[0]
	}
	var s string
	if err := json.Unmarshal(f.values[name], &s); err != nil {
		f.Invalid(name, "must be a string")
		return ""
	}
	if !slices.Contains(choices, s) {
		f.Errors = append(f.Errors, field.NotSupported(f.Path(name), v1.Quote(s), choices))
		return ""
	}
	return s
}

// Int returns a whole number between low and high, or def if absent. It may be
// written in any way that JSON allows a whole number to be written in.
func (f *Fields) Int(name string, low, high, def int64) int64 {
	raw, ok := f.values[name]
	if !ok {
		return def
	}
	n, err := parseInt(string(raw))
	switch {
	case err != nil:
		f.Invalid(name, "must be a whole number")
	case n < low && high == maxInt64:
		f.Invalid(name, "must be at least %d", low)
	case n < low || n > high:
		f.Invalid(name, "must be between %d and %d", low, high)
	}
	return n
}

// Number returns the text of a number that may be written as a JSON number or
// as a string holding one; "" if absent. The text is not checked.
func (f *Fields) Number(name string) string {
	raw, ok := f.values[name]
	if !ok {
		return ""
	}
	if c := raw[0]; c != '"' && c != '-' && (c < '0' || c > '9') {
		f.Invalid(name, "must be a number, or a string that holds one")
		return ""
	}
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		return string(raw)
	}
	return s
}

// Object returns the fields of a field that is an object. Its faults are in the
// Errors of what is returned.
func (f *Fields) Object(name string, known ...string) *Fields {
	return Decode(f.Path(name), f.values[name], known...)
}

// Required adds the fault that a field is missing.
func (f *Fields) Required(name, why string) {
	f.Errors = append(f.Errors, field.Required(f.Path(name), why))
}

// IsList reports whether a field is given as an array.
func (f *Fields) IsList(name string) bool {
	return bytes.HasPrefix(bytes.TrimSpace(f.values[name]), []byte("["))
}

// List returns the fields of each object of a field that is an array. Their faults
// are in the Errors of what is returned.
func (f *Fields) List(name string, known ...string) []*Fields {
	var items []json.RawMessage
	if err := json.Unmarshal(f.values[name], &items); err != nil {
		f.Invalid(name, "must be a list")
		return nil
	}
	out := make([]*Fields, len(items))
	for i, item := range items {
		out[i] = Decode(f.Path(name).Index(i), item, known...)
	}
	return out
}
