package mol

import "slices"

// Flags are the booleans of an atom or bond.
type Flags uint8

const (
	// Aromatic is the atom's or bond's own aromatic flag.
	Aromatic Flags = 1 << iota
	// NoImplicit says that no implicit hydrogens are added (bracket atoms).
	NoImplicit
	// AromaticBond says that a bond of the atom is aromatic by flag or type.
	AromaticBond
	// InRing marks atoms and bonds that lie on a cycle.
	InRing
	// Start marks the first atom of a component as written.
	Start
)

// BondType is the kind of a bond; the values are the codes that enter the
// fingerprint.
type BondType uint8

// The bond types.
const (
	Unspecified  BondType = 0
	Single       BondType = 1
	Double       BondType = 2
	Triple       BondType = 3
	Quadruple    BondType = 4
	AromaticType BondType = 12
	HydrogenBond BondType = 14
	Dative       BondType = 17
	ZeroOrder    BondType = 21
)

// twice is twice the valence contribution of each bond type.
var twice = [ZeroOrder + 1]uint8{Single: 2, Double: 4, Triple: 6, Quadruple: 8, AromaticType: 3, Dative: 2}

// Twice is twice the order of the bond type, aromatic counting 3.
func (t BondType) Twice() int32 { return int32(twice[t]) }

// Direction is the mark of a single bond beside a double bond.
type Direction uint8

// The directions.
const (
	NoDirection Direction = iota
	Up                    // written /
	Down                  // written \
)

// Opposite is the direction seen from the bond's other end.
func (d Direction) Opposite() Direction {
	switch d {
	case Up:
		return Down
	case Down:
		return Up
	}
	return NoDirection
}

// Chirality is the class of a chirality mark.
type Chirality uint8

// The classes.
const (
	NoChirality Chirality = iota
	CounterClockwise
	Clockwise
	Allene
	SquarePlanar
	TrigonalBipyramidal
	Octahedral
)

// IsTetrahedral reports whether c is @ or @@.
func (c Chirality) IsTetrahedral() bool { return c == CounterClockwise || c == Clockwise }

// IsNonTetrahedral reports whether c is one of the classes SP, TB and OH.
func (c Chirality) IsNonTetrahedral() bool { return c >= SquarePlanar }

// Invert swaps @ and @@ and leaves other classes alone.
func (c Chirality) Invert() Chirality {
	switch c {
	case CounterClockwise:
		return Clockwise
	case Clockwise:
		return CounterClockwise
	}
	return c
}

// Atom is one atom. Hydrogens that are no graph atoms are counted in ExplicitH
// and ImplicitH.
type Atom struct {
	Z         uint8
	Charge    int8
	ExplicitH uint8
	ImplicitH uint8 // also called the implicit valence
	Radicals  uint8
	Flags     Flags
	Isotope   uint16
	Degree    int32 // graph neighbours
	Twice     int32 // twice the sum of the valence contributions of the bonds
	Valence   int32 // explicit valence, as last computed
	Map       int32 // atom map number plus one, 0 for none
	Chirality Chirality
	Perm      uint8 // permutation number of a non-tetrahedral class
}

// TotalH counts hydrogens that are no graph atoms.
func (a *Atom) TotalH() int { return int(a.ExplicitH) + int(a.ImplicitH) }

// IsAromatic reports the aromatic flag of the atom itself.
func (a *Atom) IsAromatic() bool { return a.Flags&Aromatic != 0 }

// IsAromaticWide reports whether the atom or one of its bonds is aromatic.
func (a *Atom) IsAromaticWide() bool { return a.Flags&(Aromatic|AromaticBond) != 0 }

// Bond joins atoms A (begin) and B (end); a dative bond points from A to B.
type Bond struct {
	A, B      int32
	Type      BondType
	Direction Direction
	Flags     Flags
}

// Other is the atom at the other end.
func (b *Bond) Other(a int32) int32 { return b.A ^ b.B ^ a }

// Contribution is twice what the bond adds to the valence of its atom a.
func (b *Bond) Contribution(a int32) int32 {
	if b.Type == Dative && a == b.A {
		return 0
	}
	return int32(twice[b.Type])
}

// Half is a bond as seen from one atom.
type Half struct {
	Atom, Bond int32
}

// RingDigit is one ring-closure digit as written: the atom it stands at and the
// bond it became.
type RingDigit struct {
	Atom, Bond int32
}

// Mol is a molecular graph, disconnected parts included.
type Mol struct {
	Atoms      []Atom
	Bonds      []Bond
	RingDigits []RingDigit // in the order of the string

	// ChainBonds is the number of bonds that join an atom to an earlier one in
	// the string; bonds from there on are ring closures.
	ChainBonds int

	// MarkedOddly says that an atom has a tetrahedral mark whose removal could
	// change its hydrogens: any but the common non-metals, or any atom where bonds
	// are written as aromatic.
	MarkedOddly bool

	// Plain says that all bonds are single, double, triple or, between aromatic
	// atoms, aromatic.
	Plain bool

	// Hydrogens says that there are hydrogen atoms.
	Hydrogens bool

	// Aromatics counts the bonds that were read as aromatic.
	Aromatics int

	// Neighbour lists: in slots, four places an atom, while no atom has more
	// neighbours; else packed in halves behind offsets.
	slots   [][4]Half
	packed  bool
	offsets []int32
	halves  []Half
}

// Reset empties the molecule and keeps its memory.
func (m *Mol) Reset() {
	m.Atoms, m.Bonds, m.RingDigits, m.ChainBonds = m.Atoms[:0], m.Bonds[:0], m.RingDigits[:0], 0
	m.MarkedOddly, m.packed, m.Plain, m.Hydrogens, m.Aromatics = false, false, true, false, 0
}

// AddAtom appends an atom without bonds and returns it; the pointer is good until
// the next call.
func (m *Mol) AddAtom() *Atom {
	n := len(m.Atoms)
	if n == cap(m.Atoms) || n == cap(m.slots) {
		m.Atoms = slices.Grow(m.Atoms, n+32)
		m.slots = slices.Grow(m.slots[:n], cap(m.Atoms)-n)
	}
	m.Atoms = m.Atoms[:n+1]
	a := &m.Atoms[n]
	*a = Atom{}
	return a
}

// AddBond appends a bond, counts it at both its atoms and enters it into their
// neighbour lists.
func (m *Mol) AddBond(bond Bond) {
	i := int32(len(m.Bonds))
	m.Bonds = append(m.Bonds, bond)
	a, b := &m.Atoms[bond.A], &m.Atoms[bond.B]
	a.Twice += bond.Contribution(bond.A)
	b.Twice += bond.Contribution(bond.B)
	if bond.Flags&Aromatic != 0 {
		a.Flags |= AromaticBond
		b.Flags |= AromaticBond
		m.Aromatics++
	}
	slots := m.slots[:cap(m.slots)]
	slots[bond.A][a.Degree&3] = Half{bond.B, i}
	slots[bond.B][b.Degree&3] = Half{bond.A, i}
	a.Degree++
	b.Degree++
	if a.Degree > 4 || b.Degree > 4 {
		m.packed = true
	}
}

// Chain adds the bond between the last atom and an earlier one that stands
// without a symbol: aromatic between aromatic atoms, else single.
func (m *Mol) Chain(prev int32) {
	i, n := int32(len(m.Bonds)), int32(len(m.Atoms)-1)
	a, b := &m.Atoms[prev], &m.Atoms[n]
	bond := Bond{A: prev, B: n, Type: Single}
	order := int32(2)
	if a.Flags&b.Flags&Aromatic != 0 {
		bond.Type, bond.Flags = AromaticType, Aromatic
		order = 3
		a.Flags |= AromaticBond
		b.Flags |= AromaticBond
		m.Aromatics++
	}
	m.Bonds = append(m.Bonds, bond)
	slots := m.slots[:cap(m.slots)]
	slots[prev][a.Degree&3] = Half{n, i}
	slots[n][0] = Half{prev, i}
	a.Twice += order
	b.Twice = order
	a.Degree++
	b.Degree = 1
	if a.Degree > 4 {
		m.packed = true
	}
}

// Finish completes the neighbour lists after the last AddBond.
func (m *Mol) Finish() {
	m.slots = m.slots[:len(m.Atoms)]
	if m.packed {
		m.pack()
	}
}

// Neighbors lists the bonds of atom a in ascending order of bond index. It is
// valid after Link.
func (m *Mol) Neighbors(a int32) []Half {
	if m.packed {
		return m.halves[m.offsets[a]:m.offsets[a+1]]
	}
	return m.slots[a][:m.Atoms[a].Degree]
}

// Slots returns the neighbour lists by atom as arrays, of which the first Degree
// entries count, and whether the molecule has them: if no atom has more than
// four neighbours.
func (m *Mol) Slots() ([][4]Half, bool) { return m.slots, !m.packed }

// Link builds the neighbour lists from the bonds. Atom degrees must be right.
func (m *Mol) Link() {
	n := len(m.Atoms)
	m.packed = false
	for i := range m.Atoms {
		if m.Atoms[i].Degree > 4 {
			m.packed = true
			m.pack()
			return
		}
	}
	m.slots = grow(m.slots, n)
	m.offsets = grow(m.offsets, n+1)
	fill := m.offsets[:n]
	clear(fill)
	for i := range m.Bonds {
		a, b := m.Bonds[i].A, m.Bonds[i].B
		m.slots[a][fill[a]&3] = Half{b, int32(i)}
		m.slots[b][fill[b]&3] = Half{a, int32(i)}
		fill[a]++
		fill[b]++
	}
}

// pack builds the lists behind offsets.
func (m *Mol) pack() {
	n := len(m.Atoms)
	m.offsets = grow(m.offsets, n+1)
	m.halves = grow(m.halves, 2*len(m.Bonds))
	off := m.offsets
	sum := int32(0)
	for i := range m.Atoms {
		off[i] = sum
		sum += m.Atoms[i].Degree
	}
	off[n] = sum
	for i := range m.Bonds {
		b := &m.Bonds[i]
		pa, pb := off[b.A], off[b.B]
		m.halves[pa] = Half{b.B, int32(i)}
		m.halves[pb] = Half{b.A, int32(i)}
		off[b.A], off[b.B] = pa+1, pb+1
	}
	copy(off[1:], off[:n])
	off[0] = 0
}

// Between returns the index of the bond between a and b, or -1.
func (m *Mol) Between(a, b int32) int32 {
	if m.Atoms[a].Degree > m.Atoms[b].Degree {
		a, b = b, a
	}
	for _, h := range m.Neighbors(a) {
		if h.Atom == b {
			return h.Bond
		}
	}
	return -1
}

// SetType changes the type of bond b and keeps the sums of its atoms.
func (m *Mol) SetType(b int32, t BondType) {
	bond := &m.Bonds[b]
	m.Atoms[bond.A].Twice -= bond.Contribution(bond.A)
	m.Atoms[bond.B].Twice -= bond.Contribution(bond.B)
	bond.Type = t
	m.Atoms[bond.A].Twice += bond.Contribution(bond.A)
	m.Atoms[bond.B].Twice += bond.Contribution(bond.B)
}

// RefreshAromaticBonds recomputes the AromaticBond flag of every atom.
func (m *Mol) RefreshAromaticBonds() {
	for i := range m.Atoms {
		m.Atoms[i].Flags &^= AromaticBond
	}
	for i := range m.Bonds {
		if b := &m.Bonds[i]; b.Flags&Aromatic != 0 || b.Type == AromaticType {
			m.Atoms[b.A].Flags |= AromaticBond
			m.Atoms[b.B].Flags |= AromaticBond
		}
	}
}

// grow returns s with length n, reallocating only when the capacity is short.
// The contents are unspecified.
func grow[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n, n+n/2+16)
	}
	return s[:n]
}
