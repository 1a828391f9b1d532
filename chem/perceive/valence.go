package perceive

import (
	"fmt"

	"scimesh.dev/scimesh/chem/mol"
)

// effectiveElement is the element whose valence list governs the atom: the one
// with as many electrons, Z minus charge. Elements without a valence model keep
// their own list.
func effectiveElement(a *mol.Atom) (z uint8, e *mol.Element) {
	own := mol.ElementOf(a.Z)
	if a.Charge == 0 || !own.HasValenceModel() {
		return a.Z, own
	}
	n := min(max(int(a.Z)-int(a.Charge), 0), mol.MaxAtomicNumber)
	return uint8(n), mol.ElementOf(uint8(n))
}

// keepsOwnList is the exception for anions of P, S, As and Se, whose lists hold
// although their isoelectronic neighbours Cl, Ar, Br and Kr are monovalent.
func keepsOwnList(a *mol.Atom, effective uint8) bool {
	return effective > 16 && (a.Z == 15 || a.Z == 16) || effective > 34 && (a.Z == 33 || a.Z == 34)
}

// explicitValence is the sum of bond orders and explicit hydrogens, rounded up.
// An aromatic atom that exceeds its default valence by at most 1.5 over a listed
// valence is taken to have that one: the bonds can be arranged so.
func explicitValence(a *mol.Atom) int32 {
	s := a.Twice + 2*int32(a.ExplicitH)
	if a.IsAromaticWide() {
		_, e := effectiveElement(a)
		if dv := int32(e.DefaultValence()); dv >= 0 && s > 2*dv {
			p := 2 * dv
			for _, v := range e.Valences() {
				if v < 0 || 2*int32(v) > s {
					break
				}
				p = 2 * int32(v)
			}
			if s-p <= 3 {
				s = p
			}
		}
	}
	return (s + 1) >> 1
}

// explicitAllowed is the strict check of the explicit valence.
func explicitAllowed(a *mol.Atom) bool {
	own := mol.ElementOf(a.Z)
	if own.MaxValence() < 0 {
		return true
	}
	z, e := effectiveElement(a)
	limit, v := int32(e.MaxValence()), a.Valence
	if keepsOwnList(a, z) {
		limit = int32(own.MaxValence())
		v -= int32(a.Charge)
	}
	if a.Z == 1 && a.Charge == -1 {
		limit = 2
	}
	return limit < 0 || v <= limit
}

// implicitHydrogens is how many hydrogens fill the atom's valence given its
// explicit valence; ok is false where strict checking refuses the atom.
func implicitHydrogens(a *mol.Atom) (h uint8, ok bool) {
	if a.Flags&mol.NoImplicit != 0 || a.Z == 0 {
		return 0, true
	}
	if a.Z == 1 && a.Valence == 0 && a.Radicals == 0 {
		switch a.Charge {
		case 0:
			return 1, true
		case 1, -1:
			return 0, true
		}
		return 0, false
	}
	z, e := effectiveElement(a)
	dv := int32(e.DefaultValence())
	if z == 0 || dv < 0 {
		return 0, true
	}
	x := a.Valence + int32(a.Radicals)
	if keepsOwnList(a, z) {
		x -= int32(a.Charge)
		e = mol.ElementOf(a.Z)
	}
	if a.IsAromaticWide() {
		if x <= dv {
			return uint8(dv - x), true
		}
		for _, v := range e.Valences() {
			if v <= 0 {
				break
			}
			if x == int32(v) {
				return 0, true
			}
		}
		return 0, false
	}
	for _, v := range e.Valences() {
		if v < 0 {
			break
		}
		if x <= int32(v) {
			return uint8(int32(v) - x), true
		}
	}
	return 0, e.MaxValence() < 0 || mol.ElementOf(a.Z).MaxValence() <= 0
}

// updateValence recomputes both valences without refusing anything.
func updateValence(a *mol.Atom) {
	a.Valence = explicitValence(a)
	a.ImplicitH, _ = implicitHydrogens(a)
}

// valence computes both valences of every atom, strictly.
func valence(m *mol.Mol) error {
	for i := range m.Atoms {
		a := &m.Atoms[i]
		a.Valence = explicitValence(a)
		if !explicitAllowed(a) || int(a.Z)-int(a.Charge) > mol.MaxAtomicNumber && !mol.IsMetal(a.Z) {
			return valenceError(i, a)
		}
		h, ok := implicitHydrogens(a)
		if !ok {
			return valenceError(i, a)
		}
		a.ImplicitH = h
	}
	return nil
}

func valenceError(i int, a *mol.Atom) error {
	return &Error{Step: StepValence, Atoms: []int{i}, Message: fmt.Sprintf(
		"%s with charge %+d cannot have valence %d", mol.ElementOf(a.Z).Symbol, a.Charge, a.Valence)}
}
