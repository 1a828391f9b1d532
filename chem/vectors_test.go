package chem_test

import (
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"scimesh.dev/scimesh/chem"
	"scimesh.dev/scimesh/chem/smiles"
)

// vectors reads the table of strings with the identifiers that RDKit gives them.
func vectors(t *testing.T) (rows []struct {
	smiles string
	valid  bool
	ids    []uint32
}) {
	t.Helper()
	data, err := os.ReadFile("testdata/vectors.tsv")
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")[1:] {
		s, ids, ok := strings.Cut(line, "\t")
		if !ok {
			t.Fatalf("vectors.tsv line %d has no tab", i+2)
		}
		row := struct {
			smiles string
			valid  bool
			ids    []uint32
		}{smiles: s, valid: ids != "-"}
		for f := range strings.FieldsSeq(ids) {
			if f == "-" {
				continue
			}
			n, err := strconv.ParseUint(f, 10, 32)
			if err != nil {
				t.Fatal(err)
			}
			row.ids = append(row.ids, uint32(n))
		}
		rows = append(rows, row)
	}
	if len(rows) < 150 {
		t.Fatalf("vectors.tsv has only %d rows", len(rows))
	}
	return rows
}

func TestIdentifiersEqualRDKit(t *testing.T) {
	e := chem.New(chem.Options{})
	for _, tc := range vectors(t) {
		got, err := e.Identifiers(nil, []byte(tc.smiles))
		if (err == nil) != tc.valid {
			t.Errorf("%q: error %v, RDKit accepts it: %v", tc.smiles, err, tc.valid)
			continue
		}
		slices.Sort(got)
		if got = slices.Compact(got); !slices.Equal(got, tc.ids) {
			t.Errorf("%q: identifiers %d, RDKit has %d", tc.smiles, got, tc.ids)
		}
	}
}

func TestErrorsAreTyped(t *testing.T) {
	e := chem.New(chem.Options{})
	fp := make([]uint64, e.Words())
	var syntax *smiles.SyntaxError
	if err := e.Fingerprint(fp, []byte("CC(C")); !errors.As(err, &syntax) || syntax.Offset != 2 {
		t.Errorf("open branch: got %v, want a syntax error at byte 2", err)
	}
	var sanitize *chem.SanitizeError
	if err := e.Fingerprint(fp, []byte("CC(C)(C)(C)C")); !errors.As(err, &sanitize) || !slices.Equal(sanitize.Atoms, []int{1}) {
		t.Errorf("five-bonded carbon: got %v, want a SanitizeError naming atom 1", err)
	}
	if slices.ContainsFunc(fp, func(w uint64) bool { return w != 0 }) {
		t.Error("the fingerprint of a refused string is not zero")
	}
}

func TestFingerprintDoesNotAllocate(t *testing.T) {
	e := chem.New(chem.Options{})
	fp := make([]uint64, e.Words())
	strings := [][]byte{
		[]byte("CC(=O)Oc1ccccc1C(=O)O"),
		[]byte("CN1CC[C@]23c4c5ccc(O)c4O[C@H]2[C@@H](O)C=C[C@H]3[C@H]1C5"),
		[]byte("[H]OC([2H])c1c[nH]c2ccccc12.[Na+].[Cl-]"),
		[]byte("CCCCCCCCCCCCCCCCCC(=O)OCC(OC(=O)CCCCCCCCCCCCCCCCC)COC(=O)CCCCCCCCCCCCCCCCCCCCCCCC"),
		[]byte("c1cc2cccc3ccc4cccc1c4c23"),
		[]byte("C12C3C4C1C5C2C3C45"),
	}
	round := func() {
		for _, s := range strings {
			if err := e.Fingerprint(fp, s); err != nil {
				t.Fatalf("%s: %v", s, err)
			}
		}
	}
	round()
	if n := testing.AllocsPerRun(20, round); n != 0 {
		t.Errorf("%v allocations in %d fingerprints, want none", n, len(strings))
	}
}

func TestFingerprintSizes(t *testing.T) {
	ids, err := chem.New(chem.Options{}).Identifiers(nil, []byte("CCO"))
	if err != nil {
		t.Fatal(err)
	}
	for _, bits := range []int{64, 192, 1024, 8192} {
		e := chem.New(chem.Options{Bits: bits})
		fp := make([]uint64, e.Words())
		if err := e.Fingerprint(fp, []byte("CCO")); err != nil {
			t.Fatal(err)
		}
		want := make([]uint64, bits/64)
		for _, h := range ids {
			b := int(h) % bits
			want[b/64] |= 1 << (b % 64)
		}
		if !slices.Equal(fp, want) {
			t.Errorf("%d bits: got %x, want %x", bits, fp, want)
		}
	}
}

func TestOptionsAreValidated(t *testing.T) {
	for _, o := range []chem.Options{{Radius: 5}, {Radius: -2}, {Bits: 100}, {Bits: 32}, {Bits: 16384}} {
		if o.Validate() == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
}
