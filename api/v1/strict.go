package v1

import (
	"encoding/json"
	"errors"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"
)

// UnmarshalStrict decodes exactly one JSON document: names are matched with
// their case, and unknown fields, duplicate fields and wrong types at any depth
// are refused, all at once with their paths, as an *InvalidError.
func UnmarshalStrict(data []byte, into any) error {
	if _, err := unmarshalStrict(data, into); err != nil {
		return err
	}
	return nil
}

// unmarshalStrict is UnmarshalStrict. It reports beside the faults whether into
// holds everything else: so it is with fields that are unknown or given twice,
// and not with a value of the wrong type, which may end the decoding.
func unmarshalStrict(data []byte, into any) (readable bool, _ *InvalidError) {
	strict, err := kjson.UnmarshalStrict(data, into)
	if err == nil && len(strict) == 0 {
		return true, nil
	}
	if isSyntax, offset := kjson.SyntaxErrorOffset(err); isSyntax {
		return false, wholeError("invalid JSON at byte %d: %s", offset, strings.TrimPrefix(err.Error(), "json: "))
	}
	if errs := explain(data, into); len(errs) > 0 {
		return err == nil, &InvalidError{Errors: errs}
	}
	return false, wholeError("the document does not fit: %s", strings.TrimPrefix(errors.Join(append(strict, err)...).Error(), "json: "))
}

// explain finds everything that keeps well-formed JSON from fitting into the
// type of into. It is for documents that were refused already, and may be slow.
func explain(data []byte, into any) field.ErrorList {
	var value any
	// An error here is a number that no type can hold; the rest is in value.
	duplicates, _ := kjson.UnmarshalStrict(data, &value, kjson.DisallowDuplicateFields)
	var errs field.ErrorList
	for _, d := range duplicates {
		if f, ok := errors.AsType[kjson.FieldError](d); ok {
			errs = append(errs, &field.Error{Type: field.ErrorTypeForbidden, Field: f.FieldPath(), BadValue: field.OmitValueType{}, Detail: "given more than once"})
		}
	}
	return append(errs, mismatches(value, into)...)
}

// mustBe is the fault of a value of the wrong type.
func mustBe(path, what string, value any) *field.Error {
	bad := value
	switch v := value.(type) {
	case string:
		bad = Quote(v)
	case map[string]any, []any:
		bad = field.OmitValueType{}
	}
	return &field.Error{Type: field.ErrorTypeTypeInvalid, Field: path, BadValue: bad, Detail: "must be " + what}
}

// remarshal is value as JSON again.
func remarshal(value any) []byte {
	data, err := json.Marshal(value)
	if err != nil {
		return nil // value came from JSON, so it marshals
	}
	return data
}
