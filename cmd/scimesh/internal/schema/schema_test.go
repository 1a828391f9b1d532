package schema

import (
	"strings"
	"testing"
)

const document = `{
 "defs": {"name": {"type": "string", "format": "uuid", "description": "An id."}, "loop": {"$ref": "#/defs/loop"}},
 "type": "object", "required": ["id"], "description": "A thing of some length that is broken into lines.",
 "properties": {
  "id": {"$ref": "#/defs/name"},
  "size": {"type": "integer", "minimum": 1, "maximum": 9007199254740993, "default": 3},
  "low": {"type": "number", "minimum": 0.5}, "high": {"type": "number", "maximum": 2},
  "mode": {"enum": ["fast", 2, null], "default": "fast"},
  "either": {"anyOf": [{"type": "string"}, {"type": "number", "minimum": 0, "maximum": 1}]},
  "labels": {"type": "object", "additionalProperties": {"type": "string"}},
  "list": {"type": "array", "items": {"type": "object", "properties": {"x": {"type": "boolean", "default": false}}}},
  "ids": {"type": "array", "items": {"$ref": "#/defs/name"}},
  "text": {"type": "string", "minLength": 1, "maxLength": 5, "description": "with \u001b[31m escapes"},
  "loop": {"$ref": "#/defs/loop"}
 }
}`

func TestPrint(t *testing.T) {
	root, err := Parse([]byte(document))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := root.Print(&b, 30); err != nil {
		t.Fatal(err)
	}
	want := `DESCRIPTION:
  A thing of some length that
  is broken into lines.

FIELDS:
  either   <string or number> 0 to 1
  high     <number> at most 2
  id       <uuid> required
      An id.
  ids      <list of uuid>
  labels   <map of string>
  list     <list of object>
  loop     <string>
  low      <number> at least 0.5
  mode     <string> one of fast, 2, null, default fast
  size     <integer> 1 to 9007199254740993, default 3
  text     <string> 1 to 5 characters
      with \u001b[31m escapes
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

func TestField(t *testing.T) {
	root, err := Parse([]byte(document))
	if err != nil {
		t.Fatal(err)
	}
	list, err := root.Field("list")
	if err != nil {
		t.Fatal(err)
	}
	x, err := list.Field("x")
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := x.Print(&b, 80); err != nil || b.String() != "TYPE:\n  <boolean> default false\n" {
		t.Errorf("%q %v", b.String(), err)
	}
	for _, tc := range []struct {
		node *Node
		name string
		want string
	}{
		{root, "nothing", `it has no field "nothing"; it has either, high, `},
		{list, "y", `list has no field "y"; it has x`},
		{x, "z", "list.x has no fields"},
	} {
		if _, err := tc.node.Field(tc.name); err == nil || !strings.HasPrefix(err.Error(), tc.want) {
			t.Errorf("Field(%q): %v", tc.name, err)
		}
	}
	if _, err := root.At("#/defs/nowhere"); err == nil {
		t.Error("a pointer to nothing gives no error")
	}
	if _, err := Parse([]byte("{")); err == nil {
		t.Error("half a schema gives no error")
	}
}
