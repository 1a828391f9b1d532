package tanimoto

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"unicode/utf8"
)

// Load reads a whole file that Save wrote: an index that searches as the one
// saved did, and its origin. Beside the index it needs a few megabytes. An
// ErrFormat says that the file is damaged: a checksum differs, or what the file
// says about its fingerprints is not true of them. Whatever is in the file, an
// index that is returned answers rightly about the fingerprints it holds.
func Load(r io.Reader) (*Index, Origin, error) {
	l := &loader{r: r}
	h, err := l.load()
	if err != nil {
		return nil, Origin{}, fmt.Errorf("load index: %w", err)
	}
	return l.Index, h.Origin, nil
}

// ReadHeader reads what stands at the beginning of a file that Save wrote.
func ReadHeader(r io.Reader) (Header, error) {
	h, err := (&loader{r: r}).header()
	if err != nil {
		return Header{}, fmt.Errorf("read header of index: %w", err)
	}
	return h, nil
}

// loader reads a file part by part: each into the buffer, then its checksum, and
// only then is it looked into. The header alone is read as it is understood.
type loader struct {
	*Index
	r      io.Reader
	buffer []byte // the part
	crc    uint32

	indexed, appended int
	frequency         []uint32 // of columns
}

func (l *loader) load() (Header, error) {
	h, err := l.header()
	if err != nil {
		return h, err
	}
	l.frequency = make([]uint32, l.bits)
	for from := 0; from < l.indexed; from += tileSize {
		if err := l.tile(from, min(l.indexed, from+tileSize)); err != nil {
			return h, err
		}
	}
	l.rankColumns(l.frequency)
	if err := l.checkRows(); err != nil {
		return h, err
	}
	for left := l.appended; left > 0; left -= tailChunk {
		if err := l.readTail(min(left, tailChunk)); err != nil {
			return h, err
		}
	}
	switch _, err := io.ReadFull(l.r, make([]byte, 1)); {
	case err == nil:
		return h, formatError("something follows the last fingerprint")
	case !errors.Is(err, io.EOF):
		return h, err
	}
	return h, nil
}

// read appends n bytes of the file to the part and returns them.
func (l *loader) read(n int) ([]byte, error) {
	from := len(l.buffer)
	if cap(l.buffer)-from < n {
		l.buffer = append(make([]byte, 0, from+n), l.buffer...)
	}
	l.buffer = l.buffer[:from+n]
	return l.buffer[from:], readFull(l.r, l.buffer[from:])
}

func readFull(r io.Reader, b []byte) error {
	_, err := io.ReadFull(r, b)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return formatError("the file ends too early")
	}
	return err
}

// check ends the part, and returns it if it is as it was written. It is
// overwritten by the next.
func (l *loader) check(name string) ([]byte, error) {
	part := l.buffer
	l.buffer = l.buffer[:0]
	l.crc = crc32.Update(l.crc, castagnoli, part)
	var sum [checksumSize]byte
	if err := readFull(l.r, sum[:]); err != nil {
		return nil, err
	}
	if le.Uint32(sum[:]) != l.crc {
		return nil, formatError("the checksum of %s differs", name)
	}
	return part, nil
}

func (l *loader) header() (h Header, err error) {
	b, err := l.read(headerSize)
	if err != nil {
		return h, err
	}
	if string(b[:8]) != magic {
		return h, formatError("it does not begin with %q", magic)
	}
	if v := le.Uint32(b[8:]); v != version {
		return h, formatError("version %d, known is %d", v, version)
	}
	size, indexed, appended := le.Uint32(b[12:]), le.Uint64(b[16:]), le.Uint64(b[24:])
	if err := checkBits(int(size)); err != nil {
		return h, formatError("%v", err)
	}
	if indexed > math.MaxUint32 || appended > math.MaxUint32 {
		return h, formatError("%d and %d fingerprints are more than an index holds", indexed, appended)
	}
	l.Index = &Index{bits: int(size), words: int(size) / 64}
	l.indexed, l.appended = int(indexed), int(appended)
	if h.Type, err = l.readString(); err != nil {
		return h, err
	}
	if h.Engine, err = l.readString(); err != nil {
		return h, err
	}
	if b, err = l.read(4 * (l.bits + 1)); err != nil {
		return h, err
	}
	if _, err := l.check("the header"); err != nil {
		return h, err
	}
	h.Bits, h.Len = l.bits, l.indexed+l.appended
	return h, l.histogram(b)
}

func (l *loader) readString() (string, error) {
	b, err := l.read(2)
	if err != nil {
		return "", err
	}
	n := int(le.Uint16(b))
	if n > maxString {
		return "", formatError("type or engine of %d bytes", n)
	}
	if b, err = l.read(n); err != nil {
		return "", err
	}
	if err := checkString(string(b)); err != nil {
		return "", formatError("%v", err)
	}
	return string(b), nil
}

func checkString(s string) error {
	if len(s) > maxString || !utf8.ValidString(s) {
		return fmt.Errorf("type or engine %.40q: not UTF-8 of at most %d bytes", s, maxString)
	}
	return nil
}

// histogram finds where the positions of each number of on bits start.
func (l *loader) histogram(b []byte) error {
	l.start = make([]int, l.bits+2)
	for n := range l.bits + 1 {
		l.start[n+1] = l.start[n] + int(le.Uint32(b[4*n:]))
	}
	if sum := l.start[l.bits+1]; sum != l.indexed {
		return formatError("%d fingerprints, the histogram is of %d", l.indexed, sum)
	}
	return nil
}

// readTail reads n appended fingerprints.
func (l *loader) readTail(n int) error {
	if _, err := l.read(8 * n * l.words); err != nil {
		return err
	}
	part, err := l.check("appended fingerprints")
	for ; err == nil && len(part) > 0; part = part[8:] {
		l.tail = append(l.tail, le.Uint64(part))
	}
	return err
}
