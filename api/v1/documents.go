package v1

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"
)

// Document is one Job of a file.
type Document struct {
	// Where names the place in the file, such as "document 2 (line 14)" or
	// "item 3 of document 1 (line 1)"; empty if the file holds one Job alone.
	Where string
	Job   Job
	// Faults are what is wrong with its form, such as unknown fields.
	Faults field.ErrorList
	// Unreadable says that the Job could not be decoded for them: it holds
	// nothing to be relied on.
	Unreadable bool
}

// DecodeManifest decodes one Job from JSON or YAML. Faults that leave the rest
// readable are in the result, so that they can be told with those of the values.
func DecodeManifest(data []byte) (JobManifest, error) {
	docs := ReadJobs(data)
	switch {
	case len(docs) == 1 && docs[0].Unreadable:
		return JobManifest{}, faultsOf(docs)
	case len(docs) != 1:
		if err := faultsOf(docs); err != nil {
			return JobManifest{}, err
		}
		return JobManifest{}, wholeError("one Job is expected, and there are %d", len(docs))
	}
	return JobManifest{Job: docs[0].Job, Faults: docs[0].Faults}, nil
}

// DecodeJob decodes one Job from JSON or YAML, strictly.
func DecodeJob(data []byte) (Job, error) {
	m, err := DecodeManifest(data)
	if err == nil {
		err = AsError(m.Faults)
	}
	if err != nil {
		return Job{}, err
	}
	return m.Job, nil
}

// DecodeJobs decodes every Job of a file, strictly; see ReadJobs. The error
// says everything that is wrong with any of them.
func DecodeJobs(data []byte) ([]Document, error) {
	docs := ReadJobs(data)
	if err := faultsOf(docs); err != nil {
		return nil, err
	}
	return docs, nil
}

// ReadJobs decodes every Job of a file: JSON or YAML, one or many documents,
// Jobs or lists of them (kind List or JobList). Empty documents are skipped.
// What is wrong with a document is kept with it.
func ReadJobs(data []byte) []Document {
	parts := splitDocuments(data)
	var docs []Document
	for i, part := range parts {
		where := ""
		if len(parts) > 1 {
			where = fmt.Sprintf("document %d (line %d)", i+1, part.line)
		}
		docs = append(docs, readPart(part, where)...)
	}
	return docs
}

// faultsOf joins the faults of all documents, each under its place.
func faultsOf(docs []Document) error {
	var lines []string
	for _, d := range docs {
		switch {
		case len(d.Faults) == 0:
			continue
		case len(docs) == 1 && d.Where == "":
			return AsError(d.Faults)
		}
		line := AsError(d.Faults).Error()
		if d.Where != "" {
			line = d.Where + ": " + line
		}
		lines = append(lines, line)
	}
	if len(lines) == 0 {
		return nil
	}
	return wholeError("%s", strings.Join(lines, "\n"))
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

// readPart decodes a Job, or the Jobs of a list.
func readPart(p part, where string) []Document {
	data, err := toJSON(p)
	if err != nil {
		return []Document{unreadable(where, err)}
	}
	var head struct {
		Kind  string            `json:"kind"`
		Items []json.RawMessage `json:"items"`
	}
	if err := json.Unmarshal(data, &head); err != nil || (head.Kind != KindList && head.Kind != KindJob+KindList) {
		return []Document{readJob(data, where)}
	}
	var list List[json.RawMessage]
	if err := UnmarshalStrict(data, &list); err != nil {
		return []Document{unreadable(where, err)}
	}
	docs := make([]Document, len(head.Items))
	for i, item := range head.Items {
		at := fmt.Sprintf("item %d", i+1)
		if where != "" {
			at += " of " + where
		}
		docs[i] = readJob(item, at)
	}
	return docs
}

func readJob(data []byte, where string) Document {
	d := Document{Where: where}
	readable, err := unmarshalStrict(data, &d.Job)
	if err == nil {
		return d
	}
	if !readable {
		return unreadable(where, err)
	}
	d.Faults = err.Errors
	return d
}

func unreadable(where string, err error) Document {
	d := Document{Where: where, Unreadable: true}
	if invalid, ok := errors.AsType[*InvalidError](err); ok {
		d.Faults = invalid.Errors
	} else {
		d.Faults = field.ErrorList{{Type: field.ErrorTypeForbidden, BadValue: field.OmitValueType{}, Detail: err.Error()}}
	}
	return d
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
