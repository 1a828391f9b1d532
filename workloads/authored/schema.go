package authored

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation/field"

	v1 "scimesh.dev/scimesh/api/v1"
)

// schema is the part of JSON Schema (draft 2020-12) that authored workloads may
// use. A keyword beyond it is refused at registration: what is not checked must
// not look as if it were.
type schema struct {
	Schema               string            `json:"$schema,omitempty"`
	Title                string            `json:"title,omitempty"`
	Description          string            `json:"description,omitempty"`
	Type                 string            `json:"type"`
	Properties           map[string]schema `json:"properties,omitempty"`
	Required             []string          `json:"required,omitempty"`
	AdditionalProperties *bool             `json:"additionalProperties,omitempty"`
	Items                *schema           `json:"items,omitempty"`
	Enum                 []any             `json:"enum,omitempty"`
	Minimum              *float64          `json:"minimum,omitempty"`
	Maximum              *float64          `json:"maximum,omitempty"`
	MinLength            *int              `json:"minLength,omitempty"`
	MaxLength            *int              `json:"maxLength,omitempty"`
	Default              json.RawMessage   `json:"default,omitempty"`
}

var types = []string{"object", "array", "string", "integer", "number", "boolean"}

// parseSchema reads the schema of a workload's parameters.
func parseSchema(raw json.RawMessage) (schema, error) {
	var s schema
	if err := v1.UnmarshalStrict(raw, &s); err != nil {
		return s, fmt.Errorf("parametersSchema: %w", err)
	}
	if s.Type != "object" || s.AdditionalProperties == nil || *s.AdditionalProperties {
		return s, fmt.Errorf(`parametersSchema: must have "type": "object" and "additionalProperties": false`)
	}
	return s, s.check("parametersSchema")
}

func (s schema) check(path string) error {
	if !slices.Contains(types, s.Type) {
		return fmt.Errorf("%s: type must be one of %v", path, types)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		if err := s.Properties[name].check(path + ".properties." + name); err != nil {
			return err
		}
	}
	if s.Items != nil {
		return s.Items.check(path + ".items")
	}
	return nil
}

// validate checks parameters and fills in the defaults of the first level.
func (s schema) validate(path *field.Path, raw json.RawMessage) (json.RawMessage, field.ErrorList) {
	values := map[string]any{}
	if trimmed := bytes.TrimSpace(raw); len(trimmed) > 0 {
		if err := v1.UnmarshalStrict(trimmed, &values); err != nil {
			return nil, field.ErrorList{field.TypeInvalid(path, field.OmitValueType{}, "must be a JSON object: "+err.Error())}
		}
	}
	for name, p := range s.Properties {
		if _, given := values[name]; !given && len(p.Default) > 0 {
			var value any
			if err := json.Unmarshal(p.Default, &value); err == nil {
				values[name] = value
			}
		}
	}
	if errs := s.accept(path, values); len(errs) > 0 {
		return nil, errs
	}
	out, err := json.Marshal(values)
	if err != nil {
		return nil, field.ErrorList{field.InternalError(path, err)}
	}
	return out, nil
}

// accept returns all that is wrong with a value.
func (s schema) accept(path *field.Path, value any) field.ErrorList {
	if !s.hasType(value) {
		return field.ErrorList{field.TypeInvalid(path, field.OmitValueType{}, "must be of type "+s.Type)}
	}
	if len(s.Enum) > 0 && !slices.ContainsFunc(s.Enum, func(e any) bool { return equal(e, value) }) {
		return field.ErrorList{field.Invalid(path, field.OmitValueType{}, fmt.Sprintf("must be one of %v", s.Enum))}
	}
	switch value := value.(type) {
	case map[string]any:
		return s.acceptObject(path, value)
	case []any:
		var errs field.ErrorList
		for i, item := range value {
			if s.Items != nil {
				errs = append(errs, s.Items.accept(path.Index(i), item)...)
			}
		}
		return errs
	case string:
		n := utf8.RuneCountInString(value)
		if s.MinLength != nil && n < *s.MinLength || s.MaxLength != nil && n > *s.MaxLength {
			return field.ErrorList{field.Invalid(path, field.OmitValueType{}, "has too few or too many characters")}
		}
	default:
		if x, ok := number(value); ok && (s.Minimum != nil && x < *s.Minimum || s.Maximum != nil && x > *s.Maximum) {
			return field.ErrorList{field.Invalid(path, value, "is out of range")}
		}
	}
	return nil
}

func (s schema) acceptObject(path *field.Path, value map[string]any) field.ErrorList {
	var errs field.ErrorList
	for _, name := range s.Required {
		if _, ok := value[name]; !ok {
			errs = append(errs, field.Required(path.Child(name), ""))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(value)) {
		p, known := s.Properties[name]
		switch {
		case known:
			errs = append(errs, p.accept(path.Child(name), value[name])...)
		case s.AdditionalProperties != nil && !*s.AdditionalProperties:
			errs = append(errs, field.Invalid(path.Child(name), field.OmitValueType{}, "unknown field"))
		}
	}
	return errs
}

func (s schema) hasType(value any) bool {
	switch s.Type {
	case "object":
		_, ok := value.(map[string]any)
		return ok
	case "array":
		_, ok := value.([]any)
		return ok
	case "string":
		_, ok := value.(string)
		return ok
	case "boolean":
		_, ok := value.(bool)
		return ok
	}
	x, ok := number(value)
	return ok && (s.Type == "number" || x == float64(int64(x)))
}

// number returns a JSON number, however it was decoded.
func number(value any) (float64, bool) {
	switch n := value.(type) {
	case float64:
		return n, true
	case int64:
		return float64(n), true
	}
	return 0, false
}

func equal(a, b any) bool {
	x, ok1 := number(a)
	y, ok2 := number(b)
	if ok1 && ok2 {
		return x == y
	}
	return reflect.DeepEqual(a, b)
}
