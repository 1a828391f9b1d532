package perceive

import "scimesh.dev/scimesh/chem/mol"

// cleanUp rewrites hypervalent groups as zwitterions: nitro groups and N-oxides,
// diazo groups and azides, phosphine oxides with a ylide bond, and the oxides of
// chlorine, bromine and iodine.
func (p *Perceiver) cleanUp(m *mol.Mol) {
	p.hypervalentN = p.hypervalentN[:0]
	others := false
	for i := range m.Atoms {
		switch a := &m.Atoms[i]; a.Z {
		case 7:
			if a.Charge == 0 && explicitValence(a) == 5 {
				p.hypervalentN = append(p.hypervalentN, int32(i))
				cleanNitrogen(m, int32(i), 8, mol.Double, mol.Single)
			}
		case 15, 17, 35, 53:
			others = true
		}
	}
	for _, i := range p.hypervalentN {
		cleanNitrogen(m, i, 7, mol.Triple, mol.Double)
	}
	if !others {
		return
	}
	for i := range m.Atoms {
		switch m.Atoms[i].Z {
		case 15:
			cleanPhosphorus(m, int32(i))
		case 17, 35, 53:
			cleanHalogen(m, int32(i))
		}
	}
}

// cleanNitrogen moves one bond of the given type to a neutral neighbour of
// element z into charges: N+ and the neighbour's minus.
func cleanNitrogen(m *mol.Mol, i int32, z uint8, from, to mol.BondType) {
	for _, h := range m.Neighbors(i) {
		n := &m.Atoms[h.Atom]
		if n.Z == z && n.Charge == 0 && m.Bonds[h.Bond].Type == from {
			m.SetType(h.Bond, to)
			m.Atoms[i].Charge, n.Charge = 1, -1
			return
		}
	}
}

// cleanPhosphorus turns C=P(=O)X into C=[P+]([O-])X.
func cleanPhosphorus(m *mol.Mol, i int32) {
	a := &m.Atoms[i]
	if a.Charge != 0 || a.Degree != 3 || explicitValence(a) != 5 {
		return
	}
	oxide, ylide := mol.Half{Bond: -1}, false
	for _, h := range m.Neighbors(i) {
		if m.Bonds[h.Bond].Type != mol.Double {
			continue
		}
		switch n := &m.Atoms[h.Atom]; {
		case n.Z == 8 && n.Charge == 0:
			oxide = h
		case (n.Z == 6 || n.Z == 7) && n.Degree >= 2:
			ylide = true
		}
	}
	if ylide && oxide.Bond >= 0 {
		m.Atoms[oxide.Atom].Charge = -1
		m.SetType(oxide.Bond, mol.Single)
		a.Charge = 1
	}
}

// cleanHalogen turns X(=O)O and the higher acids into [X+]([O-])O.
func cleanHalogen(m *mol.Mol, i int32) {
	a := &m.Atoms[i]
	if a.Charge != 0 {
		return
	}
	if v := explicitValence(a); v != 3 && v != 5 && v != 7 {
		return
	}
	for _, h := range m.Neighbors(i) {
		if m.Atoms[h.Atom].Z != 8 {
			return
		}
	}
	for _, h := range m.Neighbors(i) {
		if m.Bonds[h.Bond].Type == mol.Double {
			m.SetType(h.Bond, mol.Single)
			m.Atoms[h.Atom].Charge = -1
			a.Charge++
		}
	}
}
