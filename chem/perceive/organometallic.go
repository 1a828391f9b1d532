package perceive

import (
	"slices"

	"scimesh.dev/scimesh/chem/mol"
)

// cleanUpOrganometallics turns single bonds from over-bonded non-metals to
// metals into dative bonds toward the metal.
func (p *Perceiver) cleanUpOrganometallics(m *mol.Mol) {
	metal := false
	for i := range m.Atoms {
		metal = metal || mol.IsMetal(m.Atoms[i].Z)
	}
	if !metal {
		return
	}
	if !slices.ContainsFunc(p.order(m), func(i int32) bool {
		return overBonded(&m.Atoms[i]) && len(p.metalsAt(m, i)) > 0
	}) {
		return
	}
	for i := range m.Atoms {
		updateValence(&m.Atoms[i])
	}
	p.ranks.rank(m)
	for _, i := range p.ranks.order {
		if !overBonded(&m.Atoms[i]) {
			continue
		}
		best := mol.Half{Bond: -1}
		for _, h := range p.metalsAt(m, i) {
			if best.Bond < 0 || p.prefersMetal(m, h.Atom, best.Atom) {
				best = h
			}
		}
		if best.Bond < 0 {
			continue
		}
		m.SetType(best.Bond, mol.ZeroOrder)
		m.Bonds[best.Bond].A, m.Bonds[best.Bond].B = i, best.Atom
		m.SetType(best.Bond, mol.Dative)
	}
}

// order lists the atoms by index.
func (p *Perceiver) order(m *mol.Mol) []int32 {
	p.newIndex = grow(p.newIndex, len(m.Atoms))
	for i := range p.newIndex {
		p.newIndex[i] = int32(i)
	}
	return p.newIndex
}

// prefersMetal reports whether metal a should take a dative bond before b: the
// one that has fewer of them, then the one of higher rank.
func (p *Perceiver) prefersMetal(m *mol.Mol, a, b int32) bool {
	if x, y := dativeBonds(m, a), dativeBonds(m, b); x != y {
		return x < y
	}
	return p.ranks.of[a] > p.ranks.of[b]
}

func dativeBonds(m *mol.Mol, a int32) int {
	n := 0
	for _, h := range m.Neighbors(a) {
		if m.Bonds[h.Bond].Type == mol.Dative {
			n++
		}
	}
	return n
}

// metalsAt lists the metals that atom i has single bonds to.
func (p *Perceiver) metalsAt(m *mol.Mol, i int32) []mol.Half {
	p.ranks.halves = p.ranks.halves[:0]
	for _, h := range m.Neighbors(i) {
		if m.Bonds[h.Bond].Type == mol.Single && mol.IsMetal(m.Atoms[h.Atom].Z) {
			p.ranks.halves = append(p.ranks.halves, h)
		}
	}
	return p.ranks.halves
}

// overBonded reports whether a non-metal exceeds the valence of the element with
// as many electrons, or reaches it as an aromatic atom with four neighbours.
func overBonded(a *mol.Atom) bool {
	switch a.Z {
	case 1, 2, 9, 10:
		return false
	}
	z := int(a.Z) - int(a.Charge)
	if mol.IsMetal(a.Z) || z <= 0 || z > mol.MaxAtomicNumber {
		return false
	}
	updateValence(a)
	limit := int32(mol.ElementOf(uint8(z)).MaxValence())
	return limit > 0 && (a.Valence > limit ||
		a.Valence == limit && a.IsAromatic() && int(a.Degree)+a.TotalH() == 4)
}

// ranker orders atoms independently of how they are numbered, by refinement: a
// class splits while its atoms have neighbours of different classes. Atoms that
// stay alike are told apart by index.
type ranker struct {
	of     []int32 // rank by atom
	order  []int32 // atoms by rank
	keys   []uint64
	next   []uint64
	halves []mol.Half
	near   []uint64
}

// rank computes the order of the atoms of m.
func (r *ranker) rank(m *mol.Mol) {
	n := len(m.Atoms)
	r.of, r.keys, r.next = grow(r.of, n), grow(r.keys, n), grow(r.next, n)
	r.order = grow(r.order, n)
	for i := range m.Atoms {
		a := &m.Atoms[i]
		r.order[i] = int32(i)
		r.keys[i] = uint64(a.Degree)<<48 | uint64(a.Z)<<40 | uint64(a.Isotope)<<24 |
			uint64(uint8(a.TotalH()))<<16 | uint64(uint8(a.Charge)+128)<<8
	}
	classes := r.number()
	for {
		for i := range m.Atoms {
			r.near = r.near[:0]
			for _, h := range m.Neighbors(int32(i)) {
				r.near = append(r.near, uint64(m.Bonds[h.Bond].Type)<<32|uint64(r.of[h.Atom]))
			}
			slices.Sort(r.near)
			k := uint64(0)
			for _, x := range r.near {
				k = (k ^ x) * 0x9e3779b97f4a7c15
				k ^= k >> 29
			}
			r.next[i] = uint64(r.of[i])<<40 | k>>24
		}
		copy(r.keys, r.next)
		c := r.number()
		if c == classes {
			break
		}
		classes = c
	}
	for i, a := range r.order {
		r.of[a] = int32(i)
	}
}

// number gives atoms with equal keys equal ranks and counts the classes.
func (r *ranker) number() int {
	slices.SortStableFunc(r.order, func(a, b int32) int {
		if r.keys[a] != r.keys[b] {
			if r.keys[a] < r.keys[b] {
				return -1
			}
			return 1
		}
		return int(a - b)
	})
	classes := 0
	for i, a := range r.order {
		if i == 0 || r.keys[a] != r.keys[r.order[i-1]] {
			classes++
		}
		r.of[a] = int32(classes - 1)
	}
	return classes
}
