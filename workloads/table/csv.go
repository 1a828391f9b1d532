package table

import (
	"bytes"
	"errors"
	"io"

	"scimesh.dev/scimesh/workloads"
)

// csvTable reads records of comma-separated fields (RFC 4180). A quoted field may
// hold commas, doubled quotes and line ends, of which CRLF is read as LF.
type csvTable struct {
	lines *lines
	columns
	record  []byte // of a record of several lines
	fields  [][]byte
	scratch []byte // text of quoted fields
	held    bool   // fields are the first record, a row that is still to be returned
}

// csvState is how a record ends.
type csvState int

const (
	csvWhole  csvState = iota
	csvOpen            // within quotes
	csvBroken          // a quote where none may be
)

func newCSV(l *lines, o Options) (*csvTable, error) {
	line, err := firstLine(l)
	if err != nil {
		return nil, err
	}
	t := &csvTable{lines: l}
	reject, err := t.read(line)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if reject != "" {
		return nil, workloads.Errorf(workloads.ReasonInputInvalid, "the header is not a CSV record: a quotation mark is out of place; %s", wantHeader)
	}
	if t.columns, err = findColumns(t.fields, o); err != nil {
		return nil, err
	}
	t.held = !t.header
	return t, nil
}

func (t *csvTable) next(row *Row) error {
	if !t.held {
		line, tooLong, err := nextLine(t.lines)
		if err != nil {
			return err
		}
		if tooLong {
			row.Reject = LineTooLong
			return nil
		}
		if row.Reject, err = t.read(line); err != nil {
			return err
		}
	}
	t.held = false
	if row.Reject != "" {
		return nil
	}
	if t.id < len(t.fields) {
		row.ID = t.fields[t.id]
	}
	switch {
	case max(t.id, t.smiles) >= len(t.fields):
		row.Reject = TooFewColumns
		return nil
	case bytes.ContainsAny(row.ID, "\t\r\n") || bytes.ContainsAny(t.fields[t.smiles], "\t\r\n"):
		row.Reject = ControlCharacter
		return nil
	}
	row.SMILES = t.fields[t.smiles]
	row.checkText()
	return nil
}

// read puts the fields of the record that begins with a line into t.fields, or
// says why they cannot be had.
func (t *csvTable) read(line []byte) (reject string, err error) {
	var state csvState
	t.fields, state = splitCSV(t.fields[:0], line, &t.scratch)
	if state == csvOpen {
		if reject, err = t.join(line); reject != "" || err != nil {
			return reject, err
		}
		t.fields, state = splitCSV(t.fields[:0], t.record, &t.scratch)
	}
	if state != csvWhole {
		return MalformedCSV, nil
	}
	return "", nil
}

// join appends to a line that ends within quotes those that follow, up to the one
// that ends outside.
func (t *csvTable) join(line []byte) (reject string, err error) {
	t.record = append(t.record[:0], line...)
	for {
		line, tooLong, err := t.lines.next()
		switch {
		case errors.Is(err, io.EOF):
			return MalformedCSV, nil
		case err != nil:
			return "", err
		case tooLong || len(t.record)+1+len(line) > t.lines.limit:
			return LineTooLong, nil
		}
		t.record = append(append(t.record, '\n'), line...)
		if bytes.Count(line, []byte{'"'})%2 == 1 {
			return "", nil
		}
	}
}

// splitCSV appends the fields of a record to dst. The text of fields with doubled
// quotes is put into scratch, if it is not nil.
func splitCSV(dst [][]byte, record []byte, scratch *[]byte) ([][]byte, csvState) {
	if scratch == nil {
		scratch = new([]byte)
	}
	if cap(*scratch) < len(record) {
		*scratch = make([]byte, 0, len(record)) // so that it never moves below
	}
	*scratch = (*scratch)[:0]
	for {
		field, rest, state := cutField(record, scratch)
		if state != csvWhole {
			return dst, state
		}
		dst = append(dst, field)
		if rest == nil {
			return dst, csvWhole
		}
		record = rest[1:]
	}
}

// cutField returns the first field, and the rest from its comma on.
func cutField(record []byte, scratch *[]byte) (field, rest []byte, state csvState) {
	if len(record) == 0 || record[0] != '"' {
		i := bytes.IndexAny(record, `,"`)
		switch {
		case i < 0:
			return record, nil, csvWhole
		case record[i] == '"':
			return nil, nil, csvBroken
		}
		return record[:i:i], record[i:], csvWhole
	}
	from := len(*scratch)
	for record = record[1:]; ; {
		i := bytes.IndexByte(record, '"')
		if i < 0 {
			return nil, nil, csvOpen
		}
		*scratch = append(*scratch, record[:i]...)
		record = record[i+1:]
		switch {
		case len(record) == 0:
			return (*scratch)[from:], nil, csvWhole
		case record[0] == '"':
			*scratch = append(*scratch, '"')
			record = record[1:]
		case record[0] == ',':
			return (*scratch)[from:], record, csvWhole
		default:
			return nil, nil, csvBroken
		}
	}
}
