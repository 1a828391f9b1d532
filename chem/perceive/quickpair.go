package perceive

import (
	"math/bits"

	"scimesh.dev/scimesh/chem/mol"
)

// pair finds which atoms of the block take part in alternating bonds and checks
// that they can be paired off along the bonds written as aromatic. It gives up
// where choosing greedily, atoms without a choice first, does not succeed.
func (q *quick) pair(m *mol.Mol, slots [][4]mol.Half, block cycle) bool {
	candidates := uint64(0)
	for s := q.lower & block.atoms; s != 0; s &= s - 1 {
		i := bits.TrailingZeros64(s)
		g := q.atoms[i&63]
		a := &m.Atoms[g]
		n := bits.OnesCount64(q.incident[i&63] & q.written)
		if q.linking > 0 {
			n = aromaticBonds(m, slots, g)
		}
		if (survey{order: n + (int(a.Twice)-3*n)/2}).candidate(a) {
			candidates |= 1 << i
		}
	}
	q.paired |= candidates
	for left := candidates; left != 0; {
		v := q.leastChoice(left)
		for v >= 0 {
			p := q.partners[v&63] & left
			if p == 0 {
				return false
			}
			w := bits.TrailingZeros64(p)
			left &^= 1<<v | 1<<w
			around := (q.partners[v&63] | q.partners[w&63]) & left
			v = -1
			for ; around != 0; around &= around - 1 {
				x := bits.TrailingZeros64(around)
				switch p := q.partners[x&63] & left; {
				case p == 0:
					return false
				case p&(p-1) == 0:
					v = x
				}
			}
		}
	}
	return true
}

// aromaticBonds counts the bonds of atom g written as aromatic.
func aromaticBonds(m *mol.Mol, slots [][4]mol.Half, g int32) int {
	n := 0
	for _, h := range slots[g][:m.Atoms[g].Degree&7] {
		if m.Bonds[h.Bond].Type == mol.AromaticType {
			n++
		}
	}
	return n
}

// leastChoice is an atom with at most one partner if there is one, else the
// lowest.
func (q *quick) leastChoice(left uint64) int {
	for s := left; s != 0; s &= s - 1 {
		i := bits.TrailingZeros64(s)
		if p := q.partners[i&63] & left; p&(p-1) == 0 {
			return i
		}
	}
	return bits.TrailingZeros64(left)
}

// classify finds the donor types of the atoms of a block. An atom that may not be
// aromatic is in none of the sets; one that gives no electron but may is in
// allowed alone.
func (q *quick) classify(m *mol.Mol, slots [][4]mol.Half, atoms uint64) {
	q.one, q.two, q.allowed = 0, 0, 0
	for s := atoms; s != 0; s &= s - 1 {
		i := bits.TrailingZeros64(s)
		g := q.atoms[i&63]
		a := &m.Atoms[g]
		degree := int(a.Degree) + a.TotalH()
		if degree > 3 {
			continue
		}
		if a.Z == 6 && a.Charge == 0 && degree == 3 && q.paired>>(i&63)&1 != 0 {
			q.one |= 1 << (i & 63) // most atoms by far
			q.allowed |= 1 << (i & 63)
			continue
		}
		e := mol.ElementOf(a.Z)
		dv, valence := e.DefaultValence(), int(a.Valence)
		paired := q.paired>>(i&63)&1 != 0
		inside := q.incident[i&63]&q.multiple != 0 || paired
		unsaturated := valence - int(a.Degree)
		outside := int32(-1)
		if unsaturated > 0 && !paired {
			outside = q.outside(m, slots, g)
		}
		n := dv - degree + max(int(e.OuterElectrons)-dv-int(a.Charge), 0)
		if unsaturated > 1 {
			if q.multiples(m, slots, g, paired) > 1 {
				continue
			}
			n = min(n, 1)
		}
		if dv <= 1 || n < 0 || valence+int(a.ImplicitH) > mol.ElementOf(a.Z-uint8(a.Charge)).DefaultValence() {
			continue
		}
		q.give(1<<(i&63), a, n, inside, outside >= 0, outside >= 0 && mol.MoreElectronegative(m.Atoms[outside].Z, a.Z))
	}
}

// give puts an atom with n electrons to give into the sets; a multiple bond
// inside or outside the rings decides, and whether the latter's other atom
// attracts electrons more.
func (q *quick) give(bit uint64, a *mol.Atom, n int, inside, outside, steals bool) {
	switch {
	case n == 0 && outside:
	case n == 0 && inside:
		q.one |= bit
	case n == 0:
		return
	case n == 1 && outside:
		if !steals {
			q.one |= bit
		}
	case n == 1:
		if a.Valence != a.Degree+int32(a.ExplicitH) {
			q.one |= bit
		} else if a.Charge != 1 {
			return
		}
	default:
		if steals {
			n--
		}
		if n%2 == 1 {
			q.one |= bit
		} else {
			q.two |= bit
		}
	}
	q.allowed |= bit
}

// outside is the atom that a multiple bond outside the rings leads to from atom
// g, or -1.
func (q *quick) outside(m *mol.Mol, slots [][4]mol.Half, g int32) int32 {
	for _, h := range slots[g][:m.Atoms[g].Degree&7] {
		if t := m.Bonds[h.Bond].Type; (t == mol.Double || t == mol.Triple) && q.bondNumber[h.Bond] == 0 {
			return h.Atom
		}
	}
	return -1
}

// multiples counts the multiple bonds of atom g in the Kekulé form.
func (q *quick) multiples(m *mol.Mol, slots [][4]mol.Half, g int32, paired bool) int {
	n := 0
	if paired {
		n++
	}
	for _, h := range slots[g][:m.Atoms[g].Degree&7] {
		if t := m.Bonds[h.Bond].Type; t == mol.Double || t == mol.Triple {
			n++
		}
	}
	return n
}
