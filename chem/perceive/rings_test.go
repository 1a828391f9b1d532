package perceive

import (
	"errors"
	"slices"
	"testing"

	"scimesh.dev/scimesh/chem/mol"
	"scimesh.dev/scimesh/chem/smiles"
)

func read(t testing.TB, s string) *mol.Mol {
	t.Helper()
	var r smiles.Reader
	m := new(mol.Mol)
	if err := r.Read(m, []byte(s)); err != nil {
		t.Fatal(err)
	}
	return m
}

// buckminsterfullerene, from the literature on SMILES.
const buckminsterfullerene = "c12c3c4c5c1c6c7c8c2c9c1c3c2c3c4c4c%10c5c5c6c6c7c7c%11c8c9c8c9c1c2c1c2c3c4c3c4c%10c5c5c6c6c7c7c%11c8c8c9c1c1c2c3c2c4c5c6c3c7c8c1c23"

func TestRelevantCycles(t *testing.T) {
	for _, tc := range []struct {
		name, smiles string
		sizes        map[int]int
	}{
		{"chain", "CCCC", map[int]int{}},
		{"cyclohexane", "C1CCCCC1", map[int]int{6: 1}},
		{"spiro", "C1CC12CCC2", map[int]int{3: 1, 4: 1}},
		{"naphthalene", "c1ccc2ccccc2c1", map[int]int{6: 2}},
		{"norbornane", "C1CC2CCC1C2", map[int]int{5: 2}},
		{"bicyclo[2.2.2]octane", "C1CC2CCC1CC2", map[int]int{6: 3}},
		{"tetrahedrane", "C12C3C1C23", map[int]int{3: 4}},
		{"prismane", "C12C3C1C1C2C31", map[int]int{3: 2, 4: 3}},
		{"cubane", "C12C3C4C1C5C2C3C45", map[int]int{4: 6}},
		{"adamantane", "C1C2CC3CC1CC(C2)C3", map[int]int{6: 4}},
		{"pyrene", "c1cc2cccc3ccc4cccc1c4c23", map[int]int{6: 4}},
		{"dodecahedrane", "C12C3C4C5C1C6C7C2C8C3C9C4C1C5C6C2C7C8C9C12", map[int]int{5: 12}},
		{"buckminsterfullerene", buckminsterfullerene, map[int]int{5: 12, 6: 20}},
		// Any two of the four equal bridges make a ring.
		{"[2.2.2.2]paddlane", "C1CC23CCC1(CC2)CC3", map[int]int{6: 6}},
	} {
		m := read(t, tc.smiles)
		var p Perceiver
		p.blocks.find(m)
		rings, err := p.Rings(m)
		if err != nil {
			t.Fatal(err)
		}
		sizes := map[int]int{}
		for i := range rings.Len() {
			sizes[len(rings.Bonds(i))]++
			checkRing(t, tc.name, m, rings, i)
		}
		if len(sizes) != len(tc.sizes) {
			t.Errorf("%s: ring sizes %v, want %v", tc.name, sizes, tc.sizes)
		}
		for s, n := range tc.sizes {
			if sizes[s] != n {
				t.Errorf("%s: ring sizes %v, want %v", tc.name, sizes, tc.sizes)
			}
		}
	}
}

// checkRing checks that a ring starts at its lowest atom, goes on to the lower
// neighbour and closes.
func checkRing(t *testing.T, name string, m *mol.Mol, rings RingSet, i int) {
	atoms, bonds := rings.Atoms(i), rings.Bonds(i)
	if slices.Min(atoms) != atoms[0] || atoms[1] > atoms[len(atoms)-1] {
		t.Errorf("%s: ring %v does not begin as described", name, atoms)
	}
	for k, a := range atoms {
		if b := m.Between(a, atoms[(k+1)%len(atoms)]); b != bonds[k] {
			t.Errorf("%s: bond %d of ring %v is %d, want %d", name, k, atoms, bonds[k], b)
		}
	}
}

func TestWorkLimit(t *testing.T) {
	m := read(t, buckminsterfullerene)
	p := Perceiver{Limit: 1000}
	err := p.Sanitize(m)
	if e, ok := errors.AsType[*Error](err); !ok || e.Step != StepWorkLimit {
		t.Errorf("got %v, want a refusal by the work limit", err)
	}
}
