package v1

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"
)

// Document is one Job of a file.
type Document struct {
	// Where names the place in the file, such as "document 2 (line 14)" or
	// "item 3 of document 1 (line 1)"; empty if the file holds one Job alone.
	Where string
	Job   Job
}

// DecodeJob decodes one Job from JSON or YAML, strictly.
func DecodeJob(data []byte) (Job, error) {
	docs, err := DecodeJobs(data)
	switch {
	case err != nil:
		return Job{}, err
	case len(docs) != 1:
		return Job{}, wholeError("one Job is expected, and there are %d", len(docs))
	}
	return docs[0].Job, nil
}

// DecodeJobs decodes every Job of a file, strictly: JSON or YAML, one or many
// documents, Jobs or lists of them (kind List or JobList). Empty documents are
// skipped. The error says everything that is wrong with any of them.
func DecodeJobs(data []byte) ([]Document, error) {
	parts := splitDocuments(data)
	var docs []Document
	var faults []string
	for i, part := range parts {
		where := ""
		if len(parts) > 1 {
			where = fmt.Sprintf("document %d (line %d)", i+1, part.line)
		}
		found, err := decodePart(part, where)
		if err != nil {
			if where == "" && len(found) == 0 {
				return nil, err
			}
			faults = append(faults, prefixed(where, err))
		}
		docs = append(docs, found...)
	}
	if len(faults) > 0 {
		return nil, wholeError("%s", strings.Join(faults, "\n"))
	}
	return docs, nil
}

func prefixed(where string, err error) string {
	if where == "" {
		return err.Error()
	}
	return where + ": " + err.Error()
}

// part is one YAML document of a file, which begins at line.
type part struct {
	line int
	data []byte
}

// splitDocuments cuts a file at its lines "---" and leaves out what holds
// nothing but comments.
func splitDocuments(data []byte) []part {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	var parts []part
	current := part{line: 1}
	add := func() {
		if !blank(current.data) {
			parts = append(parts, current)
		}
	}
	line := 0
	for text := range bytes.Lines(data) {
		line++
		if rest, ok := bytes.CutPrefix(text, []byte("---")); ok && (len(rest) == 0 || strings.ContainsRune(" \t\r\n", rune(rest[0]))) {
			add()
			current = part{line: line, data: append([]byte("   "), rest...)}
			continue
		}
		if current.data == nil {
			current.line = line
		}
		current.data = append(current.data, text...)
	}
	add()
	return parts
}

// blank reports whether a document holds only white space and comments.
func blank(data []byte) bool {
	for text := range bytes.Lines(data) {
		if t := bytes.TrimSpace(text); len(t) > 0 && t[0] != '#' && string(t) != "..." {
			return false
		}
	}
	return true
}

// decodePart decodes a Job, or the Jobs of a list.
func decodePart(p part, where string) ([]Document, error) {
	data, err := toJSON(p)
	if err != nil {
		return nil, err
	}
	var head struct {
		Kind  string            `json:"kind"`
		Items []json.RawMessage `json:"items"`
	}
	if err := json.Unmarshal(data, &head); err != nil || (head.Kind != KindList && head.Kind != KindJob+KindList) {
		var job Job
		if err := UnmarshalStrict(data, &job); err != nil {
			return nil, err
		}
		return []Document{{Where: where, Job: job}}, nil
	}
	return decodeList(data, head.Items, where)
}

func decodeList(data []byte, items []json.RawMessage, where string) ([]Document, error) {
	var list List[json.RawMessage]
	if err := UnmarshalStrict(data, &list); err != nil {
		return nil, err
	}
	var docs []Document
	var faults []string
	for i, item := range items {
		at := fmt.Sprintf("item %d", i+1)
		if where != "" {
			at += " of " + where
		}
		var job Job
		if err := UnmarshalStrict(item, &job); err != nil {
			faults = append(faults, prefixed(at, err))
			continue
		}
		docs = append(docs, Document{Where: at, Job: job})
	}
	if len(faults) > 0 {
		return docs, wholeError("%s", strings.Join(faults, "\n"))
	}
	return docs, nil
}

// toJSON turns a YAML document into JSON. JSON stays as it is, so that numbers
// keep their digits and duplicate fields are told by their path.
func toJSON(p part) ([]byte, error) {
	trimmed := bytes.TrimSpace(p.data)
	if len(trimmed) > 0 && trimmed[0] == '{' && json.Valid(trimmed) {
		return trimmed, nil
	}
	// Blank lines in front make the parser's line numbers those of the file.
	padded := append(bytes.Repeat([]byte("\n"), p.line-1), p.data...)
	data, err := yaml.YAMLToJSONStrict(padded)
	if err != nil {
		text := err.Error()
		for _, prefix := range []string{"error converting YAML to JSON: ", "yaml: ", "unmarshal errors:\n"} {
			text = strings.TrimPrefix(text, prefix)
		}
		return nil, wholeError("invalid YAML: %s", strings.TrimSpace(text))
	}
	return data, nil
}
