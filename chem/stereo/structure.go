package stereo

import (
	"scimesh.dev/scimesh/chem/mol"
	"scimesh.dev/scimesh/chem/perceive"
	"scimesh.dev/scimesh/chem/smiles"
)

// Structure is a molecule with its stereochemistry. It is scratch memory like a
// mol.Mol: Read replaces the contents.
type Structure struct {
	Mol mol.Mol
	// Cis holds, by bond, the configuration of double bonds that have one.
	Cis []Configuration

	orient   orienter
	sp3      []bool
	conj     []bool // by bond
	ranks    []int32
	label    []label
	smallest []int32 // size of the smallest ring of each bond, 0 for none
	inThree  []bool  // atoms in a ring of three
	rank     cipRanker
	special  ringStereo
	legal    []bool // by atom: a centre if its neighbours differ
	clear    []int32
	near     []rankedBond
}

// Configuration of a double bond: Begin and End are neighbours of its atoms A
// and B on the same side of it (Together) or on opposite sides.
type Configuration struct {
	Set        bool
	Together   bool
	Begin, End int32
}

// label is the CIP-like name of a centre.
type label uint8

const (
	unlabelled label = iota
	labelS
	labelR
)

// Read perceives the molecule that s spells. Errors are those of smiles.Reader
// and perceive.Perceiver.
func (st *Structure) Read(r *smiles.Reader, p *perceive.Perceiver, s []byte) error {
	m := &st.Mol
	if err := r.Read(m, s); err != nil {
		return err
	}
	st.orient.orient(m)
	p.RemoveHydrogens(m)
	if err := p.Perceive(m); err != nil {
		return err
	}
	st.hybridize(m)
	st.dropFlatMarks(m)
	if err := p.AdjustHydrogens(m); err != nil {
		return err
	}
	return st.assign(p)
}

// dropFlatMarks removes the marks of atoms whose coordination does not fit them.
func (st *Structure) dropFlatMarks(m *mol.Mol) {
	for i := range m.Atoms {
		a := &m.Atoms[i]
		most := 0
		switch a.Chirality {
		case mol.CounterClockwise, mol.Clockwise:
			if !st.sp3[i] {
				a.Chirality = mol.NoChirality
			}
			continue
		case mol.SquarePlanar:
			most = 4
		case mol.TrigonalBipyramidal:
			most = 5
		case mol.Octahedral:
			most = 6
		default:
			continue
		}
		if d := int(a.Degree) + a.TotalH(); d < 2 || d > most {
			a.Chirality, a.Perm = mol.NoChirality, 0
		}
	}
}
