package perceive

import (
	"slices"

	"scimesh.dev/scimesh/chem/mol"
)

// Limits of the search for aromatic fused systems.
const (
	maxFusedRingSize = 24  // larger rings are tried alone only
	maxFusedRings    = 6   // rings in a combination
	manyRings        = 300 // in systems with more rings, combinations end at pairs
	macrocycle       = 9   // from this size on ethers do not conjugate
)

// aromatizer holds the scratch memory of aromaticity perception.
type aromatizer struct {
	donors  []donor // by atom; donorUnknown until needed
	allowed []bool
	rings   []ring // candidate rings of one block
	near    [][]int32
	system  []int32
	inSys   []bool
	count   []int32 // by atom, rings of the combination it is in
	bondCnt []int32
	touched []int32
	done    []bool // by bond
	nDone   int
	chosen  []int32
	search  []extension
	blocked []int32
	work    int64
}

// aromaticity marks the rings and fused systems that satisfy Hückel's rule.
func (p *Perceiver) aromaticity(m *mol.Mol) error {
	if p.blocks.count() == 0 {
		return nil
	}
	a := &p.arom
	a.donors, a.allowed = growClear(a.donors, len(m.Atoms)), growClear(a.allowed, len(m.Atoms))
	a.count, a.bondCnt = growClear(a.count, len(m.Atoms)), growClear(a.bondCnt, len(m.Bonds))
	a.done = growClear(a.done, len(m.Bonds))
	a.work = p.limit()
	p.cycles.reset(p.limit())
	for i := range p.blocks.count() {
		first := len(p.cycles.rings)
		if !p.cycles.add(m, p.blocks.block(i)) {
			return limitError()
		}
		if err := a.block(m, &p.cycles, p.cycles.rings[first:]); err != nil {
			return err
		}
	}
	return nil
}

// block perceives one fused system of rings.
func (a *aromatizer) block(m *mol.Mol, c *cycleFinder, rings []ring) error {
	a.rings = a.rings[:0]
	for _, r := range rings {
		candidate, dummies := true, true
		for _, at := range c.ringAtoms(r) {
			dummies = dummies && m.Atoms[at].Z == 0
			if a.donors[at] == donorUnknown {
				if err := a.classify(m, at, r.size); err != nil {
					return err
				}
			}
			candidate = candidate && a.allowed[at]
		}
		if candidate && !dummies {
			a.rings = append(a.rings, r)
		}
	}
	if len(a.rings) == 0 {
		return nil
	}
	a.neighbors(c)
	a.inSys = growClear(a.inSys, len(a.rings))
	for i := range a.rings {
		if a.inSys[i] {
			continue
		}
		a.collect(int32(i))
		if !a.fused(m, c) {
			return limitError()
		}
	}
	return nil
}

// classify finds the donor type of an atom when its first, smallest ring is met.
// Ether oxygens and sulfurs whose smallest ring is a macrocycle do not donate.
func (a *aromatizer) classify(m *mol.Mol, i int32, size int32) error {
	at := &m.Atoms[i]
	d := donorOf(m, i)
	if d == donorTwo && size >= macrocycle && (at.Z == 8 || at.Z == 16) && at.Degree == 2 && at.Charge == 0 &&
		!slices.ContainsFunc(m.Neighbors(i), func(h mol.Half) bool {
			t := m.Bonds[h.Bond].Type
			return t == mol.Double || t == mol.Triple
		}) {
		d = donorNone
	}
	can, ok := canBeAromatic(m, i, d)
	if !ok {
		return &Error{Step: StepAromatic, Atoms: []int{int(i)}, Message: "charge out of range"}
	}
	a.donors[i], a.allowed[i] = d, can
	return nil
}

// neighbors lists for every candidate ring the rings that share exactly one bond
// with it, if neither is too large.
func (a *aromatizer) neighbors(c *cycleFinder) {
	for len(a.near) < len(a.rings) {
		a.near = append(a.near, nil)
	}
	for i := range a.rings {
		a.near[i] = a.near[i][:0]
	}
	for i, r := range a.rings {
		if r.size > maxFusedRingSize {
			continue
		}
		for _, b := range c.ringBonds(r) {
			a.bondCnt[b] = 1
		}
		for j, s := range a.rings[:i] {
			if s.size > maxFusedRingSize {
				continue
			}
			shared := int32(0)
			for _, b := range c.ringBonds(s) {
				shared += a.bondCnt[b]
			}
			if shared == 1 {
				a.near[i] = append(a.near[i], int32(j))
				a.near[j] = append(a.near[j], int32(i))
			}
		}
		for _, b := range c.ringBonds(r) {
			a.bondCnt[b] = 0
		}
	}
}

// collect lists the rings connected to ring i in a.system.
func (a *aromatizer) collect(i int32) {
	a.system = append(a.system[:0], i)
	a.inSys[i] = true
	for k := 0; k < len(a.system); k++ {
		for _, j := range a.near[a.system[k]] {
			if !a.inSys[j] {
				a.inSys[j] = true
				a.system = append(a.system, j)
			}
		}
	}
}

// fused tries all connected combinations of the system's rings, smaller ones
// first, until every bond is aromatic. It returns false at the work limit.
func (a *aromatizer) fused(m *mol.Mol, c *cycleFinder) bool {
	total := a.countBonds(c)
	a.nDone = 0
	for size := 1; size <= min(len(a.system), maxFusedRings) && a.nDone < total; size++ {
		if size == 3 && len(a.system) > manyRings {
			break
		}
		if !a.combinations(m, c, size) {
			return false
		}
	}
	for _, i := range a.system {
		for _, b := range c.ringBonds(a.rings[i]) {
			a.done[b] = false
		}
	}
	return true
}

// countBonds is the number of different bonds in the system.
func (a *aromatizer) countBonds(c *cycleFinder) int {
	n := 0
	for _, i := range a.system {
		for _, b := range c.ringBonds(a.rings[i]) {
			if !a.done[b] {
				a.done[b] = true
				n++
			}
		}
	}
	for _, i := range a.system {
		for _, b := range c.ringBonds(a.rings[i]) {
			a.done[b] = false
		}
	}
	return n
}

// extension is a level of the enumeration of connected combinations: the rings
// that may still be added there.
type extension struct {
	ext []int32
}

// combinations tries every connected combination of the given size once, by
// Wernicke's enumeration: a combination grows from its lowest ring and only by
// rings that are no neighbours of those chosen earlier.
func (a *aromatizer) combinations(m *mol.Mol, c *cycleFinder, size int) bool {
	if len(a.blocked) < len(a.rings) {
		a.blocked = make([]int32, 2*len(a.rings))
	}
	for len(a.search) < maxFusedRings+1 {
		a.search = append(a.search, extension{})
	}
	for _, root := range a.system {
		if size == 1 {
			a.chosen = append(a.chosen[:0], root)
			a.try(m, c)
			continue
		}
		a.chosen = append(a.chosen[:0], root)
		ext := a.search[1].ext[:0]
		a.blocked[root]++
		for _, j := range a.near[root] {
			a.blocked[j]++
			if j > root {
				ext = append(ext, j)
			}
		}
		a.search[1].ext = ext
		ok := a.grow(m, c, root, 1, size)
		a.blocked[root]--
		for _, j := range a.near[root] {
			a.blocked[j]--
		}
		if !ok {
			return false
		}
	}
	return a.work >= 0
}

// grow extends the chosen rings by each ring of the level in turn. The depth is
// at most maxFusedRings.
func (a *aromatizer) grow(m *mol.Mol, c *cycleFinder, root int32, level, size int) bool {
	for len(a.search[level].ext) > 0 {
		ext := a.search[level].ext
		w := ext[len(ext)-1]
		a.search[level].ext = ext[:len(ext)-1]
		a.chosen = append(a.chosen, w)
		if a.work--; a.work < 0 {
			return false
		}
		if len(a.chosen) == size {
			a.try(m, c)
		} else {
			next := append(a.search[level+1].ext[:0], ext[:len(ext)-1]...)
			for _, j := range a.near[w] {
				if j > root && a.blocked[j] == 0 {
					next = append(next, j)
				}
			}
			for _, j := range a.near[w] {
				a.blocked[j]++
			}
			a.search[level+1].ext = next
			ok := a.grow(m, c, root, level+1, size)
			for _, j := range a.near[w] {
				a.blocked[j]--
			}
			if !ok {
				return false
			}
		}
		a.chosen = a.chosen[:len(a.chosen)-1]
	}
	return true
}

// try applies Hückel's rule to the chosen rings. Atoms in three or more of them
// are left out; of the bonds, only those in one ring become aromatic.
func (a *aromatizer) try(m *mol.Mol, c *cycleFinder) {
	a.touched = a.touched[:0]
	for _, i := range a.chosen {
		a.work -= int64(a.rings[i].size)
		for _, at := range c.ringAtoms(a.rings[i]) {
			if a.count[at] == 0 {
				a.touched = append(a.touched, at)
			}
			a.count[at]++
		}
	}
	low, up, anys := 0, 0, 0
	for _, at := range a.touched {
		if a.count[at] <= 2 {
			switch a.donors[at] {
			case donorOne:
				low++
				up++
			case donorTwo:
				low += 2
				up += 2
			case donorAny:
				low++
				up += 2
				anys++
			}
		}
		a.count[at] = 0
	}
	if anys <= 1 && huckel(low, up) {
		a.markAromatic(m, c)
	}
}

// huckel reports whether some number of electrons from low to up is 4n+2.
func huckel(low, up int) bool {
	if up < 6 {
		return up == 2
	}
	for n := low; n <= up; n++ {
		if n%4 == 2 {
			return true
		}
	}
	return false
}

// markAromatic marks the bonds that lie in exactly one of the chosen rings, and
// the atoms of those that are single or double.
func (a *aromatizer) markAromatic(m *mol.Mol, c *cycleFinder) {
	for _, i := range a.chosen {
		for _, b := range c.ringBonds(a.rings[i]) {
			a.bondCnt[b]++
		}
	}
	for _, i := range a.chosen {
		for _, b := range c.ringBonds(a.rings[i]) {
			n := a.bondCnt[b]
			a.bondCnt[b] = 0
			if n != 1 {
				continue
			}
			bond := &m.Bonds[b]
			bond.Flags |= mol.Aromatic
			if bond.Type == mol.Single || bond.Type == mol.Double {
				m.SetType(b, mol.AromaticType)
				m.Atoms[bond.A].Flags |= mol.Aromatic
				m.Atoms[bond.B].Flags |= mol.Aromatic
			}
			m.Atoms[bond.A].Flags |= mol.AromaticBond
			m.Atoms[bond.B].Flags |= mol.AromaticBond
			if !a.done[b] {
				a.done[b] = true
				a.nDone++
			}
		}
	}
}
