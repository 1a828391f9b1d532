package perceive

import (
	"math/bits"

	"scimesh.dev/scimesh/chem/mol"
)

// findRings lists the relevant cycles of a block, shorter ones first, as far as
// all their atoms are allowed to be aromatic.
func (q *quick) findRings(m *mol.Mol, c *cycleFinder, block cycle, members uint64) bool {
	q.rings = q.rings[:0]
	switch bits.OnesCount64(members) {
	case 1:
		q.keep(block)
		return true
	case 2:
		a := q.cycles[bits.TrailingZeros64(members)]
		b := q.cycles[63-bits.LeadingZeros64(members)]
		q.theta(a, b)
		return true
	}
	if q.acyclic(q.allowed) {
		return true
	}
	if q.uniqueBasis(members) {
		return true
	}
	q.rings = q.rings[:0]
	return q.general(m, c, block)
}

// keep lists a ring if it may be aromatic, in order of size.
func (q *quick) keep(r cycle) {
	q.rings = append(q.rings, r)
	for i := len(q.rings) - 1; i > 0 && q.rings[i].size() < q.rings[i-1].size(); i-- {
		q.rings[i], q.rings[i-1] = q.rings[i-1], q.rings[i]
	}
}

// theta lists the relevant ones of the three cycles of two that share a path: the
// two shorter ones, and the third if it is as short as the second.
func (q *quick) theta(a, b cycle) {
	third := q.cycleOf(a.bonds^b.bonds, a.atoms|b.atoms)
	q.keep(a)
	q.keep(b)
	q.keep(third)
	if q.rings[2].size() > q.rings[1].size() {
		q.rings = q.rings[:2]
	}
}

// cycleOf finds which of the given atoms a set of bonds joins.
func (q *quick) cycleOf(set, within uint64) cycle {
	c := cycle{bonds: set}
	for s := within; s != 0; s &= s - 1 {
		if i := bits.TrailingZeros64(s); q.incident[i]&set != 0 {
			c.atoms |= 1 << i
		}
	}
	return c
}

// acyclic reports whether the given atoms make no cycle.
func (q *quick) acyclic(set uint64) bool {
	for changed := true; changed && set != 0; {
		changed = false
		for s := set; s != 0; s &= s - 1 {
			i := bits.TrailingZeros64(s)
			if bits.OnesCount64(q.near[i&63]&set) < 2 {
				set &^= 1 << i
				changed = true
			}
		}
	}
	return set == 0
}

// uniqueBasis shortens the block's cycles against one another and reports
// whether each of them is the only shortest cycle through some bond. Then they
// are in every minimum basis and no others are.
func (q *quick) uniqueBasis(members uint64) bool {
	q.rings = q.rings[:0]
	for s := members; s != 0; s &= s - 1 {
		q.rings = append(q.rings, q.cycles[bits.TrailingZeros64(s)&63])
	}
	r := q.rings
	for changed := true; changed; {
		changed = false
		for i := range r {
			for j := range r {
				if i == j || r[i].bonds&r[j].bonds == 0 {
					continue
				}
				if x := r[i].bonds ^ r[j].bonds; bits.OnesCount64(x) < r[i].size() {
					r[i] = q.cycleOf(x, r[i].atoms|r[j].atoms)
					changed = true
				}
			}
		}
	}
	for i := range r {
		own := r[i].bonds
		for j := range r {
			if j != i {
				own &^= r[j].bonds
			}
		}
		if own == 0 || !q.onlyShortest(own&-own, r[i]) {
			return false
		}
	}
	for i := 1; i < len(r); i++ {
		for j := i; j > 0 && r[j].size() < r[j-1].size(); j-- {
			r[j], r[j-1] = r[j-1], r[j]
		}
	}
	return true
}

// maxLevels bounds the rings that onlyShortest looks at.
const maxLevels = 32

// onlyShortest reports whether the ring is the only shortest cycle through its
// given bond.
func (q *quick) onlyShortest(bond uint64, r cycle) bool {
	size := r.size()
	if size > maxLevels {
		return false
	}
	ends := q.cycleOf(bond, r.atoms).atoms
	u, v := bits.TrailingZeros64(ends)&63, 63-bits.LeadingZeros64(ends)
	var level [maxLevels]uint64
	end := uint64(1) << v
	level[0] = 1 << u
	level[1] = q.near[u] &^ end
	seen := level[0] | level[1]
	for d := 2; d < size; d++ {
		next := uint64(0)
		for s := level[d-1]; s != 0; s &= s - 1 {
			next |= q.near[bits.TrailingZeros64(s)]
		}
		next &^= seen
		if next&end != 0 && d < size-1 {
			return false
		}
		level[d] = next
		seen |= next
	}
	if level[size-1]&end == 0 {
		return false
	}
	back := end
	for d := size - 2; d > 0; d-- {
		before := uint64(0)
		for s := back; s != 0; s &= s - 1 {
			before |= q.near[bits.TrailingZeros64(s)]
		}
		back = before & level[d]
		if back&(back-1) != 0 {
			return false
		}
	}
	return true
}

// general finds the rings of a block by the general method.
func (q *quick) general(m *mol.Mol, c *cycleFinder, block cycle) bool {
	var list [64]int32
	n := 0
	for s := block.bonds; s != 0; s &= s - 1 {
		list[n] = q.bonds[bits.TrailingZeros64(s)]
		n++
	}
	c.reset(DefaultLimit)
	if !c.add(m, list[:n]) {
		return false
	}
	for _, r := range c.rings {
		var x cycle
		for _, b := range c.ringBonds(r) {
			x.bonds |= 1 << ((q.bondNumber[b] - 1) & 63)
		}
		for _, a := range c.ringAtoms(r) {
			x.atoms |= 1 << ((q.atomNumber[a] - 1) & 63)
		}
		q.rings = append(q.rings, x)
	}
	return true
}

// maxQuickRings bounds the candidate rings of a block whose combinations are tried.
const maxQuickRings = 10

// perceiveRings applies Hückel's rule to the rings of a block and, where bonds
// remain, to combinations of them.
func (q *quick) perceiveRings(m *mol.Mol) bool {
	q.dropEthers(m)
	candidates := q.rings[:0]
	for _, r := range q.rings {
		if r.atoms&^q.allowed == 0 {
			candidates = append(candidates, r)
		}
	}
	q.rings = candidates
	all, found := uint64(0), uint64(0)
	for _, r := range candidates {
		all |= r.bonds
		if huckel(q.electrons(r.atoms)) {
			found |= r.bonds
		}
	}
	q.aromatic |= found
	if found == all || len(candidates) == 1 {
		return true
	}
	if len(candidates) > maxQuickRings {
		return false
	}
	q.combine(candidates)
	return true
}

// dropEthers takes ether oxygens and sulfurs whose smallest ring is a macrocycle
// from the donors. Rings come in order of size.
func (q *quick) dropEthers(m *mol.Mol) {
	seen := uint64(0)
	for _, r := range q.rings {
		if r.size() >= macrocycle {
			for s := r.atoms & q.two &^ seen; s != 0; s &= s - 1 {
				i := bits.TrailingZeros64(s)
				a := &m.Atoms[q.atoms[i]]
				if (a.Z == 8 || a.Z == 16) && a.Degree == 2 && a.Charge == 0 && q.incident[i]&q.multiple == 0 &&
					q.paired>>i&1 == 0 {
					q.allowed &^= 1 << i
				}
			}
		}
		seen |= r.atoms
	}
}

// electrons counts what the atoms give; quick molecules have no dummies, so there
// is no choice.
func (q *quick) electrons(atoms uint64) (low, up int) {
	n := bits.OnesCount64(atoms&q.one) + 2*bits.OnesCount64(atoms&q.two)
	return n, n
}

// combine tries the combinations of two and more rings, system by system.
func (q *quick) combine(rings []cycle) {
	var near [maxQuickRings]uint64
	for i, r := range rings {
		for j, s := range rings[:i] {
			if r.size() <= maxFusedRingSize && s.size() <= maxFusedRingSize && bits.OnesCount64(r.bonds&s.bonds) == 1 {
				near[i] |= 1 << j
				near[j] |= 1 << i
			}
		}
	}
	for left := uint64(1)<<len(rings) - 1; left != 0; {
		system := spread(left&-left, left, &near)
		left &^= system
		q.combineSystem(rings, system, &near)
	}
}

// spread extends a set of rings by all that are connected to it within the bounds.
func spread(set, bounds uint64, near *[maxQuickRings]uint64) uint64 {
	for {
		more := set
		for s := set; s != 0; s &= s - 1 {
			more |= near[bits.TrailingZeros64(s)] & bounds
		}
		if more == set {
			return set
		}
		set = more
	}
}

// combineSystem tries the connected subsets of a system by size until all its
// bonds have been in an aromatic one.
func (q *quick) combineSystem(rings []cycle, system uint64, near *[maxQuickRings]uint64) {
	all, done := uint64(0), uint64(0)
	for s := system; s != 0; s &= s - 1 {
		r := rings[bits.TrailingZeros64(s)]
		all |= r.bonds
		if huckel(q.electrons(r.atoms)) {
			done |= r.bonds
		}
	}
	for size := 2; size <= min(bits.OnesCount64(system), maxFusedRings) && done != all; size++ {
		for subset := system; subset != 0; subset = (subset - 1) & system {
			if bits.OnesCount64(subset) == size && spread(subset&-subset, subset, near) == subset {
				done |= q.try(rings, subset)
			}
		}
	}
	q.aromatic |= done
}

// try returns the bonds that the subset makes aromatic: those in exactly one of
// its rings, if the atoms in one or two of them satisfy Hückel's rule.
func (q *quick) try(rings []cycle, subset uint64) uint64 {
	var atoms1, atoms2, atoms3, bonds1, bonds2 uint64 // in at least so many rings
	for s := subset; s != 0; s &= s - 1 {
		r := &rings[bits.TrailingZeros64(s)]
		atoms3 |= atoms2 & r.atoms
		atoms2 |= atoms1 & r.atoms
		atoms1 |= r.atoms
		bonds2 |= bonds1 & r.bonds
		bonds1 |= r.bonds
	}
	if huckel(q.electrons(atoms1 &^ atoms3)) {
		return bonds1 &^ bonds2
	}
	return 0
}
