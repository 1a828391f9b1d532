package table

import (
	"bytes"
	"errors"
	"io"
)

const (
	// startBuffer is the size of the line buffer until a longer line comes.
	startBuffer = 256 << 10
	// keptPrefix is how much of a line that is too long is kept, to find its id.
	keptPrefix = 1 << 10
	// maxEmptyReads is how often in a row a reader may return nothing, as in bufio.
	maxEmptyReads = 100
)

// lines cuts a stream at LF.
type lines struct {
	r     io.Reader
	limit int // most bytes of a line, without its end
	buf   []byte
	// buf[start:end] is what was read and not yet returned.
	start, end int
	err        error // from r; returned once the buffer is empty
}

func newLines(r io.Reader, limit int) *lines {
	return &lines{r: r, limit: limit, buf: make([]byte, min(startBuffer, limit+2))}
}

// next returns the next line without its end, LF or CRLF. It is valid until
// the next call. If the line is longer than the limit, tooLong is true and line
// its beginning. At the end of the stream the error is io.EOF.
func (l *lines) next() (line []byte, tooLong bool, err error) {
	scanned := 0 // bytes after start that hold no LF
	for {
		if i := bytes.IndexByte(l.buf[l.start+scanned:l.end], '\n'); i >= 0 {
			line = l.buf[l.start : l.start+scanned+i]
			l.start += scanned + i + 1
			return l.finish(line)
		}
		scanned = l.end - l.start
		if l.err != nil {
			return l.last()
		}
		if scanned > l.limit+1 { // +1: it may be the CR of a line of just the limit
			return l.skip()
		}
		l.fill()
	}
}

// finish removes a CR and applies the limit.
func (l *lines) finish(line []byte) ([]byte, bool, error) {
	line = bytes.TrimSuffix(line, []byte{'\r'})
	if len(line) > l.limit {
		return line[:l.kept(line)], true, nil
	}
	return line, false, nil
}

// last returns what stands after the last LF, then the stream's error. A
// stream that failed returns no incomplete line.
func (l *lines) last() ([]byte, bool, error) {
	line := l.buf[l.start:l.end]
	l.start = l.end
	if len(line) == 0 || !errors.Is(l.err, io.EOF) {
		return nil, false, l.err
	}
	return l.finish(line)
}

// fill reads once, after making room by moving or growing the buffer.
func (l *lines) fill() {
	if l.start > 0 && (l.start == l.end || l.end == len(l.buf)) {
		copy(l.buf, l.buf[l.start:l.end])
		l.start, l.end = 0, l.end-l.start
	}
	if l.end == len(l.buf) {
		grown := make([]byte, min(2*len(l.buf), l.limit+2))
		copy(grown, l.buf[:l.end])
		l.buf = grown
	}
	for range maxEmptyReads {
		n, err := l.r.Read(l.buf[l.end:])
		l.end += n
		l.err = err
		if n > 0 || err != nil {
			return
		}
	}
	l.err = io.ErrNoProgress
}

// kept is how much of the beginning of a line that is too long is returned. It
// does not depend on how the stream was cut into reads.
func (l *lines) kept(line []byte) int { return min(len(line), keptPrefix, l.limit) }

// skip passes over the rest of a line that is too long and returns its beginning.
func (l *lines) skip() ([]byte, bool, error) {
	prefix := l.buf[l.start:l.end]
	prefix = bytes.Clone(prefix[:l.kept(prefix)])
	for {
		l.start, l.end = 0, 0
		if l.err != nil {
			if !errors.Is(l.err, io.EOF) {
				return nil, false, l.err
			}
			return prefix, true, nil
		}
		l.fill()
		if i := bytes.IndexByte(l.buf[:l.end], '\n'); i >= 0 {
			l.start = i + 1
			return prefix, true, nil
		}
	}
}
