package perceive

import (
	"fmt"

	"scimesh.dev/scimesh/chem/mol"
)

// Perceiver runs the perception steps on one molecule after another. It must not
// be used by two goroutines at once. The zero value is ready.
type Perceiver struct {
	// Limit bounds the work spent on the rings of one molecule, in steps of a few
	// nanoseconds; a molecule that needs more is refused with StepWorkLimit. Zero
	// means DefaultLimit.
	Limit int64

	gone         []bool
	newIndex     []int32
	hypervalentN []int32
	adjust       []bool // atoms that were written aromatic
	total        []int32

	blocks blockFinder
	cycles cycleFinder
	kekule kekulizer
	arom   aromatizer
	ranks  ranker
	quick  quick

	// general turns the quick path off, for tests that compare the two.
	general bool
}

// DefaultLimit is about a second of work.
const DefaultLimit = 1 << 27

// maxNeighbors bounds the neighbours of an atom; with more, work would grow with
// their square.
const maxNeighbors = 1000

func (p *Perceiver) limit() int64 {
	if p.Limit > 0 {
		return p.Limit
	}
	return DefaultLimit
}

// Sanitize perceives a molecule from which hydrogens have been removed. Of the
// result, hydrogen counts, bond types and the ring flags of atoms are meant to be
// read. On error the contents of m are unspecified; the error is an *Error.
func (p *Perceiver) Sanitize(m *mol.Mol) error {
	if !p.general && p.quick.run(m, &p.cycles) {
		return nil
	}
	if err := p.Perceive(m); err != nil {
		return err
	}
	return p.AdjustHydrogens(m)
}

// Perceive is Sanitize without its last step. Hybridization and conjugation, which
// package stereo needs, refer to the valences at this point.
func (p *Perceiver) Perceive(m *mol.Mol) error {
	for i := range m.Atoms {
		if m.Atoms[i].Degree > maxNeighbors {
			return &Error{Step: StepWorkLimit, Atoms: []int{i}, Message: fmt.Sprintf("more than %d neighbours", maxNeighbors)}
		}
	}
	p.cleanUp(m)
	p.cleanUpOrganometallics(m)
	if err := valence(m); err != nil {
		return err
	}
	p.blocks.find(m)
	if err := p.kekulize(m); err != nil {
		return err
	}
	radicals(m)
	return p.aromaticity(m)
}

// Rings returns the relevant cycles of the molecule that was perceived last.
func (p *Perceiver) Rings(m *mol.Mol) (RingSet, error) {
	p.cycles.reset(p.limit())
	for i := range p.blocks.count() {
		if !p.cycles.add(m, p.blocks.block(i)) {
			return RingSet{}, limitError()
		}
	}
	return RingSet{&p.cycles}, nil
}

// RingSet is a list of rings. It is valid until the next use of its Perceiver.
type RingSet struct{ c *cycleFinder }

// Len is the number of rings.
func (r RingSet) Len() int { return len(r.c.rings) }

// Bonds lists the bonds of ring i.
func (r RingSet) Bonds(i int) []int32 { return r.c.ringBonds(r.c.rings[i]) }

// Atoms lists the atoms of ring i in order around it.
func (r RingSet) Atoms(i int) []int32 { return r.c.ringAtoms(r.c.rings[i]) }

// AvailableElectrons is how many electrons atom i can give to conjugation, -1 if
// it cannot take part.
func AvailableElectrons(m *mol.Mol, i int32) int { return availableElectrons(m, i) }

// UpdateValence recomputes the valences of an atom and refuses nothing.
func UpdateValence(a *mol.Atom) { updateValence(a) }

// grow returns s with length n; the contents are unspecified.
func grow[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n, n+n/2+16)
	}
	return s[:n]
}

// growClear returns s with length n, all zero.
func growClear[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n, n+n/2+16)
	}
	s = s[:n]
	clear(s)
	return s
}
