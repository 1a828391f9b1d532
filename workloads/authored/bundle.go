package authored

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"scimesh.dev/scimesh/workloads"
)

// maxHeader bounds the line before an entry.
const maxHeader = 4 << 10

// header is the line before an entry, or the last one of a bundle.
type header struct {
	Name      string `json:"name,omitempty"`
	SizeBytes int64  `json:"size_bytes"`
	End       bool   `json:"end,omitempty"`
}

// bundleReader reads the entries of a bundle in order.
type bundleReader struct {
	r    *bufio.Reader
	rest int64 // of the entry that is being read
}

func newBundleReader(r io.Reader) *bundleReader {
	return &bundleReader{r: bufio.NewReaderSize(r, 64<<10)}
}

// Read reads the current entry. What is cut off is an error.
func (b *bundleReader) Read(p []byte) (int, error) {
	if b.rest == 0 {
		return 0, io.EOF
	}
	n, err := b.r.Read(p[:min(int64(len(p)), b.rest)])
	b.rest -= int64(n)
	if errors.Is(err, io.EOF) && b.rest > 0 {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// next goes to the next entry; io.EOF after the last.
func (b *bundleReader) next() (header, error) {
	if _, err := io.Copy(io.Discard, b); err != nil {
		return header{}, err
	}
	line, err := b.r.ReadSlice('\n')
	if errors.Is(err, io.EOF) {
		return header{}, io.ErrUnexpectedEOF
	}
	if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
		return header{}, err
	}
	var h header
	if len(line) > maxHeader || json.Unmarshal(line, &h) != nil || h.SizeBytes < 0 || h.End == (h.Name != "") {
		return header{}, workloads.Errorf(workloads.ReasonPartialCorrupt, "the bundle's structure is damaged")
	}
	if h.End {
		if _, err := b.r.Peek(1); !errors.Is(err, io.EOF) {
			return header{}, workloads.Errorf(workloads.ReasonPartialCorrupt, "the bundle goes on after its end")
		}
		return header{}, io.EOF
	}
	b.rest = h.SizeBytes
	return h, nil
}

// expect goes to the next entry, which must have that name.
func (b *bundleReader) expect(name string) error {
	h, err := b.next()
	if err == nil && h.Name != name {
		err = workloads.Errorf(workloads.ReasonPartialCorrupt, "the bundle has the entry %q where %q belongs", h.Name, name)
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// small reads the current entry as a whole, if it has at most limit bytes.
func (b *bundleReader) small(limit int64) ([]byte, error) {
	if b.rest > limit {
		return nil, workloads.Errorf(ReasonPlanInvalid, "it has %d bytes, at most %d are read", b.rest, limit)
	}
	return io.ReadAll(b)
}

// writeEntry writes one entry of a bundle from r.
func writeEntry(w io.Writer, name string, size int64, r io.Reader) error {
	if err := writeHeader(w, header{Name: name, SizeBytes: size}); err != nil {
		return err
	}
	n, err := io.Copy(w, r)
	if err == nil && n != size {
		err = fmt.Errorf("entry %s has %d bytes, want %d", name, n, size)
	}
	return err
}

func writeHeader(w io.Writer, h header) error {
	raw, err := json.Marshal(h)
	if err != nil {
		return err
	}
	_, err = w.Write(append(raw, '\n'))
	return err
}
