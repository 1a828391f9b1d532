package stereo

import (
	"slices"

	"scimesh.dev/scimesh/chem/mol"
)

// color gives atoms hashes that differ where their surroundings do. It reports
// false if the structures have different sets of colours.
func (x *Matcher) color() bool {
	x.colorA, x.colorB = x.start(x.a, x.colorA), x.start(x.b, x.colorB)
	classes, ok := x.settle()
	for ok {
		// Marks tell alike atoms apart, by which other marks can be told apart.
		before := classes
		x.mark(x.a, x.colorA)
		x.mark(x.b, x.colorB)
		if classes, ok = x.settle(); classes == before {
			break
		}
	}
	return ok
}

// settle refines the colours until the number of classes stands still.
func (x *Matcher) settle() (classes int, ok bool) {
	for {
		x.sorted[0] = append(x.sorted[0][:0], x.colorA...)
		x.sorted[1] = append(x.sorted[1][:0], x.colorB...)
		slices.Sort(x.sorted[0])
		slices.Sort(x.sorted[1])
		if !slices.Equal(x.sorted[0], x.sorted[1]) {
			return classes, false
		}
		n := len(slices.Compact(x.sorted[0]))
		if n <= classes {
			return classes, true
		}
		classes = n
		x.refine(x.a, x.colorA)
		x.refine(x.b, x.colorB)
	}
}

func mix(h, v uint64) uint64 {
	h = (h ^ v) * 0x9e3779b97f4a7c15
	return h ^ h>>29
}

// start colours atoms by what they are.
func (x *Matcher) start(s *Structure, colors []uint64) []uint64 {
	m := &s.Mol
	colors = reset(colors, len(m.Atoms))
	for i := range m.Atoms {
		a := &m.Atoms[i]
		kind := uint64(0)
		switch {
		case a.Chirality.IsTetrahedral():
			kind = 1
		case a.Chirality.IsNonTetrahedral():
			kind = uint64(a.Chirality)<<8 | uint64(a.Perm)
		}
		h := mix(uint64(a.Z), uint64(a.Flags&mol.Aromatic)<<32|uint64(a.Isotope))
		h = mix(h, uint64(uint8(a.Charge))<<32|uint64(a.TotalH()))
		colors[i] = mix(mix(h, uint64(a.Degree)<<32|uint64(uint32(a.Map))), kind<<8|uint64(a.Radicals))
	}
	return colors
}

// refine mixes the colours of the neighbours into each atom's.
func (x *Matcher) refine(s *Structure, colors []uint64) {
	m := &s.Mol
	x.next = append(x.next[:0], colors...)
	for i := range m.Atoms {
		x.near = x.near[:0]
		for _, h := range m.Neighbors(int32(i)) {
			x.near = append(x.near, mix(colors[h.Atom], s.bondKind(h.Bond, int32(i))))
		}
		slices.Sort(x.near)
		for _, c := range x.near {
			x.next[i] = mix(x.next[i], c)
		}
	}
	copy(colors, x.next)
}

// bondKind is the type of bond b seen from its atom a, and whether it has a
// configuration.
func (s *Structure) bondKind(b, a int32) uint64 {
	bond := &s.Mol.Bonds[b]
	kind := uint64(bond.Type) << 2
	if bond.Type == mol.Dative && bond.A == a {
		kind |= 2
	}
	if s.Cis[b].Set {
		kind |= 1
	}
	return kind
}

// mark mixes into the colours of centres and double bonds what their marks mean
// where the colours of the neighbours say which neighbour is which.
func (x *Matcher) mark(s *Structure, colors []uint64) {
	x.next = append(x.next[:0], colors...)
	for i := range s.Mol.Atoms {
		if !s.Mol.Atoms[i].Chirality.IsTetrahedral() {
			continue
		}
		x.near = x.near[:0]
		for _, h := range s.Mol.Neighbors(int32(i)) {
			x.near = append(x.near, colors[h.Atom])
		}
		odd := oddInversions(x.near)
		slices.Sort(x.near)
		if n := len(x.near); len(slices.Compact(x.near)) == n {
			x.next[i] = mix(x.next[i], handed(odd == (s.Mol.Atoms[i].Chirality == mol.Clockwise)))
		}
	}
	for i := range s.Cis {
		c, bond := &s.Cis[i], &s.Mol.Bonds[i]
		if !c.Set {
			continue
		}
		begin, ok := s.isFirst(bond.A, bond.B, c.Begin, colors)
		end, ok2 := s.isFirst(bond.B, bond.A, c.End, colors)
		if ok && ok2 {
			together := handed(c.Together == (begin == end))
			x.next[bond.A], x.next[bond.B] = mix(x.next[bond.A], together), mix(x.next[bond.B], together)
		}
	}
	copy(colors, x.next)
}

// handed is mixed into the colour of one kind of mark or the other.
func handed(left bool) uint64 {
	if left {
		return 3
	}
	return 5
}

// isFirst reports whether the reference atom has the highest colour among the
// neighbours of one end of a double bond; ok is false if another has the same.
func (s *Structure) isFirst(end, other, reference int32, colors []uint64) (first, ok bool) {
	first = true
	for _, h := range s.Mol.Neighbors(end) {
		if h.Atom == other || h.Atom == reference {
			continue
		}
		if colors[h.Atom] == colors[reference] {
			return false, false
		}
		first = first && colors[h.Atom] < colors[reference]
	}
	return first, true
}
