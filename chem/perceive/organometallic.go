package perceive

import (
	"cmp"
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

// ranker orders atoms independently of how they are numbered: by what they are,
// then, again and again, by the bonds and classes of their neighbours, highest
// first. Atoms that stay alike are told apart by index.
type ranker struct {
	of      []int32 // rank by atom: how many atoms are in lower classes
	next    []int32
	order   []int32 // atoms by rank
	halves  []mol.Half
	near    []uint64 // neighbours of all atoms, bond type and rank
	offsets []int32
}

// rank computes the order of the atoms of m.
func (r *ranker) rank(m *mol.Mol) {
	n := len(m.Atoms)
	r.of, r.next, r.order, r.offsets = growClear(r.of, n), grow(r.next, n), grow(r.order, n), grow(r.offsets, n+1)
	sum := int32(0)
	for i := range m.Atoms {
		r.order[i], r.offsets[i] = int32(i), sum
		sum += m.Atoms[i].Degree
	}
	r.offsets[n] = sum
	r.near = grow(r.near, int(sum))
	classes := r.split(func(a, b int32) int { return compareAtoms(&m.Atoms[a], &m.Atoms[b]) })
	for {
		for i := range m.Atoms {
			near := r.neighbors(int32(i))
			for k, h := range m.Neighbors(int32(i)) {
				near[k] = ^(uint64(m.Bonds[h.Bond].Type)<<32 | uint64(r.of[h.Atom])) // sorts descending
			}
			slices.Sort(near)
		}
		refined := r.split(func(a, b int32) int { return slices.Compare(r.neighbors(b), r.neighbors(a)) })
		if refined == classes {
			break
		}
		classes = refined
	}
	for i, a := range r.order {
		r.of[a] = int32(i)
	}
}

func (r *ranker) neighbors(a int32) []uint64 { return r.near[r.offsets[a]:r.offsets[a+1]] }

// compareAtoms orders atoms by what they are.
func compareAtoms(a, b *mol.Atom) int {
	return cmp.Or(
		cmp.Compare(a.Map, b.Map), cmp.Compare(a.Degree, b.Degree), cmp.Compare(a.Z, b.Z),
		cmp.Compare(a.Isotope, b.Isotope), cmp.Compare(a.TotalH(), b.TotalH()),
		cmp.Compare(uint8(a.Charge), uint8(b.Charge)), // anions rank above cations
		cmp.Compare(min(a.Chirality, 1), min(b.Chirality, 1)))
}

// split sorts the atoms of each class and splits it where they differ. It
// returns the number of classes.
func (r *ranker) split(compare func(a, b int32) int) int {
	slices.SortStableFunc(r.order, func(a, b int32) int {
		if d := r.of[a] - r.of[b]; d != 0 {
			return int(d)
		}
		if c := compare(a, b); c != 0 {
			return c
		}
		return int(a - b)
	})
	classes, start := 0, int32(0)
	for i, a := range r.order {
		if i == 0 || r.of[a] != r.of[r.order[i-1]] || compare(a, r.order[i-1]) != 0 {
			classes++
			start = int32(i)
		}
		r.next[a] = start
	}
	copy(r.of, r.next)
	return classes
}
