package smiles

import (
	"slices"

	"scimesh.dev/scimesh/chem/mol"
)

// maxRingNumber is the largest ring number, %(99999).
const maxRingNumber = 99999

// closure is one use of a ring number at two atoms.
type closure struct {
	number     int32
	first      int32 // atoms in the order of the string
	second     int32 // -1 while open
	firstBond  byte  // bond symbols at the two ends, 0 for none
	secondBond byte
	index      int32 // in the order of opening
	written    int32 // bond number if bonds counted where they are completed
	offset     int   // of the second digit, or of the first while open
}

// closures pairs ring numbers while a string is read.
type closures struct {
	all  []closure
	open [100]int32 // index in all plus one, by number
	many []int32    // the same for numbers from 100 on; made when first needed
	used []int32    // numbers whose entry in many may be set
	opn  int        // how many are open
	done int32      // how many are closed
	bond []int32    // bond index by closure index
}

// reset forgets the closures of the previous string.
func (c *closures) reset() {
	if c.opn > 0 {
		c.open = [100]int32{}
		for _, n := range c.used {
			c.many[n] = 0
		}
		c.opn = 0
	}
	c.used = c.used[:0]
	c.all = c.all[:0]
	c.done = 0
}

// slot is the place that remembers whether the number is open.
func (c *closures) slot(number int32) *int32 {
	if number < 100 {
		return &c.open[number]
	}
	if c.many == nil {
		c.many = make([]int32, maxRingNumber+1)
	}
	c.used = append(c.used, number)
	return &c.many[number]
}

// ringNumber reads the ring number %nn or %(n…) at offset i.
func (r *Reader) ringNumber(i, end int) (number int32, next int, err error) {
	s := r.input[:end]
	if i+1 < end && s[i+1] == '(' {
		j := i + 2
		for ; j < end && isDigit(s[j]) && j < i+7; j++ {
			number = number*10 + int32(s[j]-'0')
		}
		if j == i+2 || j >= end || s[j] != ')' {
			return 0, 0, r.fail(j, "%%( takes one to five digits and a closing parenthesis")
		}
		return number, j + 1, nil
	}
	if i+2 < end && isDigit(s[i+1]) && s[i+1] != '0' && isDigit(s[i+2]) {
		return int32(s[i+1]-'0')*10 + int32(s[i+2]-'0'), i + 3, nil
	}
	return 0, 0, r.fail(i, "%% takes two digits, the first not 0")
}

func isDigit(c byte) bool { return c-'0' <= 9 }

// ringDigit opens or closes the ring number at the given atom.
func (r *Reader) ringDigit(number int32, offset int, atom int32, mark bondMark) {
	c := &r.closures
	r.turnForLateDigit(atom)
	slot := c.slot(number)
	if *slot == 0 {
		index := int32(len(c.all))
		c.all = append(c.all, closure{number: number, first: atom, second: -1,
			firstBond: mark.symbol, index: index, offset: offset})
		*slot = index + 1
		c.opn++
		r.m.RingDigits = append(r.m.RingDigits, mol.RingDigit{Atom: atom, Bond: index})
		return
	}
	cl := &c.all[*slot-1]
	cl.second, cl.secondBond, cl.offset = atom, mark.symbol, offset
	cl.written = int32(r.m.ChainBonds) + c.done
	*slot = 0
	c.opn--
	c.done++
	r.m.RingDigits = append(r.m.RingDigits, mol.RingDigit{Atom: atom, Bond: cl.index})
}

// turnForLateDigit inverts the mark of a tetrahedral atom whose ring digit comes
// after a branch, where the digit's place among the neighbours differs by one
// swap from where it is stored.
func (r *Reader) turnForLateDigit(atom int32) {
	a := &r.m.Atoms[atom]
	if !a.Chirality.IsTetrahedral() || a.Perm == classForm || int(atom) == len(r.m.Atoms)-1 {
		return
	}
	if a.Degree == 1 || a.Degree == 2 && atom != 0 || a.Degree == 3 && atom == 0 {
		a.Chirality = a.Chirality.Invert()
	}
}

// closeRings turns the closures into bonds, by number and then by appearance.
func (r *Reader) closeRings() error {
	c := &r.closures
	if len(c.all) == 0 {
		r.m.Finish()
		return nil
	}
	if c.opn > 0 {
		for i := range c.all {
			if cl := &c.all[i]; cl.second < 0 {
				return r.fail(cl.offset, "ring number %d is never closed", cl.number)
			}
		}
	}
	sorted := true
	for i := 1; i < len(c.all); i++ {
		sorted = sorted && c.all[i-1].number <= c.all[i].number
	}
	if !sorted {
		slices.SortStableFunc(c.all, func(a, b closure) int { return int(a.number - b.number) })
	}
	if cap(c.bond) < len(c.all) {
		c.bond = make([]int32, 2*len(c.all))
	}
	c.bond = c.bond[:cap(c.bond)]
	m := r.m
	first := len(m.Bonds)
	for i := range c.all {
		cl := &c.all[i]
		if cl.first == cl.second {
			return r.fail(cl.offset, "ring number %d joins an atom to itself", cl.number)
		}
		c.bond[cl.index] = int32(len(m.Bonds))
		m.AddBond(cl.join(m))
	}
	for i := range m.RingDigits {
		m.RingDigits[i].Bond = c.bond[m.RingDigits[i].Bond]
	}
	m.Finish()
	return r.checkDuplicates(first)
}

// join makes the bond of a finished closure. The first end decides if it writes
// a bond other than a direction, else the second; the deciding end begins it.
func (cl *closure) join(m *mol.Mol) mol.Bond {
	a, b, symbol, other := cl.first, cl.second, cl.firstBond, cl.secondBond
	if symbol == 0 || symbol == '/' || symbol == '\\' {
		a, b, symbol, other = b, a, other, symbol
	}
	if symbol == '~' { // the query is lost at a ring closure
		symbol = 0
	}
	bond := bondOf(symbol, a, b, m.Atoms[a].Flags&m.Atoms[b].Flags&mol.Aromatic != 0)
	if bond.Direction == mol.NoDirection {
		d := bondOf(other, b, a, false)
		if bond.A != b { // the other end looks along the bond from its far side
			bond.Direction = d.Direction.Opposite()
		} else {
			bond.Direction = d.Direction
		}
	}
	return bond
}

// checkDuplicates refuses closure bonds between atoms that are bonded already.
func (r *Reader) checkDuplicates(first int) error {
	m := r.m
	for i := first; i < len(m.Bonds); i++ {
		b := &m.Bonds[i]
		x, y := b.A, b.B
		if m.Atoms[x].Degree > m.Atoms[y].Degree {
			x, y = y, x
		}
		for _, h := range m.Neighbors(x) {
			if h.Atom == y && h.Bond < int32(i) {
				cl := &r.closures.all[i-first]
				return r.fail(cl.offset, "ring number %d repeats a bond", cl.number)
			}
		}
	}
	return nil
}
