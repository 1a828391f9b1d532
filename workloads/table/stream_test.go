package table

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"scimesh.dev/scimesh/workloads"
)

func compressGzip(s string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(s))
	_ = w.Close()
	return b.String()
}

func compressZstd(s string) string {
	w, err := zstd.NewWriter(nil)
	if err != nil {
		panic(err)
	}
	return string(w.EncodeAll([]byte(s), nil))
}

// sample is a table of n rows that does not compress to nothing.
func sample(n int) string {
	var b strings.Builder
	b.WriteString(header)
	for i := range n {
		fmt.Fprintf(&b, "CHEMBL%d\tC%x\n", i, i*2654435761)
	}
	return b.String()
}

func TestCompressed(t *testing.T) {
	in := sample(5000)
	half := len(in) / 2
	skippable := "\x52\x2a\x4d\x18\x03\x00\x00\x00abc"
	want, err := readAll(strings.NewReader(in), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for name, stored := range map[string]string{
		"gzip":                       compressGzip(in),
		"gzip, two members":          compressGzip(in[:half]) + compressGzip(in[half:]),
		"gzip, an empty member":      compressGzip("") + compressGzip(in) + compressGzip(""),
		"zstd":                       compressZstd(in),
		"zstd, two frames":           compressZstd(in[:half]) + compressZstd(in[half:]),
		"zstd, skippable frames":     skippable + compressZstd(in) + skippable,
		"gzip with a mark before it": compressGzip("\ufeff" + in),
	} {
		t.Run(name, func(t *testing.T) {
			got, err := readAll(strings.NewReader(stored), Options{})
			if err != nil || strings.Join(got, "\n") != strings.Join(want, "\n") {
				t.Errorf("%d rows, %v; want %d", len(got), err, len(want))
			}
		})
	}
	for name, stored := range map[string]string{"gzip": compressGzip(""), "zstd": compressZstd("")} {
		if _, err := readAll(strings.NewReader(stored), Options{}); err == nil || !strings.Contains(err.Error(), "the input is empty") {
			t.Errorf("nothing, as %s: %v", name, err)
		}
	}
}

var offsetPattern = regexp.MustCompile(`, at byte (\d+) of the compressed input$`)

// corrupt asserts that reading fails as InputCorrupt at a sensible offset.
func corrupt(t *testing.T, stored, want string) {
	t.Helper()
	_, err := readAll(strings.NewReader(stored), Options{})
	var e *workloads.Error
	if !errors.As(err, &e) || e.Reason != workloads.ReasonInputCorrupt || !strings.Contains(e.Message, want) {
		t.Errorf("got %v, want %s", err, want)
		return
	}
	m := offsetPattern.FindStringSubmatch(e.Message)
	var offset int
	if m != nil {
		_, _ = fmt.Sscan(m[1], &offset)
	}
	if m == nil || offset > len(stored) || offset < min(len(stored), 1) {
		t.Errorf("offset in %q of %d bytes", e.Message, len(stored))
	}
}

func TestTruncatedAtEveryByte(t *testing.T) {
	in := sample(20)
	for format, stored := range map[string]string{"gzip": compressGzip(in), "zstd": compressZstd(in)} {
		magic := map[string]int{"gzip": 2, "zstd": 4}[format]
		for n := magic; n < len(stored); n++ {
			corrupt(t, stored[:n], "the "+format+" data ends too early, at byte "+fmt.Sprint(n))
		}
		// A second member that is cut off is missed as well.
		corrupt(t, stored+stored[:len(stored)/2], "the "+format+" data ends too early")
	}
}

func TestDamagedCompression(t *testing.T) {
	in := sample(5000)
	gz, zs := compressGzip(in), compressZstd(in)
	flip := func(s string, i int) string { return s[:i] + string(s[i]^0x55) + s[i+1:] }
	corrupt(t, gz+"garbage that is long enough", "is followed by something else")
	corrupt(t, gz+strings.Repeat("\x00", 512), "is followed by something else")
	corrupt(t, gz+"x", "ends too early")
	corrupt(t, zs+"garbage that is long enough", "is followed by something else")
	corrupt(t, zs+"x", "")
	corrupt(t, flip(gz, len(gz)-6), "has a wrong checksum")
	corrupt(t, flip(zs, len(zs)-1), "has a wrong checksum")
	corrupt(t, flip(gz, 2), "is damaged, at byte 10")
	for _, at := range []int{len(gz) / 3, len(gz) / 2} {
		corrupt(t, flip(gz, at), "")
	}
	corrupt(t, flip(zs, len(zs)/2), "")
	// A frame header that asks for a window of 1 GiB: descriptor 0, window descriptor 20<<3.
	corrupt(t, "\x28\xb5\x2f\xfd\x00\xa0"+strings.Repeat("\x00", 100), "needs a window of more than 128 MiB")
}
