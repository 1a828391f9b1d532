package stereo

import (
	"slices"

	"scimesh.dev/scimesh/chem/mol"
)

// cipRanker ranks atoms by their surroundings in the way of Labute (Journal of
// the Chemical Computing Group, 1996): every atom keeps a sequence of numbers,
// which in each round takes in the ranks of its neighbours, higher first and as
// often as the bond order says, and a zero for each hydrogen.
type cipRanker struct {
	entries [][]int32
	order   []int32 // atoms by entry
	ties    []tie
	near    []mol.Half
	invar   []int32
}

// tie is a range of order with equal entries.
type tie struct{ from, to int }

// invariants ranks the atoms of m from element, isotope and map number alone.
func (c *cipRanker) invariants(m *mol.Mol) []int32 {
	c.invar = reset(c.invar, len(m.Atoms))
	for i := range m.Atoms {
		a := &m.Atoms[i]
		mass := 0
		if a.Isotope != 0 {
			mass = int(a.Isotope) - int(mol.ElementOf(a.Z).CommonIsotope)
			if mass >= 0 {
				mass++
			}
		}
		mass = max(mass+512, 0) % 1024
		c.invar[i] = (int32(a.Z)<<10|int32(mass))<<10 | a.Map%1024
	}
	return c.invar
}

// iterate writes the ranks that follow from the invariants to ranks. A first
// ranking starts from elements; a re-ranking (seeded) from the invariants.
func (c *cipRanker) iterate(m *mol.Mol, ranks, invariants []int32, seeded bool) {
	n := len(m.Atoms)
	for len(c.entries) < n {
		c.entries = append(c.entries, nil)
	}
	c.order = reset(c.order, n)
	for i := range n {
		c.entries[i] = append(c.entries[i][:0], invariants[i])
		c.order[i] = int32(i)
	}
	slices.SortFunc(c.order, c.compare)
	count := c.assign(ranks)
	at := 1
	if !seeded {
		at = 2
		for i := range n {
			c.entries[i] = append(c.entries[i][:0], int32(m.Atoms[i].Z), ranks[i])
		}
	}
	last := -1
	for round := 0; len(c.ties) > 0 && round < n/2+1 && last < count; round++ {
		for i := range n {
			c.extend(m, int32(i), ranks)
		}
		last = count
		for _, t := range c.ties {
			slices.SortFunc(c.order[t.from:t.to], c.compare)
		}
		count = c.assign(ranks)
		if count == last {
			return
		}
		for i := range n {
			e := c.entries[i]
			for len(e) < at {
				e = append(e, 0)
			}
			c.entries[i] = append(e[:at], ranks[i])
		}
	}
}

func (c *cipRanker) compare(a, b int32) int { return slices.Compare(c.entries[a], c.entries[b]) }

// assign numbers the atoms by their place in the order, equal entries alike, and
// lists the ties. It returns the number of different ranks.
func (c *cipRanker) assign(ranks []int32) int {
	c.ties = c.ties[:0]
	rank, from := int32(-1), 0
	for i, a := range c.order {
		if i == 0 || c.compare(c.order[i-1], a) != 0 {
			if i-from > 1 {
				c.ties = append(c.ties, tie{from, i})
			}
			rank, from = rank+1, i
		}
		ranks[a] = rank
	}
	if len(c.order)-from > 1 {
		c.ties = append(c.ties, tie{from, len(c.order)})
	}
	return int(rank) + 1
}

// extend appends the ranks of the neighbours of atom i to its entry.
func (c *cipRanker) extend(m *mol.Mol, i int32, ranks []int32) {
	c.near = append(c.near[:0], m.Neighbors(i)...)
	for x := 1; x < len(c.near); x++ {
		for y := x; y > 0 && ranks[c.near[y].Atom] > ranks[c.near[y-1].Atom]; y-- {
			c.near[y], c.near[y-1] = c.near[y-1], c.near[y]
		}
	}
	e := c.entries[i]
	for _, h := range c.near {
		times := m.Bonds[h.Bond].Type.Twice()
		if n := &m.Atoms[h.Atom]; m.Bonds[h.Bond].Type == mol.Double && n.Z == 15 && (n.Degree == 3 || n.Degree == 4) {
			times = 1 // a P=O bond counts no more than a single one
		}
		for range times {
			e = append(e, ranks[h.Atom]+1)
		}
	}
	for range m.Atoms[i].TotalH() {
		e = append(e, 0)
	}
	c.entries[i] = e
}
