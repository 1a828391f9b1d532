package perceive

import (
	"math/bits"
	"slices"

	"scimesh.dev/scimesh/chem/mol"
)

// cycleFinder finds the relevant cycles of a block: those that belong to some
// minimum cycle basis, that is, are no sum of shorter cycles. The method is
// Vismara's (Electronic Journal of Combinatorics 4, 1997, R9): candidates come
// in families with a common highest atom, a family is kept if its prototype is
// independent of all shorter cycles, and its members differ only in which
// shortest paths they take.
type cycleFinder struct {
	rings []ring
	atoms []int32 // of all rings
	bonds []int32

	// The block in local numbers: atoms with two neighbours come first.
	local     []int32 // local number plus one, by atom of the molecule
	global    []int32
	offsets   []int32
	halves    []mol.Half // neighbour and position of the bond in the block
	nBranched int        // number of atoms with more than two neighbours

	// Shortest paths from the current root over atoms of lower number.
	dist    []int32
	inside  []bool
	parent  []mol.Half
	top     []int32 // first atom after the root on the path
	paths   []int64 // number of shortest paths
	queue   []int32
	closers []int32

	families []family
	words    int
	bits     []uint64 // prototypes, by family
	basis    []uint64
	pivots   []int32
	row      []uint64
	mark     []bool
	choice   []int32
	work     int64
}

// ring is one cycle as ranges of atoms and bonds in a cycleFinder. Atoms begin
// with the lowest and go on to its lower neighbour; bond i leads from atom i to
// the next.
type ring struct {
	start int32 // in atoms and bonds
	size  int32
}

// family is a set of cycles through a root and one or two ends.
type family struct {
	root     int32
	p, q     int32 // ends of the two paths
	mid      int32 // atom between p and q, or -1 where they are bonded
	pMid     int32 // bond from p to mid or to q
	qMid     int32 // bond from q to mid
	size     int32
	index    int32 // of its prototype
	members  int64
	relevant bool
}

func (c *cycleFinder) ringAtoms(r ring) []int32 { return c.atoms[r.start : r.start+r.size] }
func (c *cycleFinder) ringBonds(r ring) []int32 { return c.bonds[r.start : r.start+r.size] }

// reset forgets all rings.
func (c *cycleFinder) reset(limit int64) {
	c.rings, c.atoms, c.bonds = c.rings[:0], c.atoms[:0], c.bonds[:0]
	c.work = limit
}

// add appends the relevant cycles of the block with the given bonds, shorter
// ones first. It returns false when the work limit is reached.
func (c *cycleFinder) add(m *mol.Mol, block []int32) bool {
	c.number(m, block)
	first := len(c.rings)
	if len(block) == len(c.global) {
		c.appendRing(m, block)
		return true
	}
	c.words = (len(block) + 63) / 64
	if !c.collect() || !c.eliminate(len(block)-len(c.global)+1) {
		return false
	}
	if !c.expand(m, block) {
		return false
	}
	slices.SortFunc(c.rings[first:], func(a, b ring) int { return int(a.size - b.size) })
	return true
}

// number builds the local graph of the block.
func (c *cycleFinder) number(m *mol.Mol, block []int32) {
	c.local = grow(c.local, len(m.Atoms))
	for _, b := range block {
		c.local[m.Bonds[b].A], c.local[m.Bonds[b].B] = 0, 0
	}
	for _, b := range block { // count neighbours
		c.local[m.Bonds[b].A]++
		c.local[m.Bonds[b].B]++
	}
	c.global = c.global[:0]
	for _, b := range block {
		for _, a := range [2]int32{m.Bonds[b].A, m.Bonds[b].B} {
			if c.local[a] == 2 {
				c.global = append(c.global, a)
				c.local[a] = -int32(len(c.global))
			}
		}
	}
	plain := len(c.global)
	for _, b := range block {
		for _, a := range [2]int32{m.Bonds[b].A, m.Bonds[b].B} {
			if c.local[a] > 2 {
				c.global = append(c.global, a)
				c.local[a] = -int32(len(c.global))
			}
		}
	}
	c.nBranched = len(c.global) - plain
	n := len(c.global)
	c.offsets = growClear(c.offsets, n+2)
	c.halves = grow(c.halves, 2*len(block))
	for _, b := range block {
		c.offsets[-c.local[m.Bonds[b].A]+1]++
		c.offsets[-c.local[m.Bonds[b].B]+1]++
	}
	for i := 1; i < n+2; i++ {
		c.offsets[i] += c.offsets[i-1]
	}
	for i, b := range block {
		x, y := -c.local[m.Bonds[b].A]-1, -c.local[m.Bonds[b].B]-1
		c.halves[c.offsets[x+1]] = mol.Half{Atom: y, Bond: int32(i)}
		c.halves[c.offsets[y+1]] = mol.Half{Atom: x, Bond: int32(i)}
		c.offsets[x+1]++
		c.offsets[y+1]++
	}
}

// neighbors lists the bonds of local atom a.
func (c *cycleFinder) neighbors(a int32) []mol.Half {
	return c.halves[c.offsets[a]:c.offsets[a+1]]
}

// explore computes shortest paths from root through atoms of lower number.
func (c *cycleFinder) explore(root int32) {
	n := len(c.global)
	c.dist = grow(c.dist, n)
	for i := range c.dist {
		c.dist[i] = -1
	}
	c.inside = growClear(c.inside, n)
	c.parent, c.top, c.paths = grow(c.parent, n), grow(c.top, n), grow(c.paths, n)
	c.queue = append(c.queue[:0], root)
	c.dist[root], c.inside[root], c.paths[root] = 0, true, 1
	for i := 0; i < len(c.queue); i++ {
		a := c.queue[i]
		for _, h := range c.neighbors(a) {
			b := h.Atom
			if c.dist[b] < 0 {
				c.dist[b] = c.dist[a] + 1
				c.queue = append(c.queue, b)
				c.paths[b] = 0
			}
			if c.dist[b] != c.dist[a]+1 || b >= root || !c.inside[a] {
				continue
			}
			if !c.inside[b] {
				c.inside[b] = true
				c.parent[b] = mol.Half{Atom: a, Bond: h.Bond}
				c.top[b] = b
				if a != root {
					c.top[b] = c.top[a]
				}
			}
			c.paths[b] = min(c.paths[b]+c.paths[a], 1<<30)
		}
	}
}

// collect lists the families of all roots with their prototypes.
func (c *cycleFinder) collect() bool {
	c.families, c.bits = c.families[:0], c.bits[:0]
	for root := int32(len(c.global) - c.nBranched); root < int32(len(c.global)); root++ {
		c.work -= int64(len(c.halves) + len(c.global))
		if c.work < 0 {
			return false
		}
		c.explore(root)
		for y := int32(0); y < root; y++ {
			if c.inside[y] && !c.closeAt(root, y) {
				return false
			}
		}
	}
	return true
}

// closeAt lists the families that close at atom y, or at a bond of it.
func (c *cycleFinder) closeAt(root, y int32) bool {
	c.closers = c.closers[:0]
	for i, h := range c.neighbors(y) {
		z := h.Atom
		if !c.inside[z] || z == root {
			continue
		}
		switch c.dist[z] {
		case c.dist[y] - 1:
			c.closers = append(c.closers, c.offsets[y]+int32(i))
		case c.dist[y]:
			if z < y && c.top[z] != c.top[y] {
				c.family(family{root: root, p: y, q: z, mid: -1, pMid: h.Bond,
					size: 2*c.dist[y] + 1, members: min(c.paths[y]*c.paths[z], 1<<30)})
			}
		}
	}
	for i, hi := range c.closers {
		p := c.halves[hi]
		for _, hj := range c.closers[:i] {
			q := c.halves[hj]
			if c.top[p.Atom] != c.top[q.Atom] {
				c.family(family{root: root, p: p.Atom, q: q.Atom, mid: y, pMid: p.Bond, qMid: q.Bond,
					size: 2 * c.dist[y], members: min(c.paths[p.Atom]*c.paths[q.Atom], 1<<30)})
			}
		}
	}
	return c.work >= 0
}

// family records f and its prototype.
func (c *cycleFinder) family(f family) {
	f.index = int32(len(c.families))
	c.families = append(c.families, f)
	at := len(c.bits)
	c.bits = slices.Grow(c.bits, c.words)[:at+c.words]
	row := c.bits[at:]
	clear(row)
	c.work -= int64(c.words) + int64(f.size)
	setBit(row, f.pMid)
	if f.mid >= 0 {
		setBit(row, f.qMid)
	}
	for _, end := range [2]int32{f.p, f.q} {
		for a := end; a != f.root; a = c.parent[a].Atom {
			setBit(row, c.parent[a].Bond)
		}
	}
}

func setBit(row []uint64, i int32) { row[i>>6] |= 1 << (i & 63) }

// prototype is the bond set of family f.
func (c *cycleFinder) prototype(f *family) []uint64 {
	at := int(f.index) * c.words
	return c.bits[at : at+c.words]
}

// eliminate marks the relevant families: in order of size, those independent of
// all shorter cycles. The cycle space has the given dimension.
func (c *cycleFinder) eliminate(dimension int) bool {
	slices.SortFunc(c.families, func(a, b family) int { return int(a.size - b.size) })
	c.basis, c.pivots = c.basis[:0], c.pivots[:0]
	c.row = grow(c.row, c.words)
	for i := 0; i < len(c.families) && len(c.pivots) < dimension; {
		j := i
		for ; j < len(c.families) && c.families[j].size == c.families[i].size; j++ {
			f := &c.families[j]
			copy(c.row, c.prototype(f))
			f.relevant = c.reduce(len(c.pivots)) >= 0
		}
		for ; i < j; i++ {
			f := &c.families[i]
			if !f.relevant {
				continue
			}
			copy(c.row, c.prototype(f))
			if pivot := c.reduce(len(c.pivots)); pivot >= 0 {
				c.basis = append(c.basis, c.row...)
				c.pivots = append(c.pivots, pivot)
			}
		}
		if c.work < 0 {
			return false
		}
	}
	return true
}

// reduce subtracts the first n basis rows from c.row and returns the lowest bit
// that is left, -1 for none.
func (c *cycleFinder) reduce(n int) int32 {
	c.work -= int64(n * c.words)
	for k := range n {
		p := c.pivots[k]
		if c.row[p>>6]>>(p&63)&1 != 0 {
			basis := c.basis[k*c.words : (k+1)*c.words]
			for w := range c.row {
				c.row[w] ^= basis[w]
			}
		}
	}
	for w, x := range c.row {
		if x != 0 {
			return int32(w*64 + bits.TrailingZeros64(x))
		}
	}
	return -1
}

// expand lists the members of the relevant families as rings.
func (c *cycleFinder) expand(m *mol.Mol, block []int32) bool {
	explored := int32(-1)
	for i := range c.families {
		f := &c.families[i]
		if !f.relevant {
			continue
		}
		if f.members == 1 {
			c.appendBits(m, block, c.prototype(f))
			continue
		}
		if c.work -= f.members * int64(f.size); c.work < 0 {
			return false
		}
		if explored != f.root {
			c.explore(f.root)
			c.work -= int64(len(c.halves))
			explored = f.root
		}
		c.members(m, block, f)
	}
	return true
}

// members lists every combination of shortest paths of one family. The two
// halves of c.choice say for each atom on the way which of its bonds toward the
// root is taken; they count like the digits of a number.
func (c *cycleFinder) members(m *mol.Mol, block []int32, f *family) {
	np := c.dist[f.p]
	c.choice = growClear(c.choice, int(np+c.dist[f.q]))
	for {
		clear(c.row)
		setBit(c.row, f.pMid)
		if f.mid >= 0 {
			setBit(c.row, f.qMid)
		}
		c.walk(f.root, f.p, c.choice[:np])
		c.walk(f.root, f.q, c.choice[np:])
		c.appendBits(m, block, c.row)
		if !c.advance(f.root, f.q, c.choice[np:]) && !c.advance(f.root, f.p, c.choice[:np]) {
			return
		}
	}
}

// toward returns the k-th bond of a that leads toward the root, and whether
// there is one.
func (c *cycleFinder) toward(a int32, k int32) (mol.Half, bool) {
	for _, h := range c.neighbors(a) {
		if c.inside[h.Atom] && c.dist[h.Atom] == c.dist[a]-1 {
			if k == 0 {
				return h, true
			}
			k--
		}
	}
	return mol.Half{}, false
}

// walk sets the bonds of the chosen path from a to the root.
func (c *cycleFinder) walk(root, a int32, choice []int32) {
	for i := 0; a != root; i++ {
		h, _ := c.toward(a, choice[i])
		setBit(c.row, h.Bond)
		a = h.Atom
	}
}

// advance steps the choice to the next path; after the last it resets the choice
// and returns false.
func (c *cycleFinder) advance(root, a int32, choice []int32) bool {
	c.queue = c.queue[:0]
	for i := 0; a != root; i++ {
		c.queue = append(c.queue, a)
		h, _ := c.toward(a, choice[i])
		a = h.Atom
	}
	for i := len(choice) - 1; i >= 0; i-- {
		choice[i]++
		if _, ok := c.toward(c.queue[i], choice[i]); ok {
			return true
		}
		choice[i] = 0
	}
	return false
}

// appendBits lists the ring whose bonds are set.
func (c *cycleFinder) appendBits(m *mol.Mol, block []int32, set []uint64) {
	c.closers = c.closers[:0]
	for w, x := range set {
		for ; x != 0; x &= x - 1 {
			c.closers = append(c.closers, block[w*64+bits.TrailingZeros64(x)])
		}
	}
	c.appendRing(m, c.closers)
}

// appendRing lists the ring with the given bonds in the order described at ring.
func (c *cycleFinder) appendRing(m *mol.Mol, set []int32) {
	if len(c.mark) < len(m.Bonds) {
		c.mark = make([]bool, 2*len(m.Bonds))
	}
	least := m.Bonds[set[0]].A
	for _, b := range set {
		c.mark[b] = true
		least = min(least, m.Bonds[b].A, m.Bonds[b].B)
	}
	r := ring{start: int32(len(c.atoms)), size: int32(len(set))}
	a, via := least, int32(-1)
	for range set {
		best := mol.Half{Bond: -1}
		for _, h := range m.Neighbors(a) {
			if c.mark[h.Bond] && h.Bond != via && (best.Bond < 0 || h.Atom < best.Atom) {
				best = h
			}
		}
		c.atoms, c.bonds = append(c.atoms, a), append(c.bonds, best.Bond)
		a, via = best.Atom, best.Bond
	}
	for _, b := range set {
		c.mark[b] = false
	}
	c.rings = append(c.rings, r)
}
