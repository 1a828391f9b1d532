package schema

import (
	"encoding/json"
	"fmt"
	"strings"
)

// summary is the type with what is demanded of values: "<integer> 1 to 100, default 3".
func (n *Node) summary() string {
	r := n.resolved()
	parts := []string{}
	if n.Required() {
		parts = append(parts, "required")
	}
	if e := r.enum(); e != "" {
		parts = append(parts, "one of "+e)
	}
	if b := r.bounds(); b != "" {
		parts = append(parts, b)
	}
	if v, ok := r.here["default"]; ok {
		parts = append(parts, "default "+value(v))
	}
	return strings.TrimSpace("<" + r.typeName() + "> " + strings.Join(parts, ", "))
}

func (n *Node) typeName() string {
	t, _ := n.here["type"].(string)
	switch t {
	case "array":
		return "list of " + n.object().typeName()
	case "object":
		if extra, ok := n.here["additionalProperties"].(map[string]any); ok {
			return "map of " + (&Node{root: n.root, here: extra}).resolved().typeName()
		}
		return t
	case "string":
		if format, ok := n.here["format"].(string); ok {
			return format
		}
		return t
	case "":
		return n.alternatives()
	}
	return t
}

// alternatives are the types of anyOf; a choice of values is a string here.
func (n *Node) alternatives() string {
	list, _ := n.here["anyOf"].([]any)
	var names []string
	for _, item := range list {
		if m, ok := item.(map[string]any); ok {
			names = append(names, (&Node{root: n.root, here: m}).resolved().typeName())
		}
	}
	if len(names) == 0 {
		return "string"
	}
	return strings.Join(names, " or ")
}

func (n *Node) enum() string {
	list, _ := n.here["enum"].([]any)
	var values []string
	for _, v := range list {
		values = append(values, value(v))
	}
	return strings.Join(values, ", ")
}

// bounds are those of a number, or of a string's length; of anyOf the first that has some.
func (n *Node) bounds() string {
	if text := between(n.here["minimum"], n.here["maximum"], ""); text != "" {
		return text
	}
	if text := between(n.here["minLength"], n.here["maxLength"], " characters"); text != "" {
		return text
	}
	list, _ := n.here["anyOf"].([]any)
	for _, item := range list {
		if m, ok := item.(map[string]any); ok {
			if text := (&Node{root: n.root, here: m}).bounds(); text != "" {
				return text
			}
		}
	}
	return ""
}

func between(low, high any, unit string) string {
	switch {
	case low != nil && high != nil:
		return fmt.Sprintf("%s to %s%s", value(low), value(high), unit)
	case low != nil:
		return fmt.Sprintf("at least %s%s", value(low), unit)
	case high != nil:
		return fmt.Sprintf("at most %s%s", value(high), unit)
	}
	return ""
}

// value prints a value of the schema: strings without quotes, the rest as JSON.
func value(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(raw)
}
