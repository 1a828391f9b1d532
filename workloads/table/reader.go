package table

import (
	"bytes"
	"io"
	"unicode/utf8"
)

// Reasons why a row cannot be used.
const (
	TooFewColumns = "TooFewColumns"
	InvalidUTF8   = "InvalidUTF8"
	LineTooLong   = "LineTooLong"
)

// DefaultMaxLineBytes is the longest line that a Reader holds by default.
const DefaultMaxLineBytes = 16 << 20

// Options of a Reader; the zero value has the defaults.
type Options struct {
	// MaxLineBytes is the longest line that is held, without its end; 0 is
	// DefaultMaxLineBytes.
	MaxLineBytes int
}

// Row is one row of a table.
type Row struct {
	// Number counts the rows from 1.
	Number int64
	// ID and SMILES are the bytes of the two columns, valid until the next
	// call. In a rejected row SMILES is nil, and ID is nil if it could not be
	// found; it may be invalid UTF-8.
	ID, SMILES []byte
	// Reject is the reason why the row cannot be used; "" if it can.
	Reject string
}

// Reader reads a molecule table. It is for one goroutine.
type Reader struct {
	stream                 *stream
	lines                  *lines
	idColumn, smilesColumn int
	rows                   int64
}

// NewReader starts reading a table and returns once its header has been read.
// What is wrong with the input is a *workloads.Error; errors of r are returned
// as they are.
func NewReader(r io.Reader, o Options) (*Reader, error) {
	if o.MaxLineBytes == 0 {
		o.MaxLineBytes = DefaultMaxLineBytes
	}
	s, err := openStream(r)
	if err != nil {
		return nil, err
	}
	t := &Reader{stream: s, lines: newLines(s, o.MaxLineBytes)}
	if err := t.readHeader(); err != nil {
		s.close()
		return nil, err
	}
	return t, nil
}

// Close frees the decoder. It does not close the underlying reader.
func (r *Reader) Close() { r.stream.close() }

// Offset returns how many bytes of the input, as stored, have been read.
func (r *Reader) Offset() int64 { return r.stream.offset() }

// Rows returns how many rows have been returned.
func (r *Reader) Rows() int64 { return r.rows }

// Next returns the next row, or io.EOF after the last.
func (r *Reader) Next() (Row, error) {
	for {
		line, tooLong, err := r.lines.next()
		if err != nil {
			return Row{}, err
		}
		if len(line) == 0 && !tooLong {
			continue
		}
		r.rows++
		if tooLong {
			return Row{Number: r.rows, ID: r.leadingID(line), Reject: LineTooLong}, nil
		}
		return r.parse(line), nil
	}
}

// parse finds the two columns of a line.
func (r *Reader) parse(line []byte) Row {
	row := Row{Number: r.rows}
	last := max(r.idColumn, r.smilesColumn)
	for column := 0; ; column++ {
		value, rest, more := cutTab(line)
		switch column {
		case r.idColumn:
			row.ID = value
		case r.smilesColumn:
			row.SMILES = value
		}
		if column == last {
			break
		}
		if !more {
			row.SMILES, row.Reject = nil, TooFewColumns
			return row
		}
		line = rest
	}
	if !utf8.Valid(row.ID) || !utf8.Valid(row.SMILES) {
		row.SMILES, row.Reject = nil, InvalidUTF8
	}
	return row
}

// leadingID finds the id in the beginning of a line, if it is whole there.
func (r *Reader) leadingID(prefix []byte) []byte {
	for column := 0; ; column++ {
		value, rest, more := cutTab(prefix)
		if !more {
			return nil
		}
		if column == r.idColumn {
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
