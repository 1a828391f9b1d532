package stereo

import (
	"scimesh.dev/scimesh/chem/mol"
	"scimesh.dev/scimesh/chem/perceive"
)

// hybridize finds the conjugated bonds and the sp3 atoms. It reads the valences
// as they are before hydrogens are adjusted.
func (st *Structure) hybridize(m *mol.Mol) {
	st.conj = reset(st.conj, len(m.Bonds))
	st.sp3 = reset(st.sp3, len(m.Atoms))
	marked := false
	for i := range m.Atoms {
		a := &m.Atoms[i]
		marked = marked || a.Chirality != mol.NoChirality || a.Z == 7
	}
	if !marked {
		return
	}
	for i := range m.Bonds {
		st.conj[i] = m.Bonds[i].Flags&mol.Aromatic != 0
	}
	st.legal = reset(st.legal, len(m.Atoms)) // here: can be conjugated
	for i := range m.Atoms {
		st.legal[i] = conjugable(m, int32(i))
	}
	for i := range m.Atoms {
		st.conjugate(m, int32(i))
	}
	for i := range m.Atoms {
		st.sp3[i] = st.isSP3(m, int32(i))
	}
}

// conjugable reports whether an atom can extend a conjugated system: not
// hypervalent, first row or with neither five nor six outer electrons, or six
// and only one neighbour, and with an electron to give.
func conjugable(m *mol.Mol, i int32) bool {
	a := &m.Atoms[i]
	e := mol.ElementOf(a.Z)
	dv := e.DefaultValence()
	if a.Charge == 0 && dv >= 0 && int(a.Valence)+int(a.ImplicitH) > dv {
		return false
	}
	outer := e.OuterElectrons
	if a.Z > 10 && (outer == 5 || outer == 6) && (outer != 6 || int(a.Degree)+a.TotalH() >= 2) {
		return false
	}
	return perceive.AvailableElectrons(m, i) > 0
}

// conjugate marks the bonds around atom i that a multiple bond of it conjugates.
func (st *Structure) conjugate(m *mol.Mol, i int32) {
	if n := substituents(m, i); !st.legal[i] || n < 2 || n > 3 {
		return
	}
	for _, h := range m.Neighbors(i) {
		if m.Bonds[h.Bond].Contribution(i) < 3 || !st.legal[h.Atom] {
			continue
		}
		for _, o := range m.Neighbors(i) {
			if o.Bond != h.Bond && st.legal[o.Atom] && substituents(m, o.Atom) <= 3 {
				st.conj[h.Bond], st.conj[o.Bond] = true, true
			}
		}
	}
}

func substituents(m *mol.Mol, i int32) int { return int(m.Atoms[i].Degree) + m.Atoms[i].TotalH() }

// isSP3 reports whether atom i has four orbitals of bonds and lone pairs and is
// not flattened by conjugation.
func (st *Structure) isSP3(m *mol.Mol, i int32) bool {
	a := &m.Atoms[i]
	if a.Z == 0 {
		return false
	}
	degree := substituents(m, i)
	if a.Chirality.IsTetrahedral() && degree == 4 {
		return true
	}
	if a.Chirality.IsNonTetrahedral() {
		return false
	}
	orbitals := degree
	if a.Z < 89 {
		orbitals = bondsAndLonePairs(m, i)
	}
	return orbitals == 4 && (degree > 3 || !st.conjugated(m, i))
}

// bondsAndLonePairs counts orbitals from electrons; below an octet, radicals
// take one each.
func bondsAndLonePairs(m *mol.Mol, i int32) int {
	a := &m.Atoms[i]
	n := substituents(m, i)
	for _, h := range m.Neighbors(i) {
		b := &m.Bonds[h.Bond]
		if b.Type == mol.ZeroOrder || b.Type == mol.Dative && b.B != i {
			n--
		}
	}
	if a.Z <= 1 {
		return n
	}
	outer := int(mol.ElementOf(a.Z).OuterElectrons)
	v, charge := int(a.Valence)+int(a.ImplicitH), int(a.Charge)
	free := outer - (v + charge)
	if v+outer-charge < 8 {
		return n + (free-int(a.Radicals))/2 + int(a.Radicals)
	}
	return n + free/2
}

// conjugated reports whether atom i has a conjugated bond.
func (st *Structure) conjugated(m *mol.Mol, i int32) bool {
	for _, h := range m.Neighbors(i) {
		if st.conj[h.Bond] {
			return true
		}
	}
	return false
}

// reset returns s with length n, all zero.
func reset[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n, n+n/2+16)
	}
	s = s[:n]
	clear(s)
	return s
}
