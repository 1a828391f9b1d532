package morgan

import "scimesh.dev/scimesh/chem/mol"

// combine mixes v into the running hash s.
func combine(s, v uint32) uint32 {
	return s ^ (v + 0x9e3779b9 + s<<6 + s>>2)
}

// Invariant is the identifier of atom i before any round.
func Invariant(m *mol.Mol, i int32) uint32 {
	a := &m.Atoms[i]
	hydrogens := uint32(a.TotalH())
	for _, h := range m.Neighbors(i) {
		if m.Atoms[h.Atom].Z == 1 {
			hydrogens++
		}
	}
	return invariant(a, hydrogens, uint32(int32(mol.MassDifference(a.Z, a.Isotope))))
}

// invariant is the identifier of an atom with the given number of hydrogens,
// graph atoms included, and mass difference.
func invariant(a *mol.Atom, hydrogens, mass uint32) uint32 {
	s := combine(0, uint32(a.Z))
	s = combine(s, uint32(a.Degree)+uint32(a.TotalH()))
	s = combine(s, hydrogens)
	s = combine(s, uint32(int32(a.Charge)))
	s = combine(s, mass)
	if a.Flags&mol.InRing != 0 {
		s = combine(s, 1)
	}
	return s
}
