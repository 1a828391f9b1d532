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
		a := &m.Atoms[i]
		n := bits.OnesCount64(q.incident[i&63] & q.written)
		if (survey{order: n + (int(a.Twice)-3*n)/2}).candidate(a) {
			candidates |= 1 << i
		}
	}
	q.paired |= candidates
	for left := candidates; left != 0; {
		v := q.leastChoice(slots, left)
		for v >= 0 {
			w := -1
			if p := q.partners(slots, v, left); p != 0 {
				w = bits.TrailingZeros64(p)
			}
			if w < 0 {
				return false
			}
			left &^= 1<<v | 1<<w
			next := -1
			around := (q.partners(slots, v, left) | q.partners(slots, w, left))
			for ; around != 0; around &= around - 1 {
				x := bits.TrailingZeros64(around)
				switch bits.OnesCount64(q.partners(slots, x, left)) {
				case 0:
					return false
				case 1:
					next = x
				}
			}
			v = next
		}
	}
	return true
}

// partners are the atoms of left that atom i is bonded to as written aromatic.
func (q *quick) partners(slots [][4]mol.Half, i int, left uint64) uint64 {
	set := uint64(0)
	for b := q.incident[i&63] & q.written & q.ringBonds; b != 0; b &= b - 1 {
		bond := int32(bits.TrailingZeros64(b))
		for k := range slots[i] {
			if slots[i][k].Bond == bond {
				set |= 1 << (slots[i][k].Atom & 63)
				break
			}
		}
	}
	return set & left
}

// leastChoice is an atom with a single partner if there is one, else the lowest.
func (q *quick) leastChoice(slots [][4]mol.Half, left uint64) int {
	for s := left; s != 0; s &= s - 1 {
		if i := bits.TrailingZeros64(s); bits.OnesCount64(q.partners(slots, i, left)) <= 1 {
			return i
		}
	}
	return bits.TrailingZeros64(left)
}

// classify finds the donor types of the atoms of a block. An atom that may not be
// aromatic is in none of the sets; one that gives no electron but may is in
// allowed alone.
func (q *quick) classify(m *mol.Mol, atoms uint64) {
	one, two, allowed := uint64(0), uint64(0), uint64(0)
	for s := atoms; s != 0; s &= s - 1 {
		i := bits.TrailingZeros64(s)
		a := &m.Atoms[i]
		degree := int(a.Degree) + a.TotalH()
		if degree > 3 {
			continue
		}
		e := mol.ElementOf(a.Z)
		dv, valence := e.DefaultValence(), int(a.Valence)
		multiple := q.incident[i&63] & q.multiple
		inside := multiple&q.ringBonds != 0 || q.paired>>i&1 != 0
		outside := multiple &^ q.ringBonds
		unsaturated := valence - int(a.Degree)
		n := dv - degree + max(int(e.OuterElectrons)-dv-int(a.Charge), 0)
		if unsaturated > 1 {
			if bits.OnesCount64(multiple)+int(q.paired>>i&1) > 1 {
				continue
			}
			n = min(n, 1)
		}
		if dv <= 1 || n < 0 || valence+int(a.ImplicitH) > mol.ElementOf(a.Z-uint8(a.Charge)).DefaultValence() {
			continue
		}
		steals := false
		if outside != 0 {
			b := &m.Bonds[bits.TrailingZeros64(outside)]
			steals = mol.MoreElectronegative(m.Atoms[b.Other(int32(i))].Z, a.Z)
		}
		bit := uint64(1) << i
		switch {
		case n == 0 && outside != 0:
			allowed |= bit
		case n == 0 && inside:
			allowed |= bit
			one |= bit
		case n == 0:
		case n == 1 && outside != 0:
			allowed |= bit
			if !steals {
				one |= bit
			}
		case n == 1:
			if valence != int(a.Degree)+int(a.ExplicitH) {
				allowed |= bit
				one |= bit
			} else if a.Charge == 1 {
				allowed |= bit
			}
		default:
			if steals {
				n--
			}
			allowed |= bit
			if n%2 == 1 {
				one |= bit
			} else {
				two |= bit
			}
		}
	}
	q.one, q.two, q.allowed = one, two, allowed
}
