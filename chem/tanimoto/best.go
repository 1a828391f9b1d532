package tanimoto

import (
	"cmp"
	"slices"
)

// entry is a hit with how close it is: an integer that orders as the similarity
// does, the best hit's the largest.
type entry struct {
	Hit
	key int64
}

const (
	// keyShift makes keys of a fraction. Two different similarities with unions of
	// up to maxBits = 2¹³ differ by at least 2⁻²⁶, so they are whole numbers apart
	// when multiplied by 2⁴⁰, and remain in order when rounded down; equal ones
	// stay equal.
	keyShift = 40

	// Keys are counted in so many classes, and those of the largest key in one more.
	classBits = 10
	classes   = 1 << classBits
)

func (e *entry) class() int { return int(e.key >> (keyShift - classBits)) }

// best keeps the first k hits of an order, or all if k is 0. It keeps some more:
// of each class it knows how many hits it has, so that it knows at once a class
// that the last of k is not below, without keeping hits in order.
type best struct {
	k        int
	farthest bool
	tie      func(a, b int) int

	entries []entry
	counts  [classes + 1]int32
	above   int // entries of class low and higher
	low     int // at least k entries are of this class or higher, or it is 0
}

func (h *best) entry(hit Hit) entry {
	s := hit.normal()
	if h.farthest {
		s.Common = s.Union - s.Common
	}
	return entry{hit, int64(s.Common) << keyShift / int64(s.Union)}
}

// bound is what the first k hits satisfy if the last of them is of that class or a
// higher one.
func (h *best) bound(class int) Threshold {
	if h.farthest {
		class = classes - class
	}
	return Threshold{uint64(class), classes}
}

// order is negative if a comes before b.
func (h *best) order(a, b entry) int {
	if c := cmp.Compare(b.key, a.key); c != 0 {
		return c
	}
	return h.tie(a.Row, b.Row)
}

// add offers a hit, and reports whether low has changed by it.
func (h *best) add(hit Hit) bool {
	e := h.entry(hit)
	if h.k == 0 {
		h.entries = append(h.entries, e)
		return false
	}
	class := e.class()
	if class < h.low {
		return false
	}
	h.entries = append(h.entries, e)
	h.counts[class]++
	h.above++
	before := h.low
	h.raise()
	if len(h.entries) >= max(4*h.k, 1024) {
		h.shrink()
	}
	return h.low != before
}

// raise moves low up as far as k entries are above.
func (h *best) raise() {
	for h.above-int(h.counts[h.low]) >= h.k {
		h.above -= int(h.counts[h.low])
		h.low++
	}
}

// shrink drops entries that are not among the first k: at least half of them.
func (h *best) shrink() {
	h.entries = slices.DeleteFunc(h.entries, func(e entry) bool { return e.class() < h.low })
	if len(h.entries) <= 2*h.k {
		return
	}
	// So many are equally similar that their order must tell.
	h.sort()
	h.entries = h.entries[:h.k]
	h.above, h.low = h.k, h.entries[h.k-1].class()
	h.counts[h.low] = 0
	for i := h.k - 1; i >= 0 && h.entries[i].class() == h.low; i-- {
		h.counts[h.low]++
	}
}

// sort puts the entries into order: class by class, and each class by itself.
func (h *best) sort() {
	const few = 64
	if len(h.entries) > few {
		var start [classes + 2]int // of each class, the highest first
		for _, e := range h.entries {
			start[classes-e.class()+1]++
		}
		for i := range classes {
			start[i+1] += start[i]
		}
		sorted := make([]entry, len(h.entries))
		at := start
		for _, e := range h.entries {
			c := classes - e.class()
			sorted[at[c]] = e
			at[c]++
		}
		for c := range classes + 1 {
			if part := sorted[start[c]:at[c]]; len(part) > 1 {
				slices.SortFunc(part, h.order)
			}
		}
		h.entries = sorted
		return
	}
	slices.SortFunc(h.entries, h.order)
}

// sorted returns the hits in order.
func (h *best) sorted() []Hit {
	if h.k > 0 {
		h.entries = slices.DeleteFunc(h.entries, func(e entry) bool { return e.class() < h.low })
	}
	h.sort()
	if h.k > 0 && len(h.entries) > h.k {
		h.entries = h.entries[:h.k]
	}
	hits := make([]Hit, len(h.entries))
	for i := range hits {
		hits[i] = h.entries[i].Hit
	}
	return hits
}
