package perceive

import (
	"slices"

	"scimesh.dev/scimesh/chem/mol"
)

// RemoveHydrogens turns hydrogen atoms into counts on their neighbours. Kept are
// hydrogens with an isotope or as hydrides, those not bonded to exactly one
// atom, those on dummy atoms, hydrogen and non-tetrahedral centres, and those
// that define the configuration of a double bond. Tetrahedral marks must refer
// to the order of bond indexes; they are kept right.
func (p *Perceiver) RemoveHydrogens(m *mol.Mol) {
	if !m.Hydrogens {
		return
	}
	found := false
	for i := range m.Atoms {
		if m.Atoms[i].Z == 1 && p.removable(m, int32(i)) {
			if !found {
				p.gone = growClear(p.gone, len(m.Atoms))
				found = true
			}
			p.gone[i] = true
		}
	}
	if !found {
		return
	}
	for i := range slices.Backward(m.Atoms) {
		if p.gone[i] {
			p.foldHydrogen(m, int32(i))
		}
	}
	p.compact(m)
}

// removable decides for one hydrogen on the molecule as read.
func (p *Perceiver) removable(m *mol.Mol, i int32) bool {
	h := &m.Atoms[i]
	if h.Degree != 1 || h.Isotope != 0 || h.Charge == -1 {
		return false
	}
	half := m.Neighbors(i)[0]
	n := &m.Atoms[half.Atom]
	if n.Z <= 1 || n.Chirality.IsNonTetrahedral() {
		return false
	}
	if n.Degree == 2 && m.Bonds[half.Bond].Direction != mol.NoDirection {
		for _, o := range m.Neighbors(half.Atom) {
			if m.Bonds[o.Bond].Type == mol.Double {
				return false
			}
		}
	}
	return true
}

// foldHydrogen counts hydrogen i at its neighbour: its bond moves to the last
// place there, and its direction to another single bond if none has one.
func (p *Perceiver) foldHydrogen(m *mol.Mol, i int32) {
	half := m.Neighbors(i)[0]
	heavy := half.Atom
	n := &m.Atoms[heavy]
	bond := &m.Bonds[half.Bond]
	n.ExplicitH++
	n.Twice -= bond.Contribution(heavy)
	behind, directed, free := 0, false, int32(-1)
	for _, o := range m.Neighbors(heavy) {
		if o.Bond == half.Bond || m.Atoms[o.Atom].Degree == 0 {
			continue
		}
		if o.Bond > half.Bond {
			behind++
		}
		if m.Bonds[o.Bond].Type == mol.Single {
			if m.Bonds[o.Bond].Direction == mol.NoDirection {
				free = o.Bond
			} else {
				directed = true
			}
		}
	}
	if behind%2 == 1 {
		n.Chirality = n.Chirality.Invert()
	}
	if bond.Direction != mol.NoDirection && !directed && free >= 0 {
		other := &m.Bonds[free]
		other.Direction = bond.Direction
		if other.A == heavy && bond.A == heavy {
			other.Direction = bond.Direction.Opposite()
		}
	}
	m.Atoms[i].Degree = 0 // marks its bond as removed
}

// compact drops the removed atoms with their bonds and renumbers the rest.
func (p *Perceiver) compact(m *mol.Mol) {
	p.newIndex = grow(p.newIndex, len(m.Atoms))
	n := int32(0)
	for i := range m.Atoms {
		p.newIndex[i] = n
		if !p.gone[i] { // bonds still lead to old indexes
			m.Atoms[n] = m.Atoms[i]
			n++
		}
	}
	bonds := m.Bonds[:0]
	chain := 0
	for i := range m.Bonds {
		b := m.Bonds[i]
		if p.gone[b.A] || p.gone[b.B] {
			heavy := b.A
			if p.gone[heavy] {
				heavy = b.B
			}
			m.Atoms[p.newIndex[heavy]].Degree--
			continue
		}
		if i < m.ChainBonds {
			chain++
		}
		b.A, b.B = p.newIndex[b.A], p.newIndex[b.B]
		bonds = append(bonds, b)
	}
	m.Atoms, m.Bonds, m.ChainBonds = m.Atoms[:n], bonds, chain
	m.RingDigits = m.RingDigits[:0]
	m.Link()
	m.RefreshAromaticBonds()
}

// AdjustHydrogens makes hydrogens explicit that an atom would lose because its
// bonds have become aromatic, and checks every valence once more.
func (p *Perceiver) AdjustHydrogens(m *mol.Mol) error {
	for i := range m.Atoms {
		a := &m.Atoms[i]
		if !p.adjust[i] && a.Flags&mol.Aromatic == 0 && !p.flaggedBond(m, int32(i)) {
			continue
		}
		old := a.ImplicitH
		updateValence(a)
		if a.ImplicitH < old {
			a.ExplicitH += old - a.ImplicitH
		}
	}
	return valence(m)
}

func (p *Perceiver) flaggedBond(m *mol.Mol, i int32) bool {
	for _, h := range m.Neighbors(i) {
		if m.Bonds[h.Bond].Flags&mol.Aromatic != 0 {
			return true
		}
	}
	return false
}
