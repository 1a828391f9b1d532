package chem_test

import (
	"slices"
	"testing"

	"scimesh.dev/scimesh/chem"
)

// FuzzFingerprint looks for strings that make the engine panic, answer
// differently a second time or find a molecule different from itself.
func FuzzFingerprint(f *testing.F) {
	for _, s := range []string{"CC(=O)Oc1ccccc1C(=O)O", "[H]/N=C(/C)C", "C%(12345)CC%(12345)", "[13C@@H](F)(Cl)Br",
		"c1ccc2cccc-2cc1", "*1C=CC=C1", "[Fe]<-1NCCN->1", "CC |C:0.0,^1:1|", "C12C3C4C1C5C2C3C45", "[Pt@SP1](F)(Cl)(Br)I"} {
		f.Add([]byte(s))
	}
	e := chem.New(chem.Options{})
	first, second := make([]uint64, e.Words()), make([]uint64, e.Words())
	f.Fuzz(func(t *testing.T, s []byte) {
		if len(s) > 400 {
			return
		}
		err1, err2 := e.Fingerprint(first, s), e.Fingerprint(second, s)
		if (err1 == nil) != (err2 == nil) || !slices.Equal(first, second) {
			t.Fatalf("first %v %x, then %v %x", err1, first, err2, second)
		}
		if err1 != nil {
			return
		}
		if same, err := e.Same(s, s); err == nil && !same {
			t.Fatal("not the same as itself")
		}
	})
}
