// Package printer prints objects as kubectl does: tables with NAME first and
// AGE last, names, JSON, YAML and JSONPath.
package printer

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"k8s.io/client-go/util/jsonpath"
	"sigs.k8s.io/yaml"
)

// Format is a parsed value of --output.
type Format struct {
	kind string
	path *jsonpath.JSONPath
}

// Formats is what --output accepts, for help and errors.
const Formats = "wide|name|json|yaml|jsonpath=TEMPLATE"

// ParseFormat reads a value of --output; the empty string is the plain table.
func ParseFormat(s string) (Format, error) {
	kind, template, isPath := strings.Cut(s, "=")
	switch {
	case isPath && kind == "jsonpath":
		p := jsonpath.New("output").AllowMissingKeys(true)
		if err := p.Parse(template); err != nil {
			return Format{}, fmt.Errorf("--output jsonpath: %w", err)
		}
		return Format{kind: kind, path: p}, nil
	case s == "", s == "wide", s == "name", s == "json", s == "yaml":
		return Format{kind: s}, nil
	}
	return Format{}, fmt.Errorf("--output %q: want %s", s, Formats)
}

// IsTable reports whether the format is one of the tables.
func (f Format) IsTable() bool { return f.kind == "" || f.kind == "wide" }

// Wide reports whether the table has all its columns.
func (f Format) Wide() bool { return f.kind == "wide" }

// IsName reports whether the format is KIND/NAME lines.
func (f Format) IsName() bool { return f.kind == "name" }

// Separator stands between two objects that are written one after the other.
func (f Format) Separator() string {
	switch f.kind {
	case "yaml":
		return "---\n"
	case "jsonpath":
		return "\n"
	}
	return ""
}

// Object writes v, an object or a list, as JSON, YAML or by the template.
func (f Format) Object(w io.Writer, v any) error {
	switch f.kind {
	case "yaml":
		raw, err := yaml.Marshal(v)
		if err != nil {
			return err
		}
		_, err = w.Write(raw)
		return err
	case "jsonpath":
		generic, err := toGeneric(v)
		if err != nil {
			return err
		}
		return f.path.Execute(w, generic)
	default:
		enc := json.NewEncoder(w)
		enc.SetIndent("", "    ")
		enc.SetEscapeHTML(false)
		return enc.Encode(v)
	}
}

// toGeneric turns v into the maps that a template walks, with the JSON names of its fields.
func toGeneric(v any) (any, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	dec := json.NewDecoder(strings.NewReader(string(raw)))
	dec.UseNumber()
	var out any
	if err := dec.Decode(&out); err != nil {
		return nil, err
	}
	return out, nil
}
