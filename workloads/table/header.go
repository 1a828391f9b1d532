package table

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"scimesh.dev/scimesh/workloads"
)

// The columns that a table must have.
const (
	IDColumn     = "chembl_id"
	SMILESColumn = "canonical_smiles"
)

var byteOrderMark = []byte("\ufeff")

const wantHeader = "expected a header line with the tab-separated columns " + IDColumn + " and " + SMILESColumn

// readHeader finds the two columns in the first line that is not blank.
func (r *Reader) readHeader() error {
	line, err := r.headerLine()
	if err != nil {
		return err
	}
	columns := bytes.Split(line, []byte{'\t'})
	if r.idColumn, err = findColumn(columns, IDColumn); err != nil {
		return err
	}
	r.smilesColumn, err = findColumn(columns, SMILESColumn)
	return err
}

func (r *Reader) headerLine() ([]byte, error) {
	for first := true; ; first = false {
		line, tooLong, err := r.lines.next()
		if errors.Is(err, io.EOF) {
			return nil, workloads.Errorf(workloads.ReasonInputInvalid, "the input is empty; %s", wantHeader)
		}
		if err != nil {
			return nil, err
		}
		if first {
			line = bytes.TrimPrefix(line, byteOrderMark)
		}
		if tooLong {
			return nil, workloads.Errorf(workloads.ReasonInputInvalid,
				"the first line is longer than %d bytes; %s", r.lines.limit, wantHeader)
		}
		if len(line) > 0 {
			return line, nil
		}
	}
}

func findColumn(columns [][]byte, name string) (int, error) {
	found, times := -1, 0
	for i, c := range columns {
		if string(c) == name {
			found = i
			times++
		}
	}
	switch times {
	case 0:
		return 0, workloads.Errorf(workloads.ReasonInputInvalid,
			"the header has no column %s; columns found: %s", name, list(columns))
	case 1:
		return found, nil
	}
	return 0, workloads.Errorf(workloads.ReasonInputInvalid,
		"the header has %d columns %s, one is needed; columns found: %s", times, name, list(columns))
}

// Bounds of what an error repeats of a header.
const (
	maxListed     = 20
	maxListedName = 40
)

// list names columns for a message.
func list(columns [][]byte) string {
	var b strings.Builder
	for i, c := range columns {
		if i == maxListed {
			fmt.Fprintf(&b, " and %d more", len(columns)-i)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		more := ""
		if len(c) > maxListedName {
			c, more = c[:maxListedName], "…"
		}
		fmt.Fprintf(&b, "%q%s", c, more)
	}
	return b.String()
}
