package fingerprints

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"os/exec"
	"strconv"
	"testing"

	"scimesh.dev/scimesh/chem"
	"scimesh.dev/scimesh/chem/tanimoto"
)

// TestGeneratedScores compares the similarities that searches find with those of
// RDKit's bulk function, as doubles, bit for bit: each of some molecules with all.
func TestGeneratedScores(t *testing.T) {
	e := chem.New(chem.Options{})
	fp := make([]uint64, e.Words())
	var molecules [][]byte
	var rows []uint64
	add := func(s []byte) {
		// RDKit reads lines of text here.
		if len(molecules) < 1500 && !bytes.ContainsAny(s, "\x80\xff") && e.Fingerprint(fp, s) == nil {
			molecules, rows = append(molecules, s), append(rows, fp...)
		}
	}
	add(nil) // no bits on
	for _, s := range append(seeds(t), Mutants(seeds(t), 20_000, 9)...) {
		add(s)
	}
	const queries = 60
	cmd := exec.Command(python(t), "rdkit_scores.py", "--queries", strconv.Itoa(queries))
	cmd.Stdin = bytes.NewReader(append(bytes.Join(molecules, []byte("\n")), '\n'))
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr(err))
	}
	n := len(molecules)
	if len(out) != 8*queries*n {
		t.Fatalf("%d bytes, want %d", len(out), 8*queries*n)
	}
	x, err := tanimoto.Build(rows, chem.DefaultBits)
	if err != nil {
		t.Fatal(err)
	}
	differences := 0
	for q := range queries {
		scores := out[8*n*q:]
		hits, err := x.Searcher().Search(t.Context(), tanimoto.Query{Fingerprint: rows[q*e.Words():][:e.Words()]})
		if err != nil {
			t.Fatal(err)
		}
		if len(hits) != n {
			t.Fatalf("query %d: %d hits, want all %d", q, len(hits), n)
		}
		for i, h := range hits {
			want := math.Float64frombits(binary.LittleEndian.Uint64(scores[8*h.Row:]))
			if h.Union == 0 {
				want++ // RDKit says 0, see docs/chem-differences.md
			}
			if got := h.Float64(); got != want {
				differences++
				t.Logf("%q and %q: %d/%d is %v, RDKit says %v", molecules[q], molecules[h.Row], h.Common, h.Union, got, want)
			}
			if i > 0 && h.Float64() > hits[i-1].Float64() {
				t.Errorf("query %d: hit %d is more similar than the one before", q, i)
			}
		}
	}
	t.Logf("%d scores of %d molecules, %d differences", queries*n, n, differences)
	if differences > 0 || n < 1000 {
		t.Errorf("%d differences in scores of %d molecules", differences, n)
	}
}

func stderr(err error) []byte {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.Stderr
	}
	return nil
}
