package perceive

import (
	"math/bits"

	"scimesh.dev/scimesh/chem/mol"
)

// quick perceives plain molecules with sets of one word: up to 64 atoms and 64
// bonds of common elements, no more than four neighbours, no radicals, dummies,
// dative or unspecified bonds, nothing to clean up and nothing to refuse. For
// these it gives what the general steps give, several times faster; whatever it
// meets beyond them it leaves to those.
//
// Two facts save most of the work. Which Kekulé form is found does not matter for
// aromaticity, only which atoms take part in it: each of those has one double
// bond, and it lies in the ring system. And where all bonds written as aromatic
// turn out aromatic, the form is not seen in the result either.
type quick struct {
	incident [64]uint64 // bonds at each atom
	near     [64]uint64 // neighbours over ring bonds, for atoms of the block at hand
	parent   [64]uint8  // the atom before, in the spelling's own tree
	tree     [64]uint8  // the bond to it
	depth    [64]uint8

	written   uint64 // bonds written as aromatic
	multiple  uint64 // double and triple bonds
	triple    uint64
	aromatic  uint64 // bonds found aromatic
	ringAtoms uint64
	ringBonds uint64
	lower     uint64 // atoms written as aromatic
	paired    uint64 // atoms with a double bond in the Kekulé form

	one, two, allowed uint64 // donor types of the block at hand

	cycles  [64]cycle // one for each ring closure
	blocks  [64]cycle // unions of cycles that share bonds
	members [64]uint64
	rings   []cycle
}

// cycle is a set of bonds with their atoms.
type cycle struct {
	bonds, atoms uint64
}

func (c cycle) size() int { return bits.OnesCount64(c.bonds) }

// run perceives m and reports whether it could. If not, m can still be perceived
// by the general steps. Of m it sets the hydrogens, bond types and ring flags;
// other perceived values are left behind.
func (q *quick) run(m *mol.Mol, c *cycleFinder) bool {
	slots, ok := m.Slots()
	if !ok || len(m.Atoms) > 64 || len(m.Bonds) > 64 {
		return false
	}
	if !q.readBonds(m) || !q.readAtoms(m) {
		return false
	}
	q.aromatic, q.ringAtoms, q.ringBonds, q.paired = 0, 0, 0, 0
	n := 0
	if m.ChainBonds < len(m.Bonds) {
		if !q.findCycles(m, slots) {
			return false
		}
		n = q.findBlocks(len(m.Bonds) - m.ChainBonds)
	}
	if q.lower&^q.ringAtoms != 0 {
		return false
	}
	for i := range n {
		if !q.block(m, slots, c, i) {
			return false
		}
	}
	if q.written&q.ringBonds&^q.aromatic != 0 {
		return false
	}
	for s := q.lower; s != 0; s &= s - 1 {
		if q.incident[bits.TrailingZeros64(s)]&q.aromatic == 0 {
			return false
		}
	}
	q.write(m)
	return true
}

// readBonds sorts the bonds by type and atom.
func (q *quick) readBonds(m *mol.Mol) bool {
	clear(q.incident[:len(m.Atoms)])
	written, multiple, triple := uint64(0), uint64(0), uint64(0)
	for i := range m.Bonds {
		b := &m.Bonds[i]
		bit := uint64(1) << (i & 63)
		q.incident[b.A&63] |= bit
		q.incident[b.B&63] |= bit
		switch b.Type {
		case mol.Single:
		case mol.Double:
			multiple |= bit
		case mol.Triple:
			multiple |= bit
			triple |= bit
		case mol.AromaticType:
			if m.Atoms[b.A].Flags&m.Atoms[b.B].Flags&mol.Aromatic == 0 {
				return false
			}
			written |= bit
		default:
			return false
		}
	}
	q.written, q.multiple, q.triple = written, multiple, triple
	return true
}

// readAtoms looks up the valences of every atom.
func (q *quick) readAtoms(m *mol.Mol) bool {
	lower := uint64(0)
	for i := range m.Atoms {
		a := &m.Atoms[i]
		class := plainClass[a.Z&127]
		sum := uint32(a.Twice) + 2*uint32(a.ExplicitH)
		charge := uint32(int32(a.Charge) + 1)
		if class == 0 || charge > 2 || sum >= maxPlainSum || a.Radicals != 0 {
			return false
		}
		wide := 0
		if a.IsAromaticWide() {
			wide = 1
			if !a.IsAromatic() || class > lastAromaticClass {
				return false
			}
			lower |= 1 << (i & 63)
		}
		p := &plainValences[class][charge][wide][sum]
		if a.Flags&mol.NoImplicit != 0 {
			if p.bracket != fine {
				return false
			}
			a.ImplicitH = 0
		} else {
			if p.bare != fine {
				return false
			}
			a.ImplicitH = p.implicit
		}
		if p.check != 0 && !p.suits(a) {
			return false
		}
		a.Valence = int32(p.valence)
	}
	q.lower = lower
	return true
}

// findCycles finds for each ring-closure bond the cycle that it closes with the
// tree of the other bonds, which is the string's own.
func (q *quick) findCycles(m *mol.Mol, slots [][4]mol.Half) bool {
	for i := range m.Atoms {
		h := slots[i][0]
		if m.Atoms[i].Degree == 0 || int(h.Atom) > i || int(h.Bond) >= m.ChainBonds {
			q.depth[i&63] = 0
			continue
		}
		q.parent[i&63], q.tree[i&63] = uint8(h.Atom), uint8(h.Bond)
		q.depth[i&63] = q.depth[h.Atom&63] + 1
	}
	for i := m.ChainBonds; i < len(m.Bonds); i++ {
		u, v := uint8(m.Bonds[i].A)&63, uint8(m.Bonds[i].B)&63
		c := cycle{bonds: 1 << (i & 63)}
		for u != v {
			if q.depth[u] < q.depth[v] {
				u, v = v, u
			}
			if q.depth[u] == 0 {
				return false // the closure joins two parts of the string
			}
			c.atoms |= 1 << u
			c.bonds |= 1 << (q.tree[u] & 63)
			u = q.parent[u] & 63
		}
		c.atoms |= 1 << u
		q.cycles[(i-m.ChainBonds)&63] = c
		q.ringAtoms |= c.atoms
		q.ringBonds |= c.bonds
	}
	return true
}

// findBlocks unites the first n cycles where they share bonds and returns the
// number of blocks.
func (q *quick) findBlocks(n int) int {
	count := 0
	for i := range n {
		c, members := q.cycles[i&63], uint64(1)<<(i&63)
		for j := 0; j < count; {
			if q.blocks[j&63].bonds&c.bonds == 0 {
				j++
				continue
			}
			c.bonds |= q.blocks[j&63].bonds
			c.atoms |= q.blocks[j&63].atoms
			members |= q.members[j&63]
			count--
			q.blocks[j&63], q.members[j&63] = q.blocks[count&63], q.members[count&63]
		}
		q.blocks[count&63], q.members[count&63] = c, members
		count++
	}
	return count
}

// block perceives one fused ring system.
func (q *quick) block(m *mol.Mol, slots [][4]mol.Half, c *cycleFinder, i int) bool {
	b := q.blocks[i&63]
	if q.lower&b.atoms != 0 && !q.pair(m, slots, b) {
		return false
	}
	q.classify(m, b.atoms)
	if bits.OnesCount64(q.allowed) < 3 {
		return true
	}
	if !q.findRings(m, slots, c, b, q.members[i&63]) {
		return false
	}
	return q.perceiveRings(m)
}

// write puts the results into the molecule.
func (q *quick) write(m *mol.Mol) {
	for s := q.ringAtoms; s != 0; s &= s - 1 {
		m.Atoms[bits.TrailingZeros64(s)].Flags |= mol.InRing
	}
	for s := q.aromatic &^ (q.written | q.triple); s != 0; s &= s - 1 {
		m.Bonds[bits.TrailingZeros64(s)].Type = mol.AromaticType
	}
	for s := q.written &^ q.ringBonds; s != 0; s &= s - 1 {
		m.Bonds[bits.TrailingZeros64(s)].Type = mol.Single
	}
}
