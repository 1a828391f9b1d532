package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"
)

// formField is one parameter of a workload in a form.
type formField struct {
	Name        string
	Title       string
	Description string
	// Kind is text, number, decimal, choice, check or json.
	Kind     string
	Choices  []string
	Default  string
	Min, Max string

	// Value and Problems belong to a form that comes back.
	Value    string
	Problems []string
}

// schemaProperty is what a form uses of a JSON Schema.
type schemaProperty struct {
	Title       string           `json:"title"`
	Description string           `json:"description"`
	Type        json.RawMessage  `json:"type"`
	Enum        []any            `json:"enum"`
	Default     json.RawMessage  `json:"default"`
	Minimum     json.Number      `json:"minimum"`
	Maximum     json.Number      `json:"maximum"`
	AnyOf       []schemaProperty `json:"anyOf"`
}

// formFields are the properties of a JSON Schema of an object, in their order.
func formFields(schema json.RawMessage) ([]formField, error) {
	var object struct {
		Properties json.RawMessage `json:"properties"`
	}
	if err := json.Unmarshal(schema, &object); err != nil {
		return nil, fmt.Errorf("schema of parameters: %w", err)
	}
	if len(object.Properties) == 0 {
		return nil, nil
	}
	var fields []formField
	dec := json.NewDecoder(bytes.NewReader(object.Properties))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, errors.New("schema of parameters: properties is no object")
	}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, fmt.Errorf("schema of parameters: %w", err)
		}
		var p schemaProperty
		if err := dec.Decode(&p); err != nil {
			return nil, fmt.Errorf("schema of parameter %v: %w", name, err)
		}
		fields = append(fields, p.field(fmt.Sprint(name)))
	}
	return fields, nil
}

func (p schemaProperty) field(name string) formField {
	f := formField{Name: name, Title: p.Title, Description: p.Description, Kind: p.kind(), Min: p.Minimum.String(), Max: p.Maximum.String(), Default: plainText(p.Default)}
	if f.Title == "" {
		f.Title = strings.ReplaceAll(name, "_", " ")
	}
	for _, v := range p.Enum {
		f.Choices = append(f.Choices, fmt.Sprint(v))
	}
	return f
}

func (p schemaProperty) kind() string {
	var kind string
	_ = json.Unmarshal(p.Type, &kind) // a list of types is none of those below
	switch {
	case len(p.Enum) > 0:
		return "choice"
	case kind == "integer":
		return "number"
	case kind == "number" || len(p.AnyOf) > 0 && decimalLike(p.AnyOf):
		return "decimal"
	case kind == "boolean":
		return "check"
	case kind == "string":
		return "text"
	default:
		return "json"
	}
}

// decimalLike reports whether a value may be a number or a string that is one.
func decimalLike(options []schemaProperty) bool {
	for _, o := range options {
		if k := string(o.Type); k != `"number"` && k != `"string"` && k != `"integer"` {
			return false
		}
	}
	return true
}

// plainText is a JSON value as a form shows it: strings without quotes.
func plainText(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

// encode is the text of a field as a JSON value; nothing if it is empty. A text
// that is no number stays a string, for the workload to say what is wrong with it.
func (f formField) encode() (json.RawMessage, bool) {
	text := strings.TrimSpace(f.Value)
	if text == "" {
		return nil, false
	}
	switch f.Kind {
	case "number", "json":
		if raw, err := yaml.YAMLToJSON([]byte(text)); err == nil && (f.Kind == "json" || isNumber(raw)) {
			return bytes.TrimSpace(raw), true
		}
	case "check":
		return json.RawMessage(`true`), true
	}
	raw, err := json.Marshal(text)
	return raw, err == nil
}

func isNumber(raw []byte) bool {
	var n json.Number
	return json.Unmarshal(raw, &n) == nil && len(raw) > 0 && raw[0] != '"'
}
