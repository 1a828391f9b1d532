package stereo

import (
	"cmp"
	"slices"

	"scimesh.dev/scimesh/chem/mol"
)

// orienter turns tetrahedral marks, which as written refer to the neighbours in
// the order of the string, so that they refer to the order of bond indexes.
type orienter struct {
	starts []int32 // ring digits by atom
	digits []int32 // their bonds
	order  []int32 // bonds of one atom as written
	chain  []mol.Half
}

// orient treats the molecule as read, hydrogen atoms included.
func (o *orienter) orient(m *mol.Mol) {
	marked := false
	for i := range m.Atoms {
		marked = marked || m.Atoms[i].Chirality != mol.NoChirality
	}
	if !marked {
		return
	}
	o.index(m)
	for i := range m.Atoms {
		a := &m.Atoms[i]
		if !a.Chirality.IsTetrahedral() {
			continue
		}
		odd := o.written(m, int32(i))
		if needsTurn(m, int32(i), int(o.starts[i+1]-o.starts[i])) {
			odd = !odd
		}
		if odd {
			a.Chirality = a.Chirality.Invert()
		}
	}
}

// index groups the ring digits by atom.
func (o *orienter) index(m *mol.Mol) {
	o.starts = append(o.starts[:0], make([]int32, len(m.Atoms)+2)...)
	for _, d := range m.RingDigits {
		o.starts[d.Atom+2]++
	}
	for i := 2; i < len(o.starts); i++ {
		o.starts[i] += o.starts[i-1]
	}
	o.digits = append(o.digits[:0], make([]int32, len(m.RingDigits))...)
	for _, d := range m.RingDigits {
		o.digits[o.starts[d.Atom+1]] = d.Bond
		o.starts[d.Atom+1]++
	}
}

// written reports whether the bonds of atom i as written, the atom before it,
// then ring digits, then branches, are an odd permutation of their indexes.
func (o *orienter) written(m *mol.Mol, i int32) bool {
	digits := o.digits[o.starts[i]:o.starts[i+1]]
	o.chain = o.chain[:0]
	for _, h := range m.Neighbors(i) {
		if !slices.Contains(digits, h.Bond) {
			o.chain = append(o.chain, h)
		}
	}
	slices.SortFunc(o.chain, func(a, b mol.Half) int { return int(a.Atom - b.Atom) })
	o.order = o.order[:0]
	k := 0
	for ; k < len(o.chain) && o.chain[k].Atom < i; k++ {
		o.order = append(o.order, o.chain[k].Bond)
	}
	o.order = append(o.order, digits...)
	for ; k < len(o.chain); k++ {
		o.order = append(o.order, o.chain[k].Bond)
	}
	return oddInversions(o.order)
}

// oddInversions reports whether sorting s takes an odd number of swaps.
func oddInversions[T cmp.Ordered](s []T) bool {
	n := 0
	for i := range s {
		for j := range i {
			if s[j] > s[i] {
				n++
			}
		}
	}
	return n%2 == 1
}

// needsTurn reports the atoms of three neighbours whose missing fourth one
// stands elsewhere in the string than it is stored: those that begin a component
// with their hydrogen, and those without a hydrogen that have one ring digit and
// only single bonds.
func needsTurn(m *mol.Mol, i int32, digits int) bool {
	a := &m.Atoms[i]
	if a.Degree != 3 {
		return false
	}
	if a.Flags&mol.Start != 0 && a.ExplicitH == 1 {
		return true
	}
	if a.ExplicitH == 1 || digits != 1 {
		return false
	}
	for _, h := range m.Neighbors(i) {
		if m.Bonds[h.Bond].Type.Twice() > 2 {
			return false
		}
	}
	return true
}
