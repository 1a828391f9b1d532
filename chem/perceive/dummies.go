package perceive

import (
	"slices"

	"scimesh.dev/scimesh/chem/mol"
)

// dummySystems finds the fused systems of molecules with dummy atoms. A dummy
// may or may not take part in an aromatic ring, and RDKit decides that by how
// many rings of a minimum basis it lies in; so here the rings themselves count.
type dummySystems struct {
	basis []ring  // one ring basis, sorted by size and atoms
	count []int32 // rings of the basis, by atom
	alive []bool  // by ring: has an aromatic atom of its own
	used  []bool  // by ring
	fused []int32
	seen  []bool
}

// kekulizeWithDummies treats each fused system of rings that hold some atom
// other than dummies.
func (p *Perceiver) kekulizeWithDummies(m *mol.Mol) error {
	c, k := &p.cycles, &p.kekule
	d := &k.dummies
	c.reset(p.limit())
	d.basis = d.basis[:0]
	for i := range p.blocks.count() {
		block := p.blocks.block(i)
		first := len(c.rings)
		if !c.add(m, block) {
			return limitError()
		}
		d.basis = c.independent(d.basis, c.rings[first:], block)
	}
	slices.SortFunc(d.basis, func(a, b ring) int {
		if a.size != b.size {
			return int(a.size - b.size)
		}
		return slices.Compare(c.ringAtoms(a), c.ringAtoms(b))
	})
	d.survey(m, c)
	d.used = growClear(d.used, len(d.basis))
	for i, r := range d.basis {
		d.used[i] = !slices.ContainsFunc(c.ringAtoms(r), func(a int32) bool { return m.Atoms[a].Z != 0 })
	}
	for i := range d.basis {
		if d.used[i] {
			continue
		}
		d.pick(c, i)
		if err := p.kekulizeSystem(m); err != nil {
			return err
		}
	}
	return nil
}

func limitError() error {
	return &Error{Step: StepWorkLimit, Message: "the ring system needs more work than the limit allows"}
}

// independent appends the first rings, by size, that form a basis.
func (c *cycleFinder) independent(to, rings []ring, block []int32) []ring {
	c.words = (len(block) + 63) / 64
	c.basis, c.pivots = c.basis[:0], c.pivots[:0]
	c.row = grow(c.row, c.words)
	for _, r := range rings {
		clear(c.row)
		for _, b := range c.ringBonds(r) {
			setBit(c.row, int32(slices.Index(block, b)))
		}
		if pivot := c.reduce(len(c.pivots)); pivot >= 0 {
			c.basis = append(c.basis, c.row...)
			c.pivots = append(c.pivots, pivot)
			to = append(to, r)
		}
	}
	return to
}

// survey counts the rings of every atom and finds the rings that are alive.
func (d *dummySystems) survey(m *mol.Mol, c *cycleFinder) {
	d.count = growClear(d.count, len(m.Atoms))
	for _, r := range d.basis {
		for _, a := range c.ringAtoms(r) {
			d.count[a]++
		}
	}
	d.alive = growClear(d.alive, len(d.basis))
	for i, r := range d.basis {
		for _, a := range c.ringAtoms(r) {
			d.alive[i] = d.alive[i] || m.Atoms[a].IsAromaticWide() && d.count[a] == 1
		}
	}
}

// pick collects ring i and all rings fused to it, depth first.
func (d *dummySystems) pick(c *cycleFinder, i int) {
	d.fused = append(d.fused[:0], int32(i))
	d.used[i] = true
	stack := []int32{int32(i)}
	for len(stack) > 0 {
		top := d.basis[stack[len(stack)-1]]
		next := -1
		for j, r := range d.basis {
			if !d.used[j] && sharesBond(c.ringBonds(top), c.ringBonds(r)) {
				next = j
				break
			}
		}
		if next < 0 {
			stack = stack[:len(stack)-1]
			continue
		}
		d.used[next] = true
		d.fused = append(d.fused, int32(next))
		stack = append(stack, int32(next))
	}
}

func sharesBond(a, b []int32) bool {
	return slices.ContainsFunc(a, func(x int32) bool { return slices.Contains(b, x) })
}

// kekulizeSystem kekulizes the rings that pick collected.
func (p *Perceiver) kekulizeSystem(m *mol.Mol) error {
	k, c := &p.kekule, &p.cycles
	d := &k.dummies
	k.system = k.system[:0]
	relevant := false
	for _, i := range d.fused {
		for _, a := range c.ringAtoms(d.basis[i]) {
			if !k.inSystem[a] {
				k.inSystem[a] = true
				k.system = append(k.system, a)
				relevant = relevant || m.Atoms[a].Z == 0 || m.Atoms[a].IsAromaticWide()
			}
		}
	}
	defer k.leave()
	if !relevant {
		return nil
	}
	k.begin()
	d.seen = growClear(d.seen, len(m.Atoms))
	for _, a := range k.system {
		d.seen[a] = true
		at := &m.Atoms[a]
		if at.Z != 0 && !at.IsAromaticWide() {
			k.start = append(k.start, a)
			continue
		}
		s := k.surveyBonds(m, a)
		switch {
		case at.Z == 0 && d.plainNeighbors(m, a) < int(d.count[a]) && d.deadRings(c, a) < int(d.count[a]):
			k.initial = append(k.initial, a)
			k.questions = append(k.questions, a)
		case s.candidate(at):
			k.initial = append(k.initial, a)
		}
	}
	k.makeSingle(m)
	slices.Sort(k.system)
	return k.solve(m)
}

// plainNeighbors counts visited neighbours that are neither aromatic nor dummy.
func (d *dummySystems) plainNeighbors(m *mol.Mol, a int32) int {
	n := 0
	for _, h := range m.Neighbors(a) {
		if o := &m.Atoms[h.Atom]; o.Z != 0 && !o.IsAromatic() && d.seen[h.Atom] {
			n++
		}
	}
	return n
}

// deadRings counts the rings of a without an aromatic atom of their own.
func (d *dummySystems) deadRings(c *cycleFinder, a int32) int {
	n := 0
	for i, r := range d.basis {
		if !d.alive[i] && slices.Contains(c.ringAtoms(r), a) {
			n++
		}
	}
	return n
}
