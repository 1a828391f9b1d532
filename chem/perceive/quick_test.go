package perceive

import (
	"bytes"
	"os"
	"testing"

	"scimesh.dev/scimesh/chem/mol"
	"scimesh.dev/scimesh/chem/smiles"
)

// TestQuickEqualsGeneral compares the quick path with the general steps on the
// strings that RDKit's answers are known for, and on ring systems.
func TestQuickEqualsGeneral(t *testing.T) {
	data, err := os.ReadFile("../testdata/vectors.tsv")
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.Split(data, []byte("\n"))[1:]
	for _, s := range []string{
		buckminsterfullerene, "C1CC2CCC1CC2", "c1ccc2c(c1)ccc1ccccc12", "c1cc2cccc3ccc4cccc1c4c23", "c1ccc2[nH]ccc2c1",
		"O=c1cc[nH]c2ccccc12", "c1ccc2cccc-2cc1", "C12C3C4C1C5C2C3C45", "C1CC2CC3CC1CC(C2)C3", "CN1CC[C@]23c4c5ccc(O)c4O[C@H]2[C@@H](O)C=C[C@H]3[C@H]1C5",
		"c1ccc(-c2ccccc2)cc1", "c1ccccc1c1ccccc1", "C1=CC2=CC=CC2=C1", "C1=CC=CC=CC=C1", "o1c2cccc3ccc4cccc1c4c32",
		"c1cc2ccc3cc4ccc5cc1c1c2c3c4c51", "c1=cc2=cc=c(cc3=cc=c(cc4=cc=c(n4)cc(n1)=c2)[nH]3)", "C1#CC=CC=C1", "O1CCOCCOCCOCC1",
		"C1=CSC=CSC=CSC=CS1", "c1ccc2c3ccccc3c3ccccc3c2c1", "[o+]1ccccc1", "[cH-]1cccc1", "[cH+]1cccccc1", "S1(=O)C=CC=C1", "c1ccs(=O)c1",
	} {
		lines = append(lines, []byte(s))
	}
	plain := 0
	for _, line := range lines {
		s, _, _ := bytes.Cut(line, []byte("\t"))
		if compareQuick(t, s) {
			plain++
		}
	}
	if plain < 60 {
		t.Errorf("the quick path took only %d of the molecules", plain)
	}
}

func FuzzQuickEqualsGeneral(f *testing.F) {
	for _, s := range []string{"CC(=O)Oc1ccccc1C(=O)O", "c1cc2cccc3ccc4cccc1c4c23", "C1=CC2=CC=CC2=C1", "[nH]1c2ccccc2c2ccccc12", "C12C3C4C1C5C2C3C45"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, s []byte) {
		if len(s) <= 200 {
			compareQuick(t, s)
		}
	})
}

// compareQuick perceives s in both ways and compares all that is meant to be
// read. It reports whether the quick path took the molecule.
func compareQuick(t *testing.T, s []byte) bool {
	t.Helper()
	var r smiles.Reader
	var a, b mol.Mol
	if r.Read(&a, s) != nil || r.Read(&b, s) != nil {
		return false
	}
	var p, g Perceiver
	p.RemoveHydrogens(&a)
	g.RemoveHydrogens(&b)
	if !p.quick.run(&a, &p.cycles) {
		return false
	}
	g.general = true
	if err := g.Sanitize(&b); err != nil {
		t.Errorf("%s: the quick path accepts it, the general steps do not: %v", s, err)
		return true
	}
	for i := range a.Atoms {
		x, y := &a.Atoms[i], &b.Atoms[i]
		if x.TotalH() != y.TotalH() || (x.Flags^y.Flags)&mol.InRing != 0 || x.Charge != y.Charge || x.Degree != y.Degree {
			t.Errorf("%s: atom %d is %+v by the quick path, %+v by the general steps", s, i, x, y)
		}
	}
	for i := range a.Bonds {
		if a.Bonds[i].Type != b.Bonds[i].Type {
			t.Errorf("%s: bond %d has type %d by the quick path, %d by the general steps", s, i, a.Bonds[i].Type, b.Bonds[i].Type)
		}
	}
	return true
}
