package stereo

import (
	"slices"

	"scimesh.dev/scimesh/chem/mol"
	"scimesh.dev/scimesh/chem/perceive"
)

// ringStereo finds the marked ring atoms that are no centres by themselves but
// together with another such atom of their ring system, as in cis- and
// trans-1,4-dimethylcyclohexane.
type ringStereo struct {
	keeps     []bool // by atom
	seen      []bool
	used      []bool
	bondSeen  []bool
	candidate []int8 // 0 unknown, 1 yes, -1 no
	queue     []int32
}

// find sets keeps. Each unnamed candidate searches along ring bonds that no
// earlier search has used.
func (r *ringStereo) find(st *Structure, rings perceive.RingSet) {
	m := &st.Mol
	n := len(m.Atoms)
	r.keeps, r.seen, r.used = reset(r.keeps, n), reset(r.seen, n), reset(r.used, n)
	r.candidate, r.bondSeen = reset(r.candidate, n), reset(r.bondSeen, len(m.Bonds))
	for i := range m.Atoms {
		if r.seen[i] || !r.isCandidate(st, int32(i), rings) {
			continue
		}
		r.queue = r.queue[:0]
		r.push(m, int32(i), false)
		found := false
		for k := 0; k < len(r.queue); k++ {
			a := r.queue[k]
			r.seen[a] = true
			if r.isCandidate(st, a, rings) {
				r.keeps[a], found = true, true
			}
			r.push(m, a, true)
		}
		r.keeps[i] = found
		r.seen[i] = true
	}
}

// push queues the neighbours of a over unused ring bonds.
func (r *ringStereo) push(m *mol.Mol, a int32, skipUsed bool) {
	for _, h := range m.Neighbors(a) {
		if r.bondSeen[h.Bond] {
			continue
		}
		r.bondSeen[h.Bond] = true
		if m.Bonds[h.Bond].Flags&mol.InRing == 0 || r.seen[h.Atom] || skipUsed && r.used[h.Atom] {
			continue
		}
		r.queue = append(r.queue, h.Atom)
		r.used[h.Atom] = true
	}
}

// isCandidate reports an unnamed marked ring atom with the right kinds of
// neighbours: outside the ring two different ones, or one, or none, and in the
// ring some that are alike.
func (r *ringStereo) isCandidate(st *Structure, i int32, rings perceive.RingSet) bool {
	a := &st.Mol.Atoms[i]
	if a.Chirality == mol.NoChirality || st.label[i] != unlabelled || a.Flags&mol.InRing == 0 {
		return false
	}
	if r.candidate[i] == 0 {
		r.candidate[i] = -1
		if r.suits(st, i, rings) {
			r.candidate[i] = 1
		}
	}
	return r.candidate[i] > 0
}

func (r *ringStereo) suits(st *Structure, i int32, rings perceive.RingSet) bool {
	m := &st.Mol
	if a := &m.Atoms[i]; a.Z == 7 && substituents(m, i) == 3 && !st.inThree[i] && !bridgehead(m, i, rings) {
		return false
	}
	var outside, inside []int32 // ranks
	for _, h := range m.Neighbors(i) {
		if m.Bonds[h.Bond].Flags&mol.InRing == 0 {
			outside = append(outside, st.ranks[h.Atom])
		} else {
			inside = append(inside, st.ranks[h.Atom])
		}
	}
	all := len(inside)
	slices.Sort(inside)
	different := len(slices.Compact(inside))
	switch len(outside) {
	case 2:
		return outside[0] != outside[1] && all != different
	case 1:
		return all > different
	case 0:
		return all == 4 && different == 3 || all == 3 && different == 2
	}
	return false
}
