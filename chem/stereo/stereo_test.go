package stereo

import (
	"slices"
	"testing"

	"scimesh.dev/scimesh/chem/mol"
	"scimesh.dev/scimesh/chem/perceive"
	"scimesh.dev/scimesh/chem/smiles"
)

func structure(t *testing.T, s string) *Structure {
	t.Helper()
	var r smiles.Reader
	var p perceive.Perceiver
	st := new(Structure)
	if err := st.Read(&r, &p, []byte(s)); err != nil {
		t.Fatalf("%s: %v", s, err)
	}
	return st
}

// marks counts the tetrahedral marks and the configured double bonds that are left.
func marks(st *Structure) (centers, bonds int) {
	for i := range st.Mol.Atoms {
		if st.Mol.Atoms[i].Chirality != mol.NoChirality {
			centers++
		}
	}
	for _, c := range st.Cis {
		if c.Set {
			bonds++
		}
	}
	return centers, bonds
}

func TestMarksThatMeanSomethingStay(t *testing.T) {
	for _, tc := range []struct {
		name, smiles   string
		centers, bonds int
	}{
		{"alanine", "C[C@H](N)C(=O)O", 1, 0},
		{"two equal neighbours", "C[C@H](C)N", 0, 0},
		{"isotopes make the difference", "C[C@H]([13CH3])N", 1, 0},
		{"flat atom", "C[C@](=O)N", 0, 0},
		{"sulfoxide", "C[S@](=O)CC", 1, 0},
		{"amine that inverts", "C[N@](CC)O", 0, 0},
		{"aziridine nitrogen", "C[N@]1CC1C", 1, 0},
		{"phosphine", "C[P@](CC)O", 1, 0},
		{"1,4-dimethylcyclohexane", "C[C@H]1CC[C@H](C)CC1", 2, 0},
		{"methylcyclohexane", "C[C@H]1CCCCC1", 0, 0},
		{"centre between centres that differ", "C[C@H](O)[C@H](O)[C@H](O)C", 3, 0},
		{"centre between centres that are alike", "C[C@H](O)[C@H](O)[C@@H](O)C", 2, 0},
		{"trans double bond", "C/C=C/C", 0, 1},
		{"one end alike", "C/C=C(C)/C", 0, 0},
		{"one direction alone", "C/C=CC", 0, 0},
		{"small ring", "C1CC/C=C/C1", 0, 0},
		{"ring of eight", "C1CCC/C=C/CC1", 0, 1},
		{"directions that conflict", `C/C(\F)=C/C`, 0, 0},
		{"imine with its hydrogen", "[H]/N=C(/C)CC", 0, 1},
	} {
		if c, b := marks(structure(t, tc.smiles)); c != tc.centers || b != tc.bonds {
			t.Errorf("%s (%s): %d centres and %d double bonds, want %d and %d", tc.name, tc.smiles, c, b, tc.centers, tc.bonds)
		}
	}
}

func TestSame(t *testing.T) {
	var x Matcher
	for _, tc := range []struct {
		name, a, b string
		want       bool
	}{
		{"order of atoms", "OCC", "CCO", true},
		{"order of components", "[Na+].OC=O", "C(=O)O.[Na+]", true},
		{"enantiomers", "C[C@H](N)O", "C[C@@H](N)O", false},
		{"a mark and none", "C[C@H](N)O", "CC(N)O", false},
		{"a meaningless mark and none", "C[C@H](C)O", "CC(C)O", true},
		{"cis and trans", "F/C=C/F", `F/C=C\F`, false},
		{"the other way to write trans", "F/C=C/F", `F\C=C\F`, true},
		{"meso form from both ends", "C[C@H](O)[C@H](O)C", "C[C@@H](O)[C@@H](O)C", true},
		{"meso and chiral", "C[C@H](O)[C@@H](O)C", "C[C@H](O)[C@H](O)C", false},
		{"cis and trans in a ring", "C[C@H]1CC[C@H](C)CC1", "C[C@H]1CC[C@@H](C)CC1", false},
		{"ring closures at the centre", "[C@@H]1(F)CCO1", "F[C@@H]1CCO1", true},
		{"a component is enantiomeric", "C[C@H](N)O.C[C@H](N)O", "C[C@H](N)O.C[C@@H](N)O", false},
		{"components swapped", "C[C@H](N)O.C[C@@H](N)O", "C[C@@H](N)O.C[C@H](N)O", true},
		{"rings of another size", "C1CCCCC1.C1CC1", "C1CCCC1.C1CCC1", false},
		{"decalin and bicyclopentyl", "C1CCC2CCCCC2C1", "C1CCC(C1)C1CCCC1", false},
	} {
		a, b := structure(t, tc.a), structure(t, tc.b)
		for _, pair := range [][2]*Structure{{a, b}, {b, a}} {
			if got, err := x.Same(pair[0], pair[1]); err != nil || got != tc.want {
				t.Errorf("%s (%s, %s): %v, error %v, want %v", tc.name, tc.a, tc.b, got, err, tc.want)
			}
		}
	}
}

// TestSameOfAlikeArms compares trees of which some of the 16 arms are unlike the
// others by a mark far from the root: nothing but the marks tells which.
func TestSameOfAlikeArms(t *testing.T) {
	var x Matcher
	for _, arms := range [][2]string{{`/C=C/F`, `/C=C\F`}, {"[C@H](O)N", "[C@@H](O)N"}} {
		tree := func(odd ...int) *Structure {
			var parts []string
			for i := range 16 {
				arm := arms[0]
				if slices.Contains(odd, i) {
					arm = arms[1]
				}
				parts = append(parts, "c%90ccc(cc%90)"+arm)
			}
			for len(parts) > 1 { // branch by branch
				var next []string
				for i := 0; i < len(parts); i += 2 {
					next = append(next, "OB(O"+parts[i]+")O"+parts[i+1])
				}
				parts = next
			}
			return structure(t, "C"+parts[0])
		}
		for _, tc := range []struct {
			a, b []int
			want bool
		}{
			{nil, nil, true},
			{[]int{0}, []int{15}, true},
			{[]int{0}, nil, false},
			{[]int{0, 1}, []int{14, 15}, true},
			{[]int{0, 1}, []int{0, 2}, false},
			{[]int{0, 15}, []int{1, 8}, true},
			{[]int{0, 3, 9}, []int{13, 14, 6}, true},
		} {
			got, err := x.Same(tree(tc.a...), tree(tc.b...))
			if err != nil || got != tc.want {
				t.Errorf("%q at %v and at %v: %v, error %v, want %v", arms[1], tc.a, tc.b, got, err, tc.want)
			}
			if x.steps > 10_000 {
				t.Errorf("%q at %v and at %v: %d steps", arms[1], tc.a, tc.b, x.steps)
			}
		}
	}
}
