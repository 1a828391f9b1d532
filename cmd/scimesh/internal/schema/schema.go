// Package schema tells people what a JSON Schema asks for, as `scimesh
// explain` shows it. It reads the part of JSON Schema and OpenAPI 3.0 that the
// documents of SciMesh use.
package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"scimesh.dev/scimesh/cmd/scimesh/internal/printer"
)

// Node is a place in a schema.
type Node struct {
	root  map[string]any // what references point into
	here  map[string]any
	above *Node
	path  string
}

// Parse reads a schema from JSON.
func Parse(data []byte) (*Node, error) {
	var root map[string]any
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if err := dec.Decode(&root); err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	return &Node{root: root, here: root}, nil
}

// At follows a pointer such as "#/components/schemas/Job" from the root.
func (n *Node) At(pointer string) (*Node, error) {
	here := n.root
	for name := range strings.SplitSeq(strings.TrimPrefix(pointer, "#/"), "/") {
		next, ok := here[name].(map[string]any)
		if !ok {
			return nil, fmt.Errorf("schema: nothing at %s", pointer)
		}
		here = next
	}
	return &Node{root: n.root, here: here}, nil
}

// Field descends to a field, or to that of a list's items.
func (n *Node) Field(name string) (*Node, error) {
	object := n.object()
	field, ok := object.properties()[name].(map[string]any)
	if !ok {
		known := slices.Sorted(maps.Keys(object.properties()))
		if len(known) == 0 {
			return nil, fmt.Errorf("%s has no fields", n.where())
		}
		return nil, fmt.Errorf("%s has no field %q; it has %s", n.where(), name, strings.Join(known, ", "))
	}
	path := name
	if n.path != "" {
		path = n.path + "." + name
	}
	return &Node{root: n.root, here: field, above: object, path: path}, nil
}

func (n *Node) where() string {
	if n.path == "" {
		return "it"
	}
	return n.path
}

// resolved follows a reference.
func (n *Node) resolved() *Node {
	for range 16 { // a circle of references is no schema
		pointer, ok := n.here["$ref"].(string)
		if !ok {
			return n
		}
		target, err := n.At(pointer)
		if err != nil {
			return n
		}
		n = &Node{root: n.root, here: target.here, above: n.above, path: n.path}
	}
	return n
}

// object is the node itself, or what a list's items are.
func (n *Node) object() *Node {
	r := n.resolved()
	if items, ok := r.here["items"].(map[string]any); ok {
		return (&Node{root: n.root, here: items, above: n.above, path: n.path}).resolved()
	}
	return r
}

func (n *Node) properties() map[string]any {
	p, _ := n.here["properties"].(map[string]any)
	return p
}

// Description is what the schema says of the node.
func (n *Node) Description() string {
	if text, ok := n.here["description"].(string); ok {
		return text
	}
	text, _ := n.resolved().here["description"].(string)
	return text
}

// Required reports whether the object above must have this field.
func (n *Node) Required() bool {
	if n.above == nil {
		return false
	}
	list, _ := n.above.here["required"].([]any)
	name := n.path[strings.LastIndexByte(n.path, '.')+1:]
	return slices.Contains(list, any(name))
}

// Print writes the node, and its fields each with type, bounds, default and description.
func (n *Node) Print(w io.Writer, columns int) error {
	var b strings.Builder
	if text := n.Description(); text != "" {
		b.WriteString("DESCRIPTION:\n" + Wrap(text, "  ", columns) + "\n")
	}
	if n.path != "" {
		b.WriteString("TYPE:\n  " + n.summary() + "\n\n")
	}
	object := n.object()
	if names := slices.Sorted(maps.Keys(object.properties())); len(names) > 0 {
		b.WriteString("FIELDS:\n")
		table := printer.Table{Columns: []printer.Column{{Name: ""}, {Name: ""}}}
		texts := make([]string, len(names))
		for i, name := range names {
			field, err := n.Field(name)
			if err != nil {
				return err
			}
			table.Rows = append(table.Rows, []string{name, field.summary()})
			texts[i] = Wrap(field.Description(), "      ", columns)
		}
		var rows strings.Builder
		if err := table.Print(&rows, false, false); err != nil {
			return err
		}
		for i, row := range strings.Split(strings.TrimRight(rows.String(), "\n"), "\n") {
			b.WriteString("  " + row + "\n" + texts[i])
		}
	}
	_, err := io.WriteString(w, strings.TrimRight(printer.SafeLines(b.String()), "\n")+"\n")
	return err
}

// Wrap breaks text into lines of at most so many columns, each after an indent.
func Wrap(text, indent string, columns int) string {
	var b strings.Builder
	width := 0
	for word := range strings.FieldsSeq(text) {
		switch {
		case width == 0:
			b.WriteString(indent)
			width = len(indent)
		case width+1+len(word) > columns:
			b.WriteString("\n" + indent)
			width = len(indent)
		default:
			b.WriteByte(' ')
			width++
		}
		b.WriteString(word)
		width += len(word)
	}
	if width > 0 {
		b.WriteByte('\n')
	}
	return b.String()
}
