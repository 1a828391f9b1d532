package perceive

import "scimesh.dev/scimesh/chem/mol"

// blockFinder finds the blocks of a molecule: the largest parts without a cut
// atom that hold a cycle. Rings share bonds only within a block, so each block
// is a fused ring system and everything about rings is done block by block.
// Dative and hydrogen bonds and bonds of order zero close no rings.
type blockFinder struct {
	bonds  []int32 // the bonds of all blocks, block after block
	starts []int32 // where each block begins in bonds; one more at the end

	// Scratch of the depth-first search, by atom.
	order, low []int32
	next       []int32 // next entry of the neighbour list to follow
	stack      []mol.Half
	path       []int32 // bonds of the current search tree, not yet in a block
}

// ringBond reports whether a bond of this type can lie in a ring.
func ringBond(t mol.BondType) bool {
	return t <= mol.AromaticType
}

// count is the number of blocks found.
func (f *blockFinder) count() int { return len(f.starts) - 1 }

// block lists the bonds of block i.
func (f *blockFinder) block(i int) []int32 { return f.bonds[f.starts[i]:f.starts[i+1]] }

// find computes the blocks and sets the InRing flag of their atoms and bonds.
func (f *blockFinder) find(m *mol.Mol) {
	f.bonds = f.bonds[:0]
	f.starts = append(f.starts[:0], 0)
	if len(m.Bonds) == m.ChainBonds {
		return // a tree
	}
	n := len(m.Atoms)
	f.order = growClear(f.order, n)
	f.low = grow(f.low, n)
	f.next = growClear(f.next, n)
	clock := int32(0)
	for root := range m.Atoms {
		if f.order[root] == 0 {
			f.search(m, int32(root), &clock)
		}
	}
}

// search is Tarjan's depth-first search from root with an explicit stack. A
// stack entry holds an atom and the bond it was reached by.
func (f *blockFinder) search(m *mol.Mol, root int32, clock *int32) {
	f.stack = append(f.stack[:0], mol.Half{Atom: root, Bond: -1})
	f.path = f.path[:0]
	*clock++
	f.order[root], f.low[root] = *clock, *clock
	for len(f.stack) > 0 {
		top := f.stack[len(f.stack)-1]
		a := top.Atom
		halves := m.Neighbors(a)
		if int(f.next[a]) < len(halves) {
			h := halves[f.next[a]]
			f.next[a]++
			if h.Bond == top.Bond || !ringBond(m.Bonds[h.Bond].Type) {
				continue
			}
			if f.order[h.Atom] == 0 {
				*clock++
				f.order[h.Atom], f.low[h.Atom] = *clock, *clock
				f.stack = append(f.stack, h)
				f.path = append(f.path, h.Bond)
			} else if f.order[h.Atom] < f.order[a] {
				f.path = append(f.path, h.Bond)
				f.low[a] = min(f.low[a], f.order[h.Atom])
			}
			continue
		}
		f.stack = f.stack[:len(f.stack)-1]
		if len(f.stack) == 0 {
			return
		}
		parent := f.stack[len(f.stack)-1].Atom
		f.low[parent] = min(f.low[parent], f.low[a])
		if f.low[a] >= f.order[parent] {
			f.close(m, top.Bond)
		}
	}
}

// close takes the bonds from the given tree bond on off the path: they are a
// block, unless it is that bond alone.
func (f *blockFinder) close(m *mol.Mol, tree int32) {
	i := len(f.path) - 1
	for f.path[i] != tree {
		i--
	}
	if i < len(f.path)-1 {
		for _, b := range f.path[i:] {
			bond := &m.Bonds[b]
			bond.Flags |= mol.InRing
			m.Atoms[bond.A].Flags |= mol.InRing
			m.Atoms[bond.B].Flags |= mol.InRing
		}
		f.bonds = append(f.bonds, f.path[i:]...)
		f.starts = append(f.starts, int32(len(f.bonds)))
	}
	f.path = f.path[:i]
}
