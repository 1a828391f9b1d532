package perceive

import "scimesh.dev/scimesh/chem/mol"

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
}

// DefaultLimit is a few seconds of work.
const DefaultLimit = 1 << 30

func (p *Perceiver) limit() int64 {
	if p.Limit > 0 {
		return p.Limit
	}
	return DefaultLimit
}

// Sanitize perceives a molecule from which hydrogens have been removed. On error
// the contents of m are unspecified; the error is an *Error.
func (p *Perceiver) Sanitize(m *mol.Mol) error {
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
	if err := p.aromaticity(m); err != nil {
		return err
	}
	return p.adjustHydrogens(m)
}

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
