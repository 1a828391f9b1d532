package stereo

import "scimesh.dev/scimesh/chem/mol"

// minStereoRing is the smallest ring in which a double bond has a configuration.
const minStereoRing = 8

// side is one substituent at an end of a double bond, with its direction as seen
// from there.
type side struct {
	atom      int32
	bond      int32
	direction mol.Direction
}

// labelBonds finds the configuration of double bonds from the directions beside
// them. It reports whether possible ones remain without and whether any was found.
func (st *Structure) labelBonds() (open, named bool) {
	m := &st.Mol
	st.clear = st.clear[:0]
	for i := range m.Bonds {
		b := &m.Bonds[i]
		if b.Type != mol.Double || st.Cis[i].Set || st.smallest[i] != 0 && st.smallest[i] < minStereoRing {
			continue
		}
		if da, db := m.Atoms[b.A].Degree, m.Atoms[b.B].Degree; da < 2 || da > 3 || db < 2 || db > 3 {
			continue
		}
		var bufA, bufB [2]side
		begin := st.sides(b.A, int32(i), bufA[:0])
		end := st.sides(b.B, int32(i), bufB[:0])
		if len(begin) == 0 || len(end) == 0 {
			open = true
			continue
		}
		named = true
		if conflict(begin) || conflict(end) {
			st.clearSides(begin)
			st.clearSides(end)
			continue
		}
		x, y := st.higher(begin), st.higher(end)
		st.Cis[i] = Configuration{Set: true, Together: x.direction == y.direction, Begin: x.atom, End: y.atom}
	}
	for _, b := range st.clear {
		m.Bonds[b].Direction = mol.NoDirection
	}
	return open, named
}

// sides lists the substituents of atom a of double bond b if one of them has a
// direction and, where there are two, they differ in rank. A direction that is
// not written is the opposite of the other one.
func (st *Structure) sides(a, b int32, s []side) []side {
	m := &st.Mol
	seen := false
	for _, h := range m.Neighbors(a) {
		if h.Bond == b {
			continue
		}
		bond := &m.Bonds[h.Bond]
		d := bond.Direction
		if bond.A != a {
			d = d.Opposite()
		}
		seen = seen || d != mol.NoDirection
		s = append(s, side{h.Atom, h.Bond, d})
	}
	if !seen || len(s) == 2 && st.ranks[s[0].atom] == st.ranks[s[1].atom] {
		return s[:0]
	}
	if len(s) == 2 {
		if s[0].direction == mol.NoDirection {
			s[0].direction = s[1].direction.Opposite()
		} else if s[1].direction == mol.NoDirection {
			s[1].direction = s[0].direction.Opposite()
		}
	}
	return s
}

// conflict reports two substituents on the same side.
func conflict(s []side) bool { return len(s) == 2 && s[0].direction == s[1].direction }

// clearSides notes the directions of a conflict for removal.
func (st *Structure) clearSides(s []side) {
	if conflict(s) {
		st.clear = append(st.clear, s[0].bond, s[1].bond)
	}
}

// higher is the substituent of higher rank.
func (st *Structure) higher(s []side) side {
	if len(s) == 1 || st.ranks[s[0].atom] > st.ranks[s[1].atom] {
		return s[0]
	}
	return s[1]
}
