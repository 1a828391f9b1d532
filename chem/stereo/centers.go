package stereo

import (
	"slices"

	"scimesh.dev/scimesh/chem/mol"
	"scimesh.dev/scimesh/chem/perceive"
)

// rankedBond is a bond of a centre with the rank of the neighbour it leads to.
type rankedBond struct {
	rank, bond int32
}

// assign finds the stereochemistry that means something and drops the rest.
func (st *Structure) assign(p *perceive.Perceiver) error {
	m := &st.Mol
	st.Cis = reset(st.Cis, len(m.Bonds))
	st.label = reset(st.label, len(m.Atoms))
	marked, directed := false, false
	for i := range m.Atoms {
		marked = marked || m.Atoms[i].Chirality != mol.NoChirality
	}
	for i := range m.Bonds {
		directed = directed || m.Bonds[i].Direction != mol.NoDirection
	}
	if !marked && !directed {
		return nil
	}
	rings, err := p.Rings(m)
	if err != nil {
		return err
	}
	st.surveyRings(rings)
	st.legal = reset(st.legal, len(m.Atoms))
	for i := range m.Atoms {
		st.legal[i] = st.legalCenter(int32(i), rings)
	}
	st.ranks = reset(st.ranks, len(m.Atoms))
	st.rank.iterate(m, st.ranks, st.rank.invariants(m), false)
	for {
		openAtoms, newAtoms := st.labelCenters()
		openBonds, newBonds := st.labelBonds()
		if !openAtoms && !openBonds || !newAtoms && !newBonds {
			break
		}
		st.rerank()
	}
	st.special.find(st, rings)
	st.dropMeaningless()
	return nil
}

// surveyRings finds the smallest ring of each bond and the atoms in rings of three.
func (st *Structure) surveyRings(rings perceive.RingSet) {
	m := &st.Mol
	st.smallest = reset(st.smallest, len(m.Bonds))
	st.inThree = reset(st.inThree, len(m.Atoms))
	for i := range rings.Len() {
		bonds := rings.Bonds(i)
		size := int32(len(bonds))
		for _, b := range bonds {
			if st.smallest[b] == 0 || size < st.smallest[b] {
				st.smallest[b] = size
			}
			if size == 3 {
				st.inThree[m.Bonds[b].A], st.inThree[m.Bonds[b].B] = true, true
			}
		}
	}
}

// affects reports whether bond b counts at its atom i as a stereo neighbour.
func affects(b *mol.Bond, i int32) bool {
	return b.Type != mol.Unspecified && b.Type != mol.ZeroOrder && (b.Type != mol.Dative || b.A != i)
}

// legalCenter reports whether atom i is a centre if its neighbours differ.
func (st *Structure) legalCenter(i int32, rings perceive.RingSet) bool {
	m := &st.Mol
	a := &m.Atoms[i]
	degree, hydrogenAtom := 0, false
	for _, h := range m.Neighbors(i) {
		if affects(&m.Bonds[h.Bond], i) {
			degree++
		}
		n := &m.Atoms[h.Atom]
		hydrogenAtom = hydrogenAtom || n.Z == 1 && n.Isotope == 0
	}
	switch total := degree + a.TotalH(); {
	case total < 3 || total > 4:
		return false
	case degree < 3:
		return a.Z == 15 || a.Z == 33
	case degree == 4:
		return true
	case a.TotalH() == 1:
		return !hydrogenAtom
	}
	switch a.Z {
	case 7:
		return st.sp3[i] && !st.conjugated(m, i) && (st.inThree[i] || bridgehead(m, i, rings))
	case 15, 33:
		return true
	case 16, 34:
		return a.Valence == 4 || a.Valence == 3 && a.Charge == 1
	}
	return false
}

// bridgehead reports whether atom i has three ring bonds and each of its rings
// shares two bonds with another one of them.
func bridgehead(m *mol.Mol, i int32, rings perceive.RingSet) bool {
	n := 0
	for _, h := range m.Neighbors(i) {
		if m.Bonds[h.Bond].Flags&mol.InRing != 0 {
			n++
		}
	}
	if n < 3 {
		return false
	}
	overlapping := make([]bool, rings.Len())
	for x := range rings.Len() {
		if !slices.Contains(rings.Atoms(x), i) {
			continue
		}
		for y := x + 1; y < rings.Len(); y++ {
			if slices.Contains(rings.Atoms(y), i) && shared(rings.Bonds(x), rings.Bonds(y)) >= 2 {
				overlapping[x], overlapping[y] = true, true
				break
			}
		}
		if !overlapping[x] {
			return false
		}
	}
	return true
}

// shared counts common elements.
func shared(a, b []int32) int {
	n := 0
	for _, x := range a {
		if slices.Contains(b, x) {
			n++
		}
	}
	return n
}

// labelCenters names the marked centres whose neighbours differ in rank. It
// reports whether possible centres remain without a name and whether it named any.
func (st *Structure) labelCenters() (open, named bool) {
	m := &st.Mol
	for i := range m.Atoms {
		if !st.legal[i] || st.label[i] != unlabelled {
			continue
		}
		distinct := st.rankNeighbors(int32(i))
		if !distinct || m.Atoms[i].Chirality == mol.NoChirality {
			open = true
			continue
		}
		named = true
		st.label[i] = st.name(int32(i))
	}
	return open, named
}

// rankNeighbors lists the bonds of atom i and reports whether the ranks of the
// neighbours that count all differ.
func (st *Structure) rankNeighbors(i int32) bool {
	m := &st.Mol
	st.near = st.near[:0]
	for _, h := range m.Neighbors(i) {
		r := st.ranks[h.Atom]
		if affects(&m.Bonds[h.Bond], i) {
			for _, n := range st.near {
				if n.rank == r && affects(&m.Bonds[n.bond], i) {
					return false
				}
			}
		}
		st.near = append(st.near, rankedBond{r, h.Bond})
	}
	return true
}

// name is the label that the mark of atom i gives it with the neighbours in
// order of rank.
func (st *Structure) name(i int32) label {
	a := &st.Mol.Atoms[i]
	slices.SortStableFunc(st.near, func(a, b rankedBond) int { return int(a.rank - b.rank) })
	swaps := 0
	for x := range st.near {
		for y := range x {
			if st.near[y].bond > st.near[x].bond {
				swaps++
			}
		}
	}
	if len(st.near) == 3 && a.TotalH() == 1 {
		swaps++
	}
	counterClockwise := a.Chirality == mol.CounterClockwise
	if swaps%2 == 1 {
		counterClockwise = !counterClockwise
	}
	if counterClockwise {
		return labelS
	}
	return labelR
}

// rerank ranks the atoms anew with the labels that were assigned.
func (st *Structure) rerank() {
	m := &st.Mol
	factor := int32(100)
	for int(factor) < len(m.Atoms) {
		factor *= 10
	}
	st.rank.invar = reset(st.rank.invar, len(m.Atoms))
	for i := range m.Atoms {
		v := st.ranks[i]*factor + 10*int32(st.label[i])
		for _, h := range m.Neighbors(int32(i)) {
			if c := &st.Cis[h.Bond]; c.Set {
				v++
				if c.Together {
					v++
				}
			}
		}
		st.rank.invar[i] = v
	}
	st.rank.iterate(m, st.ranks, st.rank.invar, true)
}

// dropMeaningless removes the tetrahedral marks that were neither named nor
// found stereogenic in a ring, with the hydrogen that a neutral atom may have
// only for its mark.
func (st *Structure) dropMeaningless() {
	m := &st.Mol
	for i := range m.Atoms {
		a := &m.Atoms[i]
		if a.Chirality == mol.NoChirality || a.Chirality.IsNonTetrahedral() ||
			st.label[i] != unlabelled || st.special.keeps[i] {
			continue
		}
		a.Chirality, a.Perm = mol.NoChirality, 0
		if a.ExplicitH == 1 && a.Charge == 0 && !a.IsAromatic() {
			a.ExplicitH = 0
			a.Flags &^= mol.NoImplicit
			perceive.UpdateValence(a)
		}
	}
}
