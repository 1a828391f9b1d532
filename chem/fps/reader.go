package fps

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// DefaultMaxLine is the longest line that is held, in bytes without its end: 65,536
// bits and an id of half as many characters fit.
const DefaultMaxLine = 48 << 10

// Why a record cannot be used.
var (
	ErrLineTooLong    = errors.New("the line is too long")
	ErrNoID           = errors.New("there is no id after the fingerprint")
	ErrNotFingerprint = errors.New("the fingerprint is not of the file's length in hexadecimal")
)

// RecordError is a line that is no record. Reading may go on after it.
type RecordError struct {
	Line int64  // of the file, from 1
	ID   []byte // if it could be found; valid until the next call
	Err  error  // one of those above
}

func (e *RecordError) Error() string { return fmt.Sprintf("FPS line %d: %v", e.Line, e.Err) }
func (e *RecordError) Unwrap() error { return e.Err }

// Record is a fingerprint with its id, valid until the next call.
type Record struct {
	Line        int64 // of the file, from 1
	ID          []byte
	Fingerprint []uint64
}

// Reader reads a file. It is for one goroutine.
type Reader struct {
	r      *bufio.Reader
	limit  int
	line   int64
	header Header
	seen   map[string]bool // header keys
	fp     []uint64
	first  []byte // the first record's line, read with the header
	broken error  // about first, if it is too long
	held   bool   // first is still to be returned
}

// NewReader reads the header; limit is the longest line that is held, 0 for
// DefaultMaxLine. What is wrong with the header is a *HeaderError; errors of r are
// returned as they are.
func NewReader(r io.Reader, limit int) (*Reader, error) {
	if limit <= 0 {
		limit = DefaultMaxLine
	}
	f := &Reader{r: bufio.NewReaderSize(r, limit+len("\r\n")), limit: limit, seen: map[string]bool{}}
	if err := f.readHeader(); err != nil {
		return nil, err
	}
	f.fp = make([]uint64, Words(f.header.Bits))
	return f, nil
}

// Header is the file's.
func (f *Reader) Header() Header { return f.header }

func (f *Reader) readHeader() error {
	line, err := f.next()
	switch {
	case errors.Is(err, io.EOF) || errors.Is(err, ErrLineTooLong) || err == nil && string(line) != magic:
		return &HeaderError{1, "the first line is not " + magic}
	case err != nil:
		return err
	}
	for f.line <= maxHeaderLines {
		line, err := f.next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil && !errors.Is(err, ErrLineTooLong):
			return err
		case err == nil && len(line) == 0:
			continue
		case len(line) == 0 || line[0] != '#':
			f.hold(line, err)
			return nil
		case err != nil:
			return &HeaderError{f.line, "the line is too long"}
		}
		if err := f.header.set(f.seen, line[1:]); err != nil {
			return &HeaderError{f.line, err.Error()}
		}
	}
	return &HeaderError{f.line, fmt.Sprintf("the header has more than %d lines", maxHeaderLines)}
}

// hold keeps the first record's line. Its length is that of all fingerprints if
// the header does not say.
func (f *Reader) hold(line []byte, err error) {
	f.first, f.broken, f.held = bytes.Clone(line), err, true
	if digits := bytes.IndexByte(line, '\t'); f.header.Bits == 0 && digits > 0 {
		f.header.Bits = min(4*(digits/2*2), MaxBits)
	}
}

// Next returns the next record, a *RecordError for a line that is none, or io.EOF.
func (f *Reader) Next() (Record, error) {
	for {
		line, err := f.first, f.broken
		if f.held {
			f.held = false
		} else {
			line, err = f.next()
		}
		switch {
		case errors.Is(err, ErrLineTooLong):
			return Record{}, &RecordError{Line: f.line, Err: err}
		case err != nil:
			return Record{}, err
		case len(line) > 0:
			return f.parse(line)
		}
	}
}

func (f *Reader) parse(line []byte) (Record, error) {
	digits, rest, ok := bytes.Cut(line, []byte{'\t'})
	id, _, _ := bytes.Cut(rest, []byte{'\t'})
	switch {
	case !ok || len(id) == 0:
		return Record{}, &RecordError{Line: f.line, Err: ErrNoID}
	case !ParseHex(f.fp, digits, f.header.Bits):
		return Record{}, &RecordError{Line: f.line, ID: id, Err: ErrNotFingerprint}
	}
	return Record{Line: f.line, ID: id, Fingerprint: f.fp}, nil
}

// next returns the next line without its end, valid until the next call. With
// ErrLineTooLong it returns the beginning of the line.
func (f *Reader) next() ([]byte, error) {
	line, err := f.r.ReadSlice('\n')
	if len(line) > 0 {
		f.line++
	}
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		return f.skip(line)
	case errors.Is(err, io.EOF) && len(line) > 0: // a last line without an end
	case err != nil:
		return nil, err
	}
	line = bytes.TrimRight(bytes.TrimSuffix(line, []byte{'\n'}), "\r")
	if len(line) > f.limit {
		return line[:1], ErrLineTooLong
	}
	return line, nil
}

// skip passes over the rest of a line of which the buffer holds the beginning.
func (f *Reader) skip(line []byte) ([]byte, error) {
	start := []byte{line[0]}
	for {
		_, err := f.r.ReadSlice('\n')
		switch {
		case err == nil || errors.Is(err, io.EOF):
			return start, ErrLineTooLong
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}

// AppendRecord appends a line. The id must hold no tab and no line end.
func AppendRecord(dst []byte, fp []uint64, bits int, id []byte) []byte {
	dst = append(AppendHex(dst, fp, bits), '\t')
	dst = append(dst, id...)
	return append(dst, '\n')
}
