package table

import (
	"bufio"
	"bytes"
	"errors"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"scimesh.dev/scimesh/workloads"
)

// maxWindow is the largest zstd window that is accepted: that of `zstd --long`.
const maxWindow = 128 << 20

// source counts what is read from a reader and remembers its error, which
// decoders may replace by their own.
type source struct {
	r   io.Reader
	n   int64
	err error
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	s.n += int64(n)
	if err != nil && err != io.EOF {
		s.err = err
	}
	return n, err
}

// stream is the decompressed input.
type stream struct {
	src     *source
	buf     *bufio.Reader
	format  string // "gzip", "zstd", or "" for plain text
	decoded io.Reader
	close   func()
}

// openStream finds out the format by its first bytes. A damaged beginning is a
// workloads.Error.
func openStream(r io.Reader) (*stream, error) {
	src := &source{r: r}
	s := &stream{src: src, buf: bufio.NewReaderSize(src, 64<<10), close: func() {}}
	start, err := s.buf.Peek(6)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	switch {
	case bytes.HasPrefix(start, []byte{0x1f, 0x8b}):
		err = s.openGzip()
	case isZstd(start):
		err = s.openZstd()
	default:
		s.decoded, err = s.buf, refuseForeign(start)
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

func (s *stream) openGzip() error {
	s.format = "gzip"
	z, err := gzip.NewReader(s.buf) // members that follow each other are one stream
	if err != nil {
		return s.explain(err)
	}
	s.decoded = z
	return nil
}

func (s *stream) openZstd() error {
	s.format = "zstd"
	// With a concurrency of 1 nothing is read ahead and no goroutine is started.
	z, err := zstd.NewReader(s.buf, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		return s.explain(err)
	}
	s.decoded, s.close = z, z.Close
	return nil
}

// isZstd recognises a zstd frame or a skippable one before it (RFC 8878, 3.1).
func isZstd(start []byte) bool {
	return bytes.HasPrefix(start, []byte{0x28, 0xb5, 0x2f, 0xfd}) ||
		len(start) >= 4 && start[0]&0xf0 == 0x50 && bytes.Equal(start[1:4], []byte{0x2a, 0x4d, 0x18})
}

// refuseForeign names formats that are not read, rather than complain about
// the columns of their first line.
func refuseForeign(start []byte) error {
	for _, f := range []struct{ magic, name string }{
		{"PK\x03\x04", "a zip archive"},
		{"BZh", "compressed with bzip2"},
		{"\xfd7zXZ\x00", "compressed with xz"},
		{"\xff\xfe", "UTF-16 text"},
		{"\xfe\xff", "UTF-16 text"},
	} {
		if bytes.HasPrefix(start, []byte(f.magic)) {
			return workloads.Errorf(workloads.ReasonInputInvalid,
				"the input is %s; it must be UTF-8 text, plain or compressed with gzip or zstd", f.name)
		}
	}
	return nil
}

// offset is how many bytes of the input as stored have been decoded.
func (s *stream) offset() int64 { return s.src.n - int64(s.buf.Buffered()) }

func (s *stream) Read(p []byte) (int, error) {
	n, err := s.decoded.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = s.explain(err)
	}
	return n, err
}

// explain turns a decoder's error into one for the user. An error of the
// source stays as it is: the input may be fine, only reading it failed.
func (s *stream) explain(err error) error {
	if s.src.err != nil {
		return s.src.err
	}
	what := "is damaged"
	switch {
	case s.format == "":
		return err
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		what = "ends too early"
	case errors.Is(err, gzip.ErrChecksum), errors.Is(err, zstd.ErrCRCMismatch):
		what = "has a wrong checksum"
	case s.decoded == nil: // not even its header could be read
	case errors.Is(err, gzip.ErrHeader), errors.Is(err, zstd.ErrMagicMismatch):
		what = "is followed by something else"
	case errors.Is(err, zstd.ErrWindowSizeExceeded), errors.Is(err, zstd.ErrDecoderSizeExceeded):
		what = "needs a window of more than 128 MiB"
	}
	return workloads.Errorf(workloads.ReasonInputCorrupt,
		"the %s data %s, at byte %d of the compressed input", s.format, what, s.offset())
}
