package chem_test

import (
	"os"
	"strings"
	"testing"

	"scimesh.dev/scimesh/chem"
)

func TestSameEqualsCanonicalSMILES(t *testing.T) {
	data, err := os.ReadFile("testdata/same.tsv")
	if err != nil {
		t.Fatal(err)
	}
	e := chem.New(chem.Options{})
	rows := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")[1:]
	if len(rows) < 80 {
		t.Fatalf("same.tsv has only %d rows", len(rows))
	}
	for _, row := range rows {
		f := strings.Split(row, "\t")
		for _, pair := range [][2]string{{f[0], f[1]}, {f[1], f[0]}} {
			got, err := e.Same([]byte(pair[0]), []byte(pair[1]))
			if want := f[2] == "1"; err != nil || got != want {
				t.Errorf("%s and %s: same %v, error %v; RDKit says %v", pair[0], pair[1], got, err, want)
			}
		}
		if same, err := e.Same([]byte(f[0]), []byte(f[0])); err != nil || !same {
			t.Errorf("%s is not the same as itself (error %v)", f[0], err)
		}
	}
}
