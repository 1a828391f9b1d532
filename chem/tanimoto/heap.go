package tanimoto

import (
	"cmp"
	"slices"
)

// entry is a hit with its similarity as an integer that orders as the fraction
// does, the best hit's the largest.
type entry struct {
	Hit
	key int64
}

// keyShift makes keys of a fraction. Two different similarities with unions of up
// to maxBits = 2¹³ differ by at least 2⁻²⁶, so they are whole numbers apart when
// multiplied by 2⁴⁰, and remain in order when rounded down; equal ones stay equal.
const keyShift = 40

// hitHeap keeps the first k hits of an order, or all if k is 0. Once it is full
// the last of them is entries[0].
type hitHeap struct {
	k        int
	farthest bool
	tie      func(a, b int) int
	entries  []entry
}

func (h *hitHeap) entry(hit Hit) entry {
	s := hit.normal()
	e := entry{hit, int64(s.Common) << keyShift / int64(s.Union)}
	if h.farthest {
		e.key = -e.key
	}
	return e
}

// order is negative if a comes before b.
func (h *hitHeap) order(a, b *entry) int {
	if c := cmp.Compare(b.key, a.key); c != 0 {
		return c
	}
	return h.tie(a.Row, b.Row)
}

func (h *hitHeap) full() bool { return h.k > 0 && len(h.entries) == h.k }

// add offers a hit, and reports whether the last of k may have changed by it.
func (h *hitHeap) add(hit Hit) bool {
	e := h.entry(hit)
	switch {
	case h.k == 0:
		h.entries = append(h.entries, e)
		return false
	case len(h.entries) < h.k:
		h.entries = append(h.entries, e)
		if h.full() {
			for i := len(h.entries)/2 - 1; i >= 0; i-- {
				h.sink(i)
			}
		}
		return h.full()
	case h.order(&e, &h.entries[0]) < 0:
		h.entries[0] = e
		h.sink(0)
		return true
	}
	return false
}

// sink moves an entry down until none below it comes later in the order.
func (h *hitHeap) sink(i int) {
	e := h.entries
	for {
		child := 2*i + 1
		if child >= len(e) {
			return
		}
		if right := child + 1; right < len(e) && h.order(&e[right], &e[child]) > 0 {
			child = right
		}
		if h.order(&e[child], &e[i]) <= 0 {
			return
		}
		e[i], e[child] = e[child], e[i]
		i = child
	}
}

// sorted returns the hits in order.
func (h *hitHeap) sorted() []Hit {
	slices.SortFunc(h.entries, func(a, b entry) int { return h.order(&a, &b) })
	hits := make([]Hit, len(h.entries))
	for i := range hits {
		hits[i] = h.entries[i].Hit
	}
	return hits
}
