package table

import (
	"bytes"
	"unicode/utf8"
)

// tsv reads lines of tab-separated columns.
type tsv struct {
	lines *lines
	columns
	held []byte // the first line, if it is a row that is still to be returned
}

func newTSV(l *lines, o Options) (*tsv, error) {
	line, err := firstLine(l)
	if err != nil {
		return nil, err
	}
	t := &tsv{lines: l}
	if t.columns, err = findColumns(bytes.Split(line, []byte{'\t'}), o); err != nil {
		return nil, err
	}
	if !t.header {
		t.held = bytes.Clone(line)
	}
	return t, nil
}

func (t *tsv) next(row *Row) error {
	if t.held != nil {
		t.parse(row, t.held)
		t.held = nil
		return nil
	}
	line, tooLong, err := nextLine(t.lines)
	switch {
	case err != nil:
		return err
	case tooLong:
		row.ID, row.Reject = t.leadingID(line), LineTooLong
	default:
		t.parse(row, line)
	}
	return nil
}

// nextLine returns the next line that is not blank.
func nextLine(l *lines) (line []byte, tooLong bool, err error) {
	for {
		line, tooLong, err = l.next()
		if err != nil || len(line) > 0 || tooLong {
			return line, tooLong, err
		}
	}
}

// parse finds the two columns of a line.
func (t *tsv) parse(row *Row, line []byte) {
	last := max(t.id, t.smiles)
	for column := 0; ; column++ {
		value, rest, more := cutTab(line)
		switch column {
		case t.id:
			row.ID = value
		case t.smiles:
			row.SMILES = value
		}
		if column == last {
			break
		}
		if !more {
			row.SMILES, row.Reject = nil, TooFewColumns
			return
		}
		line = rest
	}
	row.checkText()
}

// checkText rejects a row whose text is not UTF-8.
func (r *Row) checkText() {
	if !utf8.Valid(r.ID) || !utf8.Valid(r.SMILES) {
		r.SMILES, r.Reject = nil, InvalidUTF8
	}
}

// leadingID finds the id in the beginning of a line, if it is whole there.
func (t *tsv) leadingID(prefix []byte) []byte {
	for column := 0; ; column++ {
		value, rest, more := cutTab(prefix)
		if !more {
			return nil
		}
		if column == t.id {
			return value
		}
		prefix = rest
	}
}

// cutTab splits a line at its first tab.
func cutTab(line []byte) (value, rest []byte, found bool) {
	i := bytes.IndexByte(line, '\t')
	if i < 0 {
		return line, nil, false
	}
	return line[:i:i], line[i+1:], true
}
