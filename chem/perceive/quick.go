package perceive

import (
	"math/bits"

	"scimesh.dev/scimesh/chem/mol"
)

// quick perceives plain molecules with sets of one word: common elements, no
// more than four neighbours, up to 64 ring atoms and 64 ring bonds, no radicals,
// dummies, dative or unspecified bonds, nothing to clean up and nothing to
// refuse. For these it gives what the general steps give, several times faster;
// whatever it meets beyond them it leaves to those.
//
// Two facts save most of the work. Which Kekulé form is found does not matter for
// aromaticity, only which atoms take part in it: each of those has one double
// bond, and it lies in the ring system. And where all bonds written as aromatic
// turn out aromatic, the form is not seen in the result either.
type quick struct {
	// Ring atoms and ring bonds have numbers from 0 to 63, plus one here.
	atomNumber []uint8
	bondNumber []uint8
	atoms      [64]int32
	bonds      [64]int32
	nAtoms     int
	nBonds     int

	near     [64]uint64 // neighbours over ring bonds, by ring atom
	partners [64]uint64 // those of them bonded as written aromatic
	incident [64]uint64 // ring bonds, by ring atom
	written  uint64     // ring bonds written as aromatic
	multiple uint64     // ring bonds that are double or triple
	triple   uint64
	aromatic uint64 // ring bonds found aromatic
	lower    uint64 // ring atoms written as aromatic
	paired   uint64 // ring atoms with a double bond in the Kekulé form
	nLower   int    // atoms written as aromatic
	linking  int    // bonds written as aromatic that lie in no ring

	one, two, allowed uint64 // donor types of the block at hand

	cycles  [64]cycle // one for each ring closure
	blocks  [64]cycle // unions of cycles that share bonds
	members [64]uint64
	rings   []cycle
}

// cycle is a set of ring bonds with their atoms.
type cycle struct {
	bonds, atoms uint64
}

func (c cycle) size() int { return bits.OnesCount64(c.bonds) }

// run perceives m and reports whether it could. If not, m can still be perceived
// by the general steps. Of m it sets the hydrogens, bond types and ring flags;
// other perceived values are left behind.
func (q *quick) run(m *mol.Mol, c *cycleFinder) bool {
	slots, ok := m.Slots()
	if !ok || !m.Plain || !q.readAtoms(m) {
		return false
	}
	closures := len(m.Bonds) - m.ChainBonds
	if closures == 0 {
		return q.nLower == 0
	}
	if closures > 64 || !q.findCycles(m, slots) {
		return false
	}
	q.linkRings(m)
	if bits.OnesCount64(q.lower) != q.nLower {
		return false // aromatic atoms outside rings
	}
	for i := range q.findBlocks(closures) {
		if !q.block(m, slots, c, i) {
			return false
		}
	}
	if q.written&^q.aromatic != 0 {
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

// readAtoms looks up the valences of every atom.
func (q *quick) readAtoms(m *mol.Mol) bool {
	lower := 0
	for i := range m.Atoms {
		a := &m.Atoms[i]
		class := plainClass[a.Z&127]
		sum := uint32(a.Twice) + 2*uint32(a.ExplicitH)
		charge := uint32(int32(a.Charge) + 1)
		if class == 0 || charge > 2 || sum >= maxPlainSum {
			return false
		}
		wide := 0
		if a.IsAromaticWide() {
			wide = 1
			if class > lastAromaticClass {
				return false
			}
			lower++
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
	q.nLower = lower
	return true
}

// findCycles finds for each ring-closure bond the cycle that it closes with the
// other bonds, which make a tree in the order of the string: every atom but the
// first of a component is bonded to one before it. What is in cycles is numbered.
func (q *quick) findCycles(m *mol.Mol, slots [][4]mol.Half) bool {
	q.atomNumber, q.bondNumber = growClear(q.atomNumber, len(m.Atoms)), growClear(q.bondNumber, len(m.Bonds))
	q.nAtoms, q.nBonds = 0, 0
	for i := m.ChainBonds; i < len(m.Bonds); i++ {
		u, v := m.Bonds[i].A, m.Bonds[i].B
		var c cycle
		if !q.addBond(&c, int32(i)) {
			return false
		}
		for u != v {
			if u < v {
				u, v = v, u
			}
			before := slots[u][0]
			if before.Atom > u || int(before.Bond) >= m.ChainBonds || !q.addAtom(&c, u) || !q.addBond(&c, before.Bond) {
				return false // the closure joins two parts of the string, or too much is in rings
			}
			u = before.Atom
		}
		if !q.addAtom(&c, u) {
			return false
		}
		q.cycles[(i-m.ChainBonds)&63] = c
	}
	return true
}

// addAtom puts an atom into c and numbers it if it is new.
func (q *quick) addAtom(c *cycle, a int32) bool {
	k := q.atomNumber[a]
	if k == 0 {
		if q.nAtoms == 64 {
			return false
		}
		q.atoms[q.nAtoms] = a
		q.nAtoms++
		k = uint8(q.nAtoms)
		q.atomNumber[a] = k
	}
	c.atoms |= 1 << ((k - 1) & 63)
	return true
}

// addBond puts a bond into c and numbers it if it is new.
func (q *quick) addBond(c *cycle, b int32) bool {
	k := q.bondNumber[b]
	if k == 0 {
		if q.nBonds == 64 {
			return false
		}
		q.bonds[q.nBonds] = b
		q.nBonds++
		k = uint8(q.nBonds)
		q.bondNumber[b] = k
	}
	c.bonds |= 1 << ((k - 1) & 63)
	return true
}

// linkRings fills the tables of ring atoms and sorts the ring bonds by type.
func (q *quick) linkRings(m *mol.Mol) {
	q.aromatic, q.paired = 0, 0
	lower := uint64(0)
	for i, a := range q.atoms[:q.nAtoms] {
		if m.Atoms[a].IsAromatic() {
			lower |= 1 << i
		}
		q.near[i], q.partners[i], q.incident[i] = 0, 0, 0
	}
	written, multiple, triple := uint64(0), uint64(0), uint64(0)
	for i, b := range q.bonds[:q.nBonds] {
		bond := &m.Bonds[b]
		x, y := (q.atomNumber[bond.A]-1)&63, (q.atomNumber[bond.B]-1)&63
		bit := uint64(1) << i
		q.near[x] |= 1 << y
		q.near[y] |= 1 << x
		q.incident[x] |= bit
		q.incident[y] |= bit
		switch bond.Type {
		case mol.AromaticType:
			written |= bit
			q.partners[x] |= 1 << y
			q.partners[y] |= 1 << x
		case mol.Double:
			multiple |= bit
		case mol.Triple:
			multiple |= bit
			triple |= bit
		}
	}
	q.lower, q.written, q.multiple, q.triple = lower, written, multiple, triple
	q.linking = m.Aromatics - bits.OnesCount64(written)
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
	q.classify(m, slots, b.atoms)
	if bits.OnesCount64(q.allowed) < 3 {
		return true
	}
	if !q.findRings(m, c, b, q.members[i&63]) {
		return false
	}
	return q.perceiveRings(m)
}

// write puts the results into the molecule. Bonds written as aromatic that lead
// from ring to ring are single.
func (q *quick) write(m *mol.Mol) {
	for _, a := range q.atoms[:q.nAtoms] {
		m.Atoms[a].Flags |= mol.InRing
	}
	for s := q.aromatic &^ (q.written | q.triple); s != 0; s &= s - 1 {
		m.Bonds[q.bonds[bits.TrailingZeros64(s)]].Type = mol.AromaticType
	}
	if q.linking == 0 {
		return
	}
	for i := range m.Bonds {
		if m.Bonds[i].Type == mol.AromaticType && q.bondNumber[i] == 0 {
			m.Bonds[i].Type = mol.Single
		}
	}
}
