package morgan

import (
	"slices"

	"scimesh.dev/scimesh/chem/mol"
)

// short computes radius 2 of molecules with up to 128 atoms and bonds, no atom
// with more than four neighbours and no hydrogen atoms but lone ones. At this radius it is
// known beforehand which environments repeat others: in round one only those of
// a molecule of two atoms; in round two those of atoms with one neighbour, which
// equal the neighbour's of round one, and those of atoms that have only such
// neighbours, which are complete already. The others are compared.
type short struct {
	current, next [shortLimit]uint32
	incident      [shortLimit]bondSet   // bonds at each atom
	sets          [shortLimit]bondSet   // environments of round two
	table         [2 * shortLimit]uint8 // by hash of the set: its number plus one
	known         [1024]known
}

// shortLimit bounds the atoms and bonds.
const shortLimit = 128

// bondSet is a set of bonds.
type bondSet struct{ low, high uint64 }

// known is an invariant computed before.
type known struct {
	key, invariant uint32
}

// golden is the constant of the hash.
const golden = 0x9e3779b9

// add appends the identifiers of m and reports whether it could.
func (s *short) add(dst []uint32, m *mol.Mol) ([]uint32, bool) {
	slots, ok := m.Slots()
	n := len(m.Atoms)
	if !ok || n > shortLimit || len(m.Bonds) > shortLimit {
		return dst, false
	}
	dst = slices.Grow(dst, 3*n)
	if !s.invariants(m) {
		return dst, false
	}
	dst = append(dst, s.current[:n]...)
	for i := range m.Atoms {
		d := m.Atoms[i].Degree
		if d == 0 {
			s.incident[i&127] = bondSet{}
			continue
		}
		slot := &slots[i]
		h := s.hash(m, slot, d, i, 0)
		s.next[i&127], s.incident[i&127] = h, bondsAt(slot, d)
		if d == 1 {
			if o := slot[0].Atom; m.Atoms[o].Degree == 1 { // two atoms: one environment
				if int(o) > i {
					continue
				}
				h = min(h, s.next[o&127])
			}
		}
		dst = append(dst, h)
	}
	s.current, s.next = s.next, s.current
	return s.second(dst, m, slots), true
}

// second appends the identifiers of round two.
func (s *short) second(dst []uint32, m *mol.Mol, slots [][4]mol.Half) []uint32 {
	clear(s.table[:])
	first := len(dst)
	for i := range m.Atoms {
		d := m.Atoms[i].Degree
		if d < 2 {
			continue
		}
		slot := &slots[i]
		own := s.incident[i&127]
		set := own
		for k := range int32(4) {
			if k == d {
				break
			}
			o := &s.incident[slot[k].Atom&127]
			set.low |= o.low
			set.high |= o.high
		}
		if set == own {
			continue
		}
		h := s.hash(m, slot, d, i, 1)
		at := ((set.low ^ set.high*0xd6e8feb86659fd93) * 0x9e3779b97f4a7c15) >> 56
		for {
			k := s.table[at&255]
			if k == 0 {
				s.sets[(len(dst)-first)&127] = set
				dst = append(dst, h)
				s.table[at&255] = uint8(len(dst) - first)
				break
			}
			if s.sets[(k-1)&127] == set {
				if p := &dst[first+int(k)-1]; h < *p {
					*p = h
				}
				break
			}
			at++
		}
	}
	return dst
}

// bondsAt is the set of an atom's bonds.
func bondsAt(slot *[4]mol.Half, d int32) (set bondSet) {
	for k := range int32(4) {
		if k == d {
			break
		}
		b := slot[k].Bond
		if b < 64 {
			set.low |= 1 << (b & 63)
		} else {
			set.high |= 1 << (b & 63)
		}
	}
	return set
}

// hash combines atom i with its d neighbours in order of bond type and
// identifier.
func (s *short) hash(m *mol.Mol, slot *[4]mol.Half, d int32, i int, layer uint32) uint32 {
	h := combine(layer, s.current[i&127])
	k0 := s.pair(m, slot[0])
	switch d {
	case 1:
		return mix(h, k0)
	case 2:
		k1 := s.pair(m, slot[1])
		return mix(mix(h, min(k0, k1)), max(k0, k1))
	case 3:
		k1, k2 := s.pair(m, slot[1]), s.pair(m, slot[2])
		k0, k1 = min(k0, k1), max(k0, k1)
		k1, k2 = min(k1, k2), max(k1, k2)
		k0, k1 = min(k0, k1), max(k0, k1)
		return mix(mix(mix(h, k0), k1), k2)
	}
	k1, k2, k3 := s.pair(m, slot[1]), s.pair(m, slot[2]), s.pair(m, slot[3])
	k0, k1 = min(k0, k1), max(k0, k1)
	k2, k3 = min(k2, k3), max(k2, k3)
	k0, k2 = min(k0, k2), max(k0, k2)
	k1, k3 = min(k1, k3), max(k1, k3)
	k1, k2 = min(k1, k2), max(k1, k2)
	return mix(mix(mix(mix(h, k0), k1), k2), k3)
}

// pair is the bond's type with the neighbour's identifier, in one number that
// sorts as they do.
func (s *short) pair(m *mol.Mol, h mol.Half) uint64 {
	return uint64(m.Bonds[h.Bond].Type)<<32 | uint64(s.current[h.Atom&127])
}

// mix combines a pair into the running hash.
func mix(h uint32, pair uint64) uint32 {
	t := uint32(pair>>32) + golden
	return combine(h, combine(t, uint32(pair)))
}

// invariants fills current; it fails at bonded hydrogen atoms.
func (s *short) invariants(m *mol.Mol) bool {
	for i := range m.Atoms {
		a := &m.Atoms[i]
		if a.Z == 1 && a.Degree > 0 {
			return false
		}
		if a.Isotope != 0 {
			s.current[i&127] = Invariant(m, int32(i))
			continue
		}
		h := uint32(a.ExplicitH) + uint32(a.ImplicitH)
		key := uint32(a.Z) | (uint32(a.Degree)+h)<<7&0xf80 | h<<12&0xf000 | uint32(uint8(a.Charge))<<16 |
			uint32(a.Flags&mol.InRing)<<24
		if h > 12 {
			s.current[i&127] = Invariant(m, int32(i))
			continue
		}
		k := &s.known[key*golden>>22]
		if k.key != key|1<<31 {
			k.key, k.invariant = key|1<<31, invariant(a, h, 0)
		}
		s.current[i&127] = k.invariant
	}
	return true
}
