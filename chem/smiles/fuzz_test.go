package smiles

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"scimesh.dev/scimesh/chem/mol"
)

// FuzzRead looks for strings that make the reader panic, place an error outside
// the string or make a graph whose parts do not fit together.
func FuzzRead(f *testing.F) {
	for _, s := range []string{"", "CC(=O)Oc1ccccc1C(=O)O name", "C%12CC%(12)", "[13C@@H](F)(Cl)[35Br]", "[Fe]<-1NCCN->1", "F/C=C\\F",
		"CC |C:0.0,^1:1,H:0.0|", "C |$R1;$,Sg:n:0:1:ht|", "C(C.C)C", "[#256]", "['Rf']", "[Pt@SP1](F)(Cl)(Br)I", "C%(100000)", "\x80C\n"} {
		f.Add([]byte(s))
	}
	var r Reader
	var m, again mol.Mol
	f.Fuzz(func(t *testing.T, s []byte) {
		kept := slices.Clone(s)
		err := r.Read(&m, s)
		if !slices.Equal(s, kept) {
			t.Fatal("the string was written to")
		}
		if err != nil {
			var syntax *SyntaxError
			if !errors.As(err, &syntax) || syntax.Offset < 0 || syntax.Offset > len(s) {
				t.Fatalf("error %v", err)
			}
			if lines := strings.Split(syntax.Caret(), "\n"); len(lines) != 2 {
				t.Fatalf("caret on %d lines", len(lines))
			}
			return
		}
		checkGraph(t, &m)
		if err := r.Read(&again, s); err != nil || !slices.Equal(m.Atoms, again.Atoms) || !slices.Equal(m.Bonds, again.Bonds) {
			t.Fatalf("another molecule the second time, error %v", err)
		}
	})
}

func checkGraph(t *testing.T, m *mol.Mol) {
	degrees := make([]int32, len(m.Atoms))
	for i, b := range m.Bonds {
		if b.A == b.B || min(b.A, b.B) < 0 || int(max(b.A, b.B)) >= len(m.Atoms) {
			t.Fatalf("bond %d joins atoms %d and %d of %d", i, b.A, b.B, len(m.Atoms))
		}
		degrees[b.A]++
		degrees[b.B]++
	}
	for i := range m.Atoms {
		near := m.Neighbors(int32(i))
		if int(degrees[i]) != len(near) || m.Atoms[i].Degree != degrees[i] {
			t.Fatalf("atom %d has %d bonds, degree %d and %d neighbours", i, degrees[i], m.Atoms[i].Degree, len(near))
		}
		for k, h := range near {
			if m.Bonds[h.Bond].Other(int32(i)) != h.Atom || k > 0 && near[k-1].Bond >= h.Bond {
				t.Fatalf("neighbours of atom %d: %v", i, near)
			}
		}
	}
}
