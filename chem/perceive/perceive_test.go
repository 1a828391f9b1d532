package perceive

import (
	"errors"
	"slices"
	"testing"

	"scimesh.dev/scimesh/chem/mol"
	"scimesh.dev/scimesh/chem/smiles"
)

// bothPaths calls f with a perceiver that may take the quick path and with one
// that may not.
func bothPaths(t *testing.T, f func(t *testing.T, p *Perceiver)) {
	t.Run("quick", func(t *testing.T) { f(t, &Perceiver{}) })
	t.Run("general", func(t *testing.T) { f(t, &Perceiver{general: true}) })
}

// countAromatic counts the aromatic bonds of a perceived molecule.
func countAromatic(m *mol.Mol) int {
	n := 0
	for i := range m.Bonds {
		if m.Bonds[i].Type == mol.AromaticType {
			n++
		}
	}
	return n
}

func TestAromaticity(t *testing.T) {
	bothPaths(t, func(t *testing.T, p *Perceiver) {
		for _, tc := range []struct {
			name, smiles string
			bonds        int // aromatic ones
		}{
			{"benzene from a Kekulé form", "C1=CC=CC=C1", 6},
			{"pyridine", "C1=CC=NC=C1", 6},
			{"pyrrole", "N1C=CC=C1", 5},
			{"furan", "O1C=CC=C1", 5},
			{"thiophene", "S1C=CC=C1", 5},
			{"imidazole", "N1C=NC=C1", 5},
			{"tropylium", "C1=CC=C[CH+]C=C1", 7},
			{"cyclopropenyl cation", "C1=C[CH+]1", 3},
			{"cyclopentadienyl anion", "[CH-]1C=CC=C1", 5},
			{"2-pyridone", "O=C1C=CC=CN1", 6},
			{"naphthalene", "C1=CC=C2C=CC=CC2=C1", 11},
			{"azulene: the perimeter alone", "C1=CC=C2C=CC=C2C=C1", 10},
			{"biphenyl: not the bond between", "c1ccccc1c1ccccc1", 12},
			{"cyclooctatetraene", "C1=CC=CC=CC=C1", 0},
			{"pentalene", "C1=CC2=CC=CC2=C1", 0},
			{"1,4-benzoquinone", "O=C1C=CC(=O)C=C1", 0},
			{"cyclopentadiene", "C1C=CC=C1", 0},
			{"a macrocyclic ether", "O1C=CC=CC=CC=CC=CC=C1", 0},
			{"fluorene: not the middle ring", "C1C2=CC=CC=C2C2=CC=CC=C12", 12},
			{"carbazole", "N1C2=CC=CC=C2C2=CC=CC=C12", 15},
		} {
			m := read(t, tc.smiles)
			if err := p.Sanitize(m); err != nil {
				t.Errorf("%s: %v", tc.name, err)
			} else if n := countAromatic(m); n != tc.bonds {
				t.Errorf("%s: %d aromatic bonds, want %d", tc.name, n, tc.bonds)
			}
		}
	})
}

func TestHydrogenCounts(t *testing.T) {
	bothPaths(t, func(t *testing.T, p *Perceiver) {
		for smiles, want := range map[string][]int{
			"C":               {4},
			"CN":              {3, 2},
			"C=C":             {2, 2},
			"C#N":             {1, 0},
			"CS(=O)(=O)C":     {3, 0, 0, 0, 3},
			"OP(=O)(O)O":      {1, 0, 0, 1, 1},
			"[CH2]C":          {2, 3},
			"[NH4+]":          {4},
			"[H]O[H]":         {2},
			"[H][H]":          {0, 0},
			"[2H]O":           {0, 1},
			"N1C=CC=C1":       {1, 1, 1, 1, 1},
			"c1cc[nH]c1":      {1, 1, 1, 1, 1},
			"CI(C)C":          {3, 0, 3, 3},
			"C[B-](C)(C)C":    {3, 0, 3, 3, 3},
			"Cn1cccc1":        {3, 0, 1, 1, 1, 1},
			"[O-][n+]1ccccc1": {0, 0, 1, 1, 1, 1, 1},
		} {
			m := read(t, smiles)
			p.RemoveHydrogens(m)
			if err := p.Sanitize(m); err != nil {
				t.Errorf("%s: %v", smiles, err)
				continue
			}
			var got []int
			for i := range m.Atoms {
				got = append(got, m.Atoms[i].TotalH())
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s: hydrogens %v, want %v", smiles, got, want)
			}
		}
	})
}

func TestRefusals(t *testing.T) {
	bothPaths(t, func(t *testing.T, p *Perceiver) {
		for _, tc := range []struct {
			smiles string
			step   Step
			atom   int
		}{
			{"CC(C)(C)(C)C", StepValence, 1},
			{"CN(C)(C)C", StepValence, 1},
			{"C[O](C)C", StepValence, 1},
			{"CF(C)", StepValence, 1},
			{"FS(F)(F)(F)(F)(F)F", StepValence, 1},
			{"[C+](C)(C)(C)(C)C", StepValence, 0},
			{"[CH4-]", StepValence, 0},
			{"c1cccc1", StepKekule, 0},
			{"n1cccc1", StepKekule, 0},
			{"cC", StepAromaticChain, 0},
			{"C1CC1c", StepAromaticChain, 3},
		} {
			m := read(t, tc.smiles)
			err := p.Sanitize(m)
			e, ok := errors.AsType[*Error](err)
			if !ok || e.Step != tc.step || !slices.Contains(e.Atoms, tc.atom) {
				t.Errorf("%s: error %v, want one of step %q with atom %d", tc.smiles, err, tc.step, tc.atom)
			}
		}
	})
}

func TestCleanUp(t *testing.T) {
	for smiles, want := range map[string][]int8{
		"CN(=O)=O":       {0, 1, -1, 0},
		"C=[N]=[N]":      {0, 0, 0},
		"CN=N#N":         {0, 0, 1, -1},
		"OCl(=O)(=O)=O":  {0, 3, -1, -1, -1},
		"C[P](=O)=CC":    {0, 1, -1, 0, 0},
		"CP(C)(C)=O":     {0, 0, 0, 0, 0},
		"c1ccccn1(=O)":   {0, 0, 0, 0, 0, 1, -1},
		"CS(=O)(=O)C":    {0, 0, 0, 0, 0},
		"C[Cl+](C)":      {0, 1, 0},
		"[O-][N+](=O)CC": {-1, 1, 0, 0, 0},
	} {
		var p Perceiver
		m := read(t, smiles)
		p.cleanUp(m)
		var got []int8
		for i := range m.Atoms {
			got = append(got, m.Atoms[i].Charge)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: charges %v, want %v", smiles, got, want)
		}
	}
}

func TestMetalBondsBecomeDative(t *testing.T) {
	m := read(t, "CC(C)=[O][Fe]")
	var p Perceiver
	if err := p.Sanitize(m); err != nil {
		t.Fatal(err)
	}
	b := m.Bonds[m.Between(3, 4)]
	if b.Type != mol.Dative || b.A != 3 || b.B != 4 {
		t.Errorf("the bond from oxygen to iron is %+v, want it dative toward the iron", b)
	}
}

func TestDefiningHydrogensStay(t *testing.T) {
	for s, atoms := range map[string]int{
		"[H]/N=C(/C)C": 5, "[H]N=C(C)C": 4, "[2H]C": 2, "[H]*": 2, "[H-]C": 2, "[H+]": 1, "C[H]C": 3, "[H]C([H])([H])[H]": 1,
		"[H][Pt@SP1](F)(Cl)Br": 5,
	} {
		var r smiles.Reader
		m := new(mol.Mol)
		if err := r.Read(m, []byte(s)); err != nil {
			t.Fatal(err)
		}
		var p Perceiver
		p.RemoveHydrogens(m)
		if len(m.Atoms) != atoms {
			t.Errorf("%s: %d atoms are left, want %d", s, len(m.Atoms), atoms)
		}
	}
}
