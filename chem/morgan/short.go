package morgan

import (
	"slices"

	"scimesh.dev/scimesh/chem/mol"
)

// short computes radius 2 of molecules with up to 64 atoms and bonds, no atom
// with more than four neighbours and no hydrogen atoms. At this radius it is
// known beforehand which environments repeat others: in round one only those of
// a molecule of two atoms; in round two those of atoms with one neighbour, which
// equal the neighbour's of round one, and those of atoms that have only such
// neighbours, which are complete already. The others are compared.
type short struct {
	current, next [64]uint32
	incident      [64]uint64 // bonds at each atom
	sets          [64]uint64 // environments of round two
	table         [128]uint8 // by hash of the set: its number plus one
	known         [1024]known
}

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
	if !ok || n > 64 || len(m.Bonds) > 64 {
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
			s.incident[i&63] = 0
			continue
		}
		slot := &slots[i]
		h, bonds := s.hash(m, slot, d, i, 0)
		s.next[i&63], s.incident[i&63] = h, bonds
		if d == 1 {
			if o := slot[0].Atom; m.Atoms[o].Degree == 1 { // two atoms: one environment
				if int(o) > i {
					continue
				}
				h = min(h, s.next[o&63])
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
		own := s.incident[i&63]
		set := own
		for k := range int32(4) {
			if k == d {
				break
			}
			set |= s.incident[slot[k].Atom&63]
		}
		if set == own {
			continue
		}
		h, _ := s.hash(m, slot, d, i, 1)
		at := (set * 0x9e3779b97f4a7c15) >> 57
		for {
			k := s.table[at&127]
			if k == 0 {
				s.sets[(len(dst)-first)&63] = set
				dst = append(dst, h)
				s.table[at&127] = uint8(len(dst) - first)
				break
			}
			if s.sets[(k-1)&63] == set {
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

// hash combines atom i with its d neighbours in order of bond type and
// identifier, and collects its bonds.
func (s *short) hash(m *mol.Mol, slot *[4]mol.Half, d int32, i int, layer uint32) (h uint32, bonds uint64) {
	h = combine(layer, s.current[i&63])
	k0 := s.pair(m, slot[0])
	bonds = 1 << (slot[0].Bond & 63)
	switch d {
	case 1:
		return mix(h, k0), bonds
	case 2:
		k1 := s.pair(m, slot[1])
		bonds |= 1 << (slot[1].Bond & 63)
		return mix(mix(h, min(k0, k1)), max(k0, k1)), bonds
	case 3:
		k1, k2 := s.pair(m, slot[1]), s.pair(m, slot[2])
		bonds |= 1<<(slot[1].Bond&63) | 1<<(slot[2].Bond&63)
		k0, k1 = min(k0, k1), max(k0, k1)
		k1, k2 = min(k1, k2), max(k1, k2)
		k0, k1 = min(k0, k1), max(k0, k1)
		return mix(mix(mix(h, k0), k1), k2), bonds
	}
	k1, k2, k3 := s.pair(m, slot[1]), s.pair(m, slot[2]), s.pair(m, slot[3])
	bonds |= 1<<(slot[1].Bond&63) | 1<<(slot[2].Bond&63) | 1<<(slot[3].Bond&63)
	k0, k1 = min(k0, k1), max(k0, k1)
	k2, k3 = min(k2, k3), max(k2, k3)
	k0, k2 = min(k0, k2), max(k0, k2)
	k1, k3 = min(k1, k3), max(k1, k3)
	k1, k2 = min(k1, k2), max(k1, k2)
	return mix(mix(mix(mix(h, k0), k1), k2), k3), bonds
}

// pair is the bond's type with the neighbour's identifier, in one number that
// sorts as they do.
func (s *short) pair(m *mol.Mol, h mol.Half) uint64 {
	return uint64(m.Bonds[h.Bond].Type)<<32 | uint64(s.current[h.Atom&63])
}

// mix combines a pair into the running hash.
func mix(h uint32, pair uint64) uint32 {
	t := uint32(pair>>32) + golden
	return combine(h, combine(t, uint32(pair)))
}

// invariants fills current; it fails at hydrogen atoms.
func (s *short) invariants(m *mol.Mol) bool {
	for i := range m.Atoms {
		a := &m.Atoms[i]
		if a.Z == 1 {
			return false
		}
		if a.Isotope != 0 {
			s.current[i&63] = Invariant(m, int32(i))
			continue
		}
		h := uint32(a.ExplicitH) + uint32(a.ImplicitH)
		key := uint32(a.Z) | (uint32(a.Degree)+h)<<7&0xf80 | h<<12&0xf000 | uint32(uint8(a.Charge))<<16 |
			uint32(a.Flags&mol.InRing)<<24
		if h > 12 {
			s.current[i&63] = Invariant(m, int32(i))
			continue
		}
		k := &s.known[key*golden>>22]
		if k.key != key|1<<31 {
			k.key, k.invariant = key|1<<31, invariant(a, h, 0)
		}
		s.current[i&63] = k.invariant
	}
	return true
}
