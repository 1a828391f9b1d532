package tanimoto

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"
)

var testOrigin = Origin{Type: "Morgan radius=2 bits=64", Engine: "ein Läufer/1"}

// makeIndex makes an index whose last rows are appended ones.
func makeIndex(t interface{ Fatal(...any) }, rows []uint64, bits, appended int) *Index {
	cut := len(rows) - appended*bits/64
	x, err := Build(rows[:cut], bits)
	if err == nil {
		err = x.Append(rows[cut:])
	}
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func saved(t interface{ Fatal(...any) }, x *Index) []byte {
	var b bytes.Buffer
	if err := x.Save(&b, testOrigin); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// same reports whether two indexes hold the same in the same places.
func same(x, y *Index) bool {
	return x.bits == y.bits && x.words == y.words && x.unused == y.unused &&
		slices.EqualFunc(x.tiles, y.tiles, func(a, b tile) bool { return a.stride == b.stride && slices.Equal(a.bits, b.bits) }) &&
		slices.Equal(x.rows, y.rows) && slices.Equal(x.counts, y.counts) && slices.Equal(x.start, y.start) &&
		slices.Equal(x.columns, y.columns) && slices.Equal(x.rank, y.rank) && slices.Equal(x.tail, y.tail)
}

func TestLoadReadsWhatSaveWrote(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bits := rapid.SampledFrom([]int{64, 192, 1024, 2048, 8192}).Draw(t, "bits")
		n := rapid.SampledFrom([]int{0, 1, 64, 511, 512, 513, 1500}).Draw(t, "rows")
		rows := makeRows(rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 11)), n, bits)
		x := makeIndex(t, rows, bits, rapid.IntRange(0, n).Draw(t, "appended"))
		file := saved(t, x)
		y, origin, err := Load(bytes.NewReader(file))
		if err != nil {
			t.Fatal(err)
		}
		if origin != testOrigin {
			t.Errorf("origin %+v, want %+v", origin, testOrigin)
		}
		if !same(x, y) {
			t.Error("the index that was loaded is another than the one saved")
		}
		if !slices.Equal(y.AppendRows(nil), rows) {
			t.Error("the index does not hold the rows it was built of")
		}
		if !bytes.Equal(saved(t, y), file) {
			t.Error("saved again it is another file")
		}
		h, err := ReadHeader(bytes.NewReader(file))
		if want := (Header{testOrigin, bits, n}); err != nil || h != want {
			t.Errorf("header %+v, error %v, want %+v", h, err, want)
		}
	})
}

func TestLoadReadsManyTiles(t *testing.T) {
	const bits, words = 8192, 128
	rows := make([]uint64, ((tilesAtOnce(bits)+1)*tileSize+77)*words)
	for i := range len(rows) / words {
		for _, bit := range []int{i % bits, i * i % bits, i % 3} {
			rows[i*words+bit/64] |= 1 << (bit % 64)
		}
	}
	x := makeIndex(t, rows, bits, tailChunk+3)
	file := saved(t, x)
	y, _, err := Load(iotest.HalfReader(bytes.NewReader(file)))
	if err != nil {
		t.Fatal(err)
	}
	if !same(x, y) {
		t.Error("the index that was loaded is another than the one saved")
	}
	if !slices.Equal(y.AppendRows([]uint64{7})[1:], rows) {
		t.Error("the index does not hold the rows it was built of")
	}
}

// smallFile is short enough for a test of each of its bytes, and has columns of
// both kinds and an appended row.
func smallFile(t interface{ Fatal(...any) }) []byte {
	return saved(t, makeIndex(t, makeRows(rand.New(rand.NewPCG(13, 13)), 120, 64), 64, 2))
}

func TestLoadRefusesDamagedFiles(t *testing.T) {
	file := smallFile(t)
	damaged := slices.Clone(file)
	for i := range file {
		for _, flip := range []byte{1, 0x80, 0xff} {
			damaged[i] ^= flip
			if _, _, err := Load(bytes.NewReader(damaged)); !errors.Is(err, ErrFormat) {
				t.Fatalf("byte %d with bits %#x flipped: error %v", i, flip, err)
			}
			damaged[i] ^= flip
		}
		if _, _, err := Load(bytes.NewReader(file[:i])); !errors.Is(err, ErrFormat) {
			t.Fatalf("cut after %d bytes: error %v", i, err)
		}
	}
	if _, _, err := Load(bytes.NewReader(append(damaged, 0))); !errors.Is(err, ErrFormat) {
		t.Errorf("with a byte more: error %v", err)
	}
}

// TestLoadRefusesExchangedTiles: each tile by itself is as it was written.
func TestLoadRefusesExchangedTiles(t *testing.T) {
	const bits, words = 64, 1
	rows := make([]uint64, 2*tileSize*words) // two equal tiles but for the rows
	file := saved(t, makeIndex(t, rows, bits, 0))
	part := (len(file) - len(header(file))) / 2
	first, second := file[len(file)-2*part:len(file)-part], file[len(file)-part:]
	exchanged := slices.Concat(header(file), second, first)
	if _, _, err := Load(bytes.NewReader(exchanged)); !errors.Is(err, ErrFormat) {
		t.Errorf("error %v", err)
	}
}

// header is the beginning of the file up to the first tile.
func header(file []byte) []byte {
	r := bytes.NewReader(file)
	if _, err := ReadHeader(r); err != nil {
		panic(err)
	}
	return file[:len(file)-r.Len()]
}

func TestLoadTellsWhatReadingFailedOf(t *testing.T) {
	broken := errors.New("a broken cable")
	file := smallFile(t)
	for _, n := range []int{0, 10, len(header(file)), len(file) - 1, len(file)} {
		r := io.MultiReader(bytes.NewReader(file[:n]), iotest.ErrReader(broken))
		if _, _, err := Load(r); !errors.Is(err, broken) || errors.Is(err, ErrFormat) {
			t.Errorf("after %d bytes: error %v, want %v alone", n, err, broken)
		}
	}
}

func TestSaveRefuses(t *testing.T) {
	x := makeIndex(t, make([]uint64, 10), 64, 0)
	for _, o := range []Origin{{Type: "\xff"}, {Engine: strings.Repeat("e", maxString+1)}} {
		if err := x.Save(io.Discard, o); err == nil {
			t.Errorf("origin %.20q was saved", o)
		}
	}
	if err := x.Save(shortWriter{}, Origin{}); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("error %v, want the writer's", err)
	}
}

type shortWriter struct{}

func (shortWriter) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

// TestFormat holds the file's form: one of another version must not be taken for it.
func TestFormat(t *testing.T) {
	golden, err := os.ReadFile("testdata/small.idx")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(smallFile(t), golden) {
		t.Error("the form of files has changed: it needs another version number")
	}
}

// withChecksums returns the file with checksums that are right wherever the
// loader looks for them, so that a fuzzer comes past them.
func withChecksums(file []byte) []byte {
	file = slices.Clone(file)
	r := &patcher{file: file}
	l := &loader{r: r}
	r.l = l
	_, _ = l.load()
	return file
}

// patcher writes the checksum of what the loader has read where it asks for it.
type patcher struct {
	file []byte
	at   int
	l    *loader
}

func (p *patcher) Read(b []byte) (int, error) {
	if len(b) == checksumSize && len(p.l.buffer) == 0 && p.at > 0 && len(p.file)-p.at >= checksumSize {
		le.PutUint32(p.file[p.at:], p.l.crc)
	}
	n := copy(b, p.file[p.at:])
	p.at += n
	if n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

func FuzzLoad(f *testing.F) {
	f.Add(smallFile(f))
	f.Add(saved(f, makeIndex(f, make([]uint64, 4*700), 256, 5)))
	f.Add(saved(f, makeIndex(f, nil, 64, 0)))
	f.Fuzz(func(t *testing.T, file []byte) {
		file = withChecksums(file)
		x, origin, err := Load(bytes.NewReader(file))
		if err != nil {
			if !errors.Is(err, ErrFormat) {
				t.Fatalf("error %v", err)
			}
			return
		}
		// What is accepted answers as an index built of its fingerprints.
		rows := x.AppendRows(nil)
		y := makeIndex(t, rows, x.Bits(), 0)
		q := Query{Fingerprint: make([]uint64, x.words), K: 5}
		if len(rows) > 0 {
			q.Fingerprint = rows[:x.words]
		}
		got, err := x.Searcher().Search(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		want, err := y.Searcher().Search(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want) {
			t.Errorf("hits %v, want %v", got, want)
		}
		var again bytes.Buffer
		if err := x.Save(&again, origin); err != nil || !bytes.Equal(again.Bytes(), file) {
			t.Errorf("saved again it is another file, error %v", err)
		}
	})
}
