package morgan

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"

	"scimesh.dev/scimesh/chem/mol"
	"scimesh.dev/scimesh/chem/perceive"
	"scimesh.dev/scimesh/chem/smiles"
)

// perceived reads and perceives s, or returns nil.
func perceived(s []byte) *mol.Mol {
	var r smiles.Reader
	var p perceive.Perceiver
	m := new(mol.Mol)
	if r.Read(m, s) != nil {
		return nil
	}
	p.RemoveHydrogens(m)
	if p.Sanitize(m) != nil {
		return nil
	}
	return m
}

func molecules(t testing.TB) (lines [][]byte) {
	data, err := os.ReadFile("../testdata/vectors.tsv")
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range bytes.Split(data, []byte("\n"))[1:] {
		s, _, _ := bytes.Cut(l, []byte("\t"))
		lines = append(lines, s)
	}
	for _, s := range []string{"CC(C)(C)C", "C1CCCCC1", "CC(F)(F)C(F)(F)F", "C12C3C4C1C5C2C3C45", "CN1CC[C@]23c4c5ccc(O)c4O[C@H]2[C@@H](O)C=C[C@H]3[C@H]1C5",
		"c1ccc2c(c1)ccc1ccccc12", "[13CH3][15NH2]", "S(=O)(=O)(O)O", "F[Pt]([2H])(Cl)Br", "F[Pt](Cl)Br", strings.Repeat("C", 70), "C" + strings.Repeat("(C)(C)C", 25)} {
		lines = append(lines, []byte(s))
	}
	return lines
}

// TestShortFormEqualsGeneral compares the closed form of radius 2 with the rounds.
func TestShortFormEqualsGeneral(t *testing.T) {
	fast, slow := New(2), New(2)
	slow.general = true
	taken := 0
	for _, s := range molecules(t) {
		m := perceived(s)
		if m == nil {
			continue
		}
		a, b := fast.Append(nil, m), slow.Append(nil, m)
		slices.Sort(a)
		slices.Sort(b)
		if !slices.Equal(a, b) {
			t.Errorf("%s: %d by the short form, %d by rounds", s, a, b)
		}
		if _, ok := fast.short.add(nil, m); ok {
			taken++
		}
	}
	if taken < 80 {
		t.Errorf("the short form took only %d molecules", taken)
	}
}

// TestWordsEqualLists compares the two representations of bond sets.
func TestWordsEqualLists(t *testing.T) {
	for radius := 1; radius <= MaxRadius; radius++ {
		g := New(radius)
		g.general = true
		for _, s := range molecules(t) {
			m := perceived(s)
			if m == nil || len(m.Bonds) > 64 {
				continue
			}
			a, b := g.rounds(nil, m, &g.words), g.rounds(nil, m, &g.lists)
			slices.Sort(a)
			slices.Sort(b)
			if !slices.Equal(a, b) {
				t.Errorf("radius %d, %s: %d with words, %d with lists", radius, s, a, b)
			}
		}
	}
}

// TestRadii checks that a smaller radius gives a part of a larger one.
func TestRadii(t *testing.T) {
	m := perceived([]byte("CC(=O)Oc1ccccc1C(=O)O"))
	var last []uint32
	for radius := 0; radius <= MaxRadius; radius++ {
		ids := New(radius).Append(nil, m)
		for _, h := range last {
			if !slices.Contains(ids, h) {
				t.Errorf("radius %d lacks identifier %d of radius %d", radius, h, radius-1)
			}
		}
		if len(ids) < len(last) {
			t.Errorf("radius %d has %d identifiers, radius %d has %d", radius, len(ids), radius-1, len(last))
		}
		last = ids
	}
}
