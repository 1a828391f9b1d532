package stereo

import (
	"errors"
	"slices"
)

// ErrWorkLimit says that two structures are so symmetrical, and their marks so
// placed, that comparing them takes too many steps.
var ErrWorkLimit = errors.New("EngineLimit: comparing the structures takes more steps than the limit allows")

// maxSteps bounds the search for a match.
const maxSteps = 5_000_000

// Matcher compares structures. It is scratch memory; the zero value is ready.
type Matcher struct {
	a, b *Structure

	colorA, colorB []uint64
	order          []int32 // atoms of a, each connected to an earlier one where possible
	anchor         []int32 // earlier neighbour in order, or -1 at a new component
	image          []int32 // atom of b by atom of a, -1 while unmatched
	taken          []bool  // by atom of b
	near           []uint64
	next           []uint64
	sorted         [2][]uint64
	place          []int32 // position in order by atom of a
	frames         []frame
	steps          int
}

// frame is a level of the search: the candidates left for one atom.
type frame struct {
	next int32 // position in the list of candidates
}

// Same reports whether a and b are the same molecule. Their fingerprints should
// be equal; others are told apart just as well, only not as fast.
func (x *Matcher) Same(a, b *Structure) (bool, error) {
	x.a, x.b = a, b
	if len(a.Mol.Atoms) != len(b.Mol.Atoms) || len(a.Mol.Bonds) != len(b.Mol.Bonds) {
		return false, nil
	}
	if !x.color() {
		return false, nil
	}
	x.arrange()
	n := len(a.Mol.Atoms)
	x.image = reset(x.image, n)
	for i := range x.image {
		x.image[i] = -1
	}
	x.taken = reset(x.taken, n)
	x.steps = 0
	for from := 0; from < n; {
		to := from + 1
		for to < n && x.anchor[to] >= 0 {
			to++
		}
		ok, err := x.component(from, to)
		if !ok || err != nil {
			return false, err
		}
		from = to
	}
	return true, nil
}

// arrange orders the atoms of a so that every one but the first of a component
// has a neighbour before it; components begin at an atom of the rarest colour.
func (x *Matcher) arrange() {
	m := &x.a.Mol
	n := len(m.Atoms)
	x.order, x.anchor = x.order[:0], x.anchor[:0]
	x.place = reset(x.place, n)
	for i := range x.place {
		x.place[i] = -1
	}
	roots := make([]int32, n)
	rarity := make([]int, n)
	for i, c := range x.colorA {
		roots[i] = int32(i)
		lo, _ := slices.BinarySearch(x.sorted[1], c)
		for lo < n && x.sorted[1][lo] == c && rarity[i] < 64 {
			lo++
			rarity[i]++
		}
	}
	slices.SortStableFunc(roots, func(a, b int32) int { return rarity[a] - rarity[b] })
	for _, root := range roots {
		if x.place[root] >= 0 {
			continue
		}
		k := len(x.order)
		x.add(root, -1)
		for ; k < len(x.order); k++ {
			for _, h := range m.Neighbors(x.order[k]) {
				if x.place[h.Atom] < 0 {
					x.add(h.Atom, x.order[k])
				}
			}
		}
	}
}

func (x *Matcher) add(a, anchor int32) {
	x.place[a] = int32(len(x.order))
	x.order, x.anchor = append(x.order, a), append(x.anchor, anchor)
}

// component matches the atoms order[from:to], one component. What is matched
// stays so: if components are interchangeable, it does not matter which is taken.
func (x *Matcher) component(from, to int) (bool, error) {
	x.frames = append(x.frames[:0], frame{})
	for len(x.frames) > 0 {
		level := len(x.frames) - 1
		if from+level == to {
			return true, nil
		}
		a := x.order[from+level]
		if old := x.image[a]; old >= 0 {
			x.image[a], x.taken[old] = -1, false
		}
		if x.steps++; x.steps > maxSteps {
			return false, ErrWorkLimit
		}
		if b := x.candidate(from + level); b >= 0 {
			x.image[a], x.taken[b] = b, true
			if x.fits(a, b) {
				x.frames = append(x.frames, frame{})
			}
			continue
		}
		x.frames = x.frames[:level]
	}
	return false, nil
}

// candidate is the next atom of b to try for the atom at the given place, or -1.
func (x *Matcher) candidate(place int) int32 {
	f := &x.frames[len(x.frames)-1]
	color := x.colorA[x.order[place]]
	if anchor := x.anchor[place]; anchor >= 0 {
		list := x.b.Mol.Neighbors(x.image[anchor])
		for ; int(f.next) < len(list); f.next++ {
			if b := list[f.next].Atom; !x.taken[b] && x.colorB[b] == color {
				f.next++
				return b
			}
		}
		return -1
	}
	for ; int(f.next) < len(x.colorB); f.next++ {
		if b := f.next; !x.taken[b] && x.colorB[b] == color {
			f.next++
			return b
		}
	}
	return -1
}

// fits reports whether the bonds of a to matched atoms have equals at b, and all
// marks that have become decidable agree.
func (x *Matcher) fits(a, b int32) bool {
	for _, h := range x.a.Mol.Neighbors(a) {
		o := x.image[h.Atom]
		if o < 0 {
			continue
		}
		other := x.b.Mol.Between(b, o)
		if other < 0 || x.a.bondKind(h.Bond, a) != x.b.bondKind(other, b) {
			return false
		}
	}
	if !x.centerAgrees(a) || !x.bondsAgree(a) {
		return false
	}
	for _, h := range x.a.Mol.Neighbors(a) {
		if x.image[h.Atom] >= 0 && (!x.centerAgrees(h.Atom) || !x.bondsAgree(h.Atom)) {
			return false
		}
	}
	return true
}

// centerAgrees compares the tetrahedral mark of a once all its neighbours are
// matched: the marks are equal after as many swaps as the matching makes.
func (x *Matcher) centerAgrees(a int32) bool {
	at := &x.a.Mol.Atoms[a]
	if !at.Chirality.IsTetrahedral() {
		return true
	}
	var place [8]int32
	n := 0
	b := x.image[a]
	for _, h := range x.a.Mol.Neighbors(a) {
		if x.image[h.Atom] < 0 || n == len(place) {
			return true
		}
		place[n] = x.b.Mol.Between(b, x.image[h.Atom])
		n++
	}
	same := at.Chirality == x.b.Mol.Atoms[b].Chirality
	return same != oddInversions(place[:n])
}

// bondsAgree compares the configurations of the double bonds at a whose
// reference atoms are all matched.
func (x *Matcher) bondsAgree(a int32) bool {
	for _, h := range x.a.Mol.Neighbors(a) {
		if c := &x.a.Cis[h.Bond]; c.Set && !x.configurationAgrees(h.Bond, c) {
			return false
		}
		// a may be the reference atom of a double bond of its neighbour.
		for _, o := range x.a.Mol.Neighbors(h.Atom) {
			if c := &x.a.Cis[o.Bond]; c.Set && !x.configurationAgrees(o.Bond, c) {
				return false
			}
		}
	}
	return true
}

func (x *Matcher) configurationAgrees(bond int32, c *Configuration) bool {
	ab := &x.a.Mol.Bonds[bond]
	p, q := x.image[ab.A], x.image[ab.B]
	begin, end := x.image[c.Begin], x.image[c.End]
	if p < 0 || q < 0 || begin < 0 || end < 0 {
		return true
	}
	other := x.b.Mol.Between(p, q)
	if other < 0 || !x.b.Cis[other].Set {
		return false
	}
	d := x.b.Cis[other]
	if x.b.Mol.Bonds[other].A != p {
		d.Begin, d.End = d.End, d.Begin
	}
	together := d.Together
	if d.Begin != begin {
		together = !together
	}
	if d.End != end {
		together = !together
	}
	return together == c.Together
}
