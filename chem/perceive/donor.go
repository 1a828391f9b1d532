package perceive

import "scimesh.dev/scimesh/chem/mol"

// donor is what an atom can give to a ring's π system.
type donor uint8

const (
	donorUnknown donor = iota
	donorNone
	donorVacant // an empty orbital, no electron
	donorOne
	donorTwo
	donorAny // a dummy: one or two
)

// availableElectrons is how many electrons the atom could give, -1 if it can
// take no part in conjugation at all.
func availableElectrons(m *mol.Mol, i int32) int {
	a := &m.Atoms[i]
	e := mol.ElementOf(a.Z)
	dv := e.DefaultValence()
	if dv <= 1 {
		return -1
	}
	degree := int(a.Degree) + a.TotalH()
	for _, h := range m.Neighbors(i) {
		if m.Bonds[h.Bond].Contribution(i) == 0 {
			degree--
		}
	}
	if degree > 3 {
		return -1
	}
	lonePair := max(int(e.OuterElectrons)-dv-int(a.Charge), 0)
	n := dv - degree + lonePair - int(a.Radicals)
	if n > 1 && a.Valence-a.Degree > 1 {
		n = 1
	}
	return n
}

// donorOf classifies an atom.
func donorOf(m *mol.Mol, i int32) donor {
	a := &m.Atoms[i]
	outside, inRing := int32(-1), false
	ignored := int32(0)
	for _, h := range m.Neighbors(i) {
		b := &m.Bonds[h.Bond]
		switch c := b.Contribution(i); {
		case c == 0:
			ignored++
		case c < 4:
		case b.Flags&mol.InRing != 0:
			inRing = true
		case outside < 0:
			outside = h.Atom
		}
	}
	if a.Z == 0 {
		if inRing {
			return donorOne
		}
		return donorAny
	}
	n := availableElectrons(m, i)
	steals := outside >= 0 && mol.MoreElectronegative(m.Atoms[outside].Z, a.Z)
	switch {
	case n < 0:
		return donorNone
	case n == 0 && outside >= 0:
		return donorVacant
	case n == 0 && inRing:
		return donorOne
	case n == 0:
		return donorNone
	case n == 1 && outside >= 0:
		if steals {
			return donorVacant
		}
		return donorOne
	case n == 1:
		if a.Valence != a.Degree+int32(a.ExplicitH)-ignored {
			return donorOne
		}
		if a.Charge == 1 {
			return donorVacant
		}
		return donorNone
	}
	if steals {
		n--
	}
	if n%2 == 1 {
		return donorOne
	}
	return donorTwo
}

// canBeAromatic reports whether an atom with the given donor type may lie in an
// aromatic ring: first two rows, Se or Te, in its default valence state, no
// radical but on a neutral carbon, at most one multiple bond. ok is false if the
// charge leads out of the periodic table, where RDKit fails.
func canBeAromatic(m *mol.Mol, i int32, d donor) (can, ok bool) {
	a := &m.Atoms[i]
	if d == donorNone || a.Z > 18 && a.Z != 34 && a.Z != 52 {
		return false, true
	}
	if mol.ElementOf(a.Z).DefaultValence() > 0 {
		z := int(a.Z) - int(a.Charge)
		if z < 0 || z > mol.MaxAtomicNumber {
			return false, false
		}
		if int(a.Valence)+int(a.ImplicitH) > mol.ElementOf(uint8(z)).DefaultValence() {
			return false, true
		}
	}
	if a.Radicals > 0 && (a.Z != 6 || a.Charge != 0) {
		return false, true
	}
	if a.Valence-a.Degree > 1 {
		multiple := 0
		for _, h := range m.Neighbors(i) {
			if t := m.Bonds[h.Bond].Type; t == mol.Double || t == mol.Triple {
				multiple++
			}
		}
		return multiple <= 1, true
	}
	return true, true
}
