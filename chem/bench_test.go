package chem_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"testing"

	"scimesh.dev/scimesh/chem"
)

// benchmarkMolecules are the valid strings of the table of vectors, or of the
// file of one SMILES a line that CHEM_BENCH names (gzip or plain).
func benchmarkMolecules(b *testing.B) [][]byte {
	b.Helper()
	name := os.Getenv("CHEM_BENCH")
	if name == "" {
		name = "testdata/vectors.tsv"
	}
	data, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		b.Skip(err)
	}
	if z, err := gzip.NewReader(bytes.NewReader(data)); err == nil {
		if data, err = io.ReadAll(z); err != nil {
			b.Fatal(err)
		}
	}
	e := chem.New(chem.Options{})
	fp := make([]uint64, e.Words())
	var molecules [][]byte
	for line := range bytes.Lines(data) {
		s, _, _ := bytes.Cut(bytes.TrimRight(line, "\r\n"), []byte("\t"))
		if e.Fingerprint(fp, s) == nil {
			molecules = append(molecules, s)
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	r.Shuffle(len(molecules), func(i, j int) { molecules[i], molecules[j] = molecules[j], molecules[i] })
	return molecules[:min(len(molecules), 10_000)]
}

func BenchmarkFingerprint(b *testing.B) {
	molecules := benchmarkMolecules(b)
	e := chem.New(chem.Options{})
	fp := make([]uint64, e.Words())
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		if err := e.Fingerprint(fp, molecules[i]); err != nil {
			b.Fatal(err)
		}
		if i++; i == len(molecules) {
			i = 0
		}
	}
}
