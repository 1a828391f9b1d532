// Package csvfile writes and reads comma-separated files in the one form that
// SciMesh uses: records end with CRLF, and a field is quoted only if it must
// be. That is what Python's csv module writes by default, so that results of Go
// and Python workers can be compared byte for byte. encoding/csv differs: it
// also quotes fields that begin with a space, reads CRLF inside a field as LF,
// and holds records of any size.
package csvfile

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// AppendRecord appends one record to dst.
func AppendRecord[T string | []byte](dst []byte, fields ...T) []byte {
	for i, f := range fields {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendField(dst, f)
	}
	return append(dst, '\r', '\n')
}

func appendField[T string | []byte](dst []byte, f T) []byte {
	quotes, special := 0, false
	for i := range len(f) {
		switch f[i] {
		case '"':
			quotes++
			special = true
		case ',', '\r', '\n':
			special = true
		}
	}
	if !special {
		return append(dst, f...)
	}
	dst = append(dst, '"')
	if quotes == 0 {
		dst = append(dst, f...)
	} else {
		for i := range len(f) {
			if f[i] == '"' {
				dst = append(dst, '"')
			}
			dst = append(dst, f[i])
		}
	}
	return append(dst, '"')
}

// ErrTooLong is a record beyond the limit of the Reader.
var ErrTooLong = errors.New("record too long")

// Reader reads records strictly: what AppendRecord would not write in any
// version of it (a bare LF, a quote inside an unquoted field, a last record
// without its end) is an error.
type Reader struct {
	r      *bufio.Reader
	limit  int
	record int64
	text   []byte // of all fields of the record
	ends   []int  // where each field ends in text
	fields [][]byte
}

// NewReader returns a Reader of records of at most limit bytes.
func NewReader(r io.Reader, limit int) *Reader {
	return &Reader{r: bufio.NewReaderSize(r, 32<<10), limit: limit}
}

// Read returns the fields of the next record, valid until the next call, or
// io.EOF after the last record.
func (r *Reader) Read() ([][]byte, error) {
	if _, err := r.r.Peek(1); err != nil {
		return nil, err
	}
	r.record++
	r.text, r.ends = r.text[:0], r.ends[:0]
	for {
		more, err := r.field()
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return nil, fmt.Errorf("record %d: %w", r.record, err)
		}
		r.ends = append(r.ends, len(r.text))
		if !more {
			return r.slice(), nil
		}
	}
}

// slice cuts the text of the record into its fields.
func (r *Reader) slice() [][]byte {
	r.fields = r.fields[:0]
	start := 0
	for _, end := range r.ends {
		r.fields = append(r.fields, r.text[start:end:end])
		start = end
	}
	return r.fields
}

// field reads one field and what ends it; more says that it was a comma.
func (r *Reader) field() (more bool, err error) {
	c, err := r.r.ReadByte()
	if err == nil && c == '"' {
		if err = r.quoted(); err == nil {
			c, err = r.r.ReadByte()
		}
		if err == nil && c != ',' && c != '\r' {
			return false, fmt.Errorf("unexpected %q after a quoted field", c)
		}
	}
	for ; err == nil; c, err = r.r.ReadByte() {
		switch c {
		case ',':
			return true, nil
		case '\r':
			return false, r.lineFeed()
		case '"', '\n':
			return false, fmt.Errorf("unexpected %q in an unquoted field", c)
		}
		if err := r.add(c); err != nil {
			return false, err
		}
	}
	return false, err
}

// quoted reads a field after its opening quote, through its closing one.
func (r *Reader) quoted() error {
	for {
		c, err := r.r.ReadByte()
		if err != nil {
			return err
		}
		if c == '"' {
			next, err := r.r.Peek(1)
			if err != nil {
				return err
			}
			if !bytes.Equal(next, []byte{'"'}) {
				return nil
			}
			_, _ = r.r.Discard(1) // it was just peeked
		}
		if err := r.add(c); err != nil {
			return err
		}
	}
}

func (r *Reader) lineFeed() error {
	c, err := r.r.ReadByte()
	if err == nil && c != '\n' {
		err = fmt.Errorf("CR without LF")
	}
	return err
}

func (r *Reader) add(c byte) error {
	if len(r.text) >= r.limit {
		return ErrTooLong
	}
	r.text = append(r.text, c)
	return nil
}
