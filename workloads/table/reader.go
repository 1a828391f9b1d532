package table

import (
	"io"
)

// Reasons why a row cannot be used.
const (
	TooFewColumns      = "TooFewColumns"
	InvalidUTF8        = "InvalidUTF8"
	LineTooLong        = "LineTooLong"
	MalformedCSV       = "MalformedCSV"
	ControlCharacter   = "ControlCharacter"
	InvalidFingerprint = "InvalidFingerprint"
)

// DefaultMaxLineBytes is the longest line that a Reader holds by default.
const DefaultMaxLineBytes = 16 << 20

// Row is one row of a table.
type Row struct {
	// Number counts the rows from 1.
	Number int64
	// ID and SMILES are the bytes of the two columns, valid until the next
	// call. In a rejected row SMILES is nil, and ID is nil if it could not be
	// found; it may be invalid UTF-8. FPS has no SMILES.
	ID, SMILES []byte
	// Fingerprint is what FPS has instead, valid until the next call.
	Fingerprint []uint64
	// Reject is the reason why the row cannot be used; "" if it can.
	Reject string
}

// body reads the rows of one format.
type body interface {
	// next fills a row but its number; at the end the error is io.EOF.
	next(row *Row) error
}

// Reader reads a molecule table. It is for one goroutine.
type Reader struct {
	stream *stream
	body   body
	layout Layout
	row    Row
	rows   int64
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
	t := &Reader{stream: s, layout: Layout{Compression: s.format, Format: o.Format}}
	if err := t.open(o); err != nil {
		s.close()
		return nil, err
	}
	return t, nil
}

// open finds out what the table is like.
func (r *Reader) open(o Options) error {
	var in io.Reader = r.stream
	l := &r.layout
	if l.Format == "" {
		start := lookAhead(in)
		l.Format, in = start.detect(o), start
	}
	if l.Format == FPS {
		f, err := newFingerprints(in)
		if err != nil {
			return err
		}
		r.body, l.Header, l.Fingerprints = f, true, &f.header
		return nil
	}
	text := newLines(in, o.MaxLineBytes)
	if l.Format == SMI {
		s, err := newSMI(text)
		if err != nil {
			return err
		}
		r.body, l.Header = s, s.header
		return nil
	}
	return r.openColumns(text, o)
}

func (r *Reader) openColumns(text *lines, o Options) error {
	var c columns
	if r.layout.Format == CSV {
		t, err := newCSV(text, o)
		if err != nil {
			return err
		}
		r.body, c = t, t.columns
	} else {
		t, err := newTSV(text, o)
		if err != nil {
			return err
		}
		r.body, c = t, t.columns
	}
	l := &r.layout
	l.Header, l.IDColumn, l.SMILESColumn = c.header, c.id+1, c.smiles+1
	l.IDName, l.SMILESName = c.names[0], c.names[1]
	return nil
}

// Close frees the decoder. It does not close the underlying reader.
func (r *Reader) Close() { r.stream.close() }

// Layout is what the input was found to be.
func (r *Reader) Layout() Layout { return r.layout }

// Offset returns how many bytes of the input, as stored, have been read.
func (r *Reader) Offset() int64 { return r.stream.offset() }

// Rows returns how many rows have been returned.
func (r *Reader) Rows() int64 { return r.rows }

// Next returns the next row, or io.EOF after the last.
func (r *Reader) Next() (Row, error) {
	r.row = Row{Number: r.rows + 1}
	if err := r.body.next(&r.row); err != nil {
		return Row{}, err
	}
	r.rows++
	return r.row, nil
}
