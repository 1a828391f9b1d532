package perceive

import "scimesh.dev/scimesh/chem/mol"

// radicals counts the unpaired electrons of bracket atoms from what their
// hydrogens, bonds and charge leave over.
func radicals(m *mol.Mol) {
	for i := range m.Atoms {
		if a := &m.Atoms[i]; a.Flags&mol.NoImplicit != 0 && a.Z != 0 {
			a.Radicals = unpaired(a)
		}
	}
}

func unpaired(a *mol.Atom) uint8 {
	e := mol.ElementOf(a.Z)
	outer, charge := int(e.OuterElectrons), int(a.Charge)
	if !e.HasValenceModel() {
		if a.Degree > 0 {
			return 0
		}
		return uint8(max(outer-charge, 0) % 2)
	}
	v := int(a.Twice+2*int32(a.ExplicitH)) / 2
	shell := 8
	if a.Z <= 2 {
		shell = 2
	}
	r := shell - outer - v + charge
	if r < 0 {
		r = 0
		if vs := e.Valences(); len(vs) > 1 {
			for _, w := range vs {
				if n := int(w) - v + charge; n >= 0 {
					r = n
					break
				}
			}
		}
	}
	// Early elements lose electrons instead of sharing them.
	if early := outer - v - charge; early >= 0 {
		r = min(r, early)
	}
	return uint8(r)
}
