package web

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSchemasBecomeFields(t *testing.T) {
	fields, err := formFields(json.RawMessage(`{"properties": {
		"z": {"type": "integer", "minimum": 1, "default": 20, "title": "Hits"},
		"a_b": {"type": "string", "default": "x"},
		"d": {"anyOf": [{"type": "number"}, {"type": "string"}]},
		"c": {"enum": ["greater", "less"], "default": "less"},
		"f": {"type": "boolean"},
		"j": {"type": ["object", "null"]}}}`))
	want := []formField{
		{Name: "z", Title: "Hits", Kind: "number", Default: "20", Min: "1"},
		{Name: "a_b", Title: "a b", Kind: "text", Default: "x"},
		{Name: "d", Title: "d", Kind: "decimal"},
		{Name: "c", Title: "c", Kind: "choice", Choices: []string{"greater", "less"}, Default: "less"},
		{Name: "f", Title: "f", Kind: "check"},
		{Name: "j", Title: "j", Kind: "json"},
	}
	if diff := cmp.Diff(want, fields); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for _, bad := range []string{``, `[]`, `{"properties": [1]}`, `{"properties": {"a": 1}}`, `{"properties": {"a": {"minimum": {}}}}`, `{"properties": "x"}`} {
		if fields, err := formFields(json.RawMessage(bad)); err == nil {
			t.Errorf("schema %s becomes %v", bad, fields)
		}
	}
}

func TestFieldsBecomeJSON(t *testing.T) {
	for _, tc := range []struct{ kind, value, want string }{
		{"number", "20", `20`}, {"number", "many", `"many"`}, {"number", "1e3", `1e3`}, {"decimal", "0.70", `"0.70"`}, {"text", `a"b`, `"a\"b"`}, {"text", "  ", ``},
		{"check", "true", `true`}, {"check", "", ``}, {"json", `{a: 1}`, `{"a":1}`}, {"json", `{`, `"{"`}, {"text", "12", `"12"`},
	} {
		raw, ok := formField{Kind: tc.kind, Value: tc.value}.encode()
		var got, want any
		_ = json.Unmarshal(raw, &got)
		_ = json.Unmarshal([]byte(tc.want), &want)
		if ok != (tc.want != "") || cmp.Diff(want, got) != "" {
			t.Errorf("%s %q: %s, %t, want %s", tc.kind, tc.value, raw, ok, tc.want)
		}
	}
}
