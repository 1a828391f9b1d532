package tanimoto

import "slices"

// hitHeap keeps the first k hits of an order, or all if k is 0. Once it is full
// the last of them is hits[0].
type hitHeap struct {
	k     int
	order func(a, b Hit) int
	hits  []Hit
}

func (h *hitHeap) full() bool { return h.k > 0 && len(h.hits) == h.k }

func (h *hitHeap) add(hit Hit) {
	switch {
	case h.k == 0:
		h.hits = append(h.hits, hit)
	case len(h.hits) < h.k:
		h.hits = append(h.hits, hit)
		if h.full() {
			for i := len(h.hits)/2 - 1; i >= 0; i-- {
				h.sink(i)
			}
		}
	case h.order(hit, h.hits[0]) < 0:
		h.hits[0] = hit
		h.sink(0)
	}
}

// sink moves a hit down until none below it comes later in the order.
func (h *hitHeap) sink(i int) {
	for {
		child := 2*i + 1
		if child >= len(h.hits) {
			return
		}
		if right := child + 1; right < len(h.hits) && h.order(h.hits[right], h.hits[child]) > 0 {
			child = right
		}
		if h.order(h.hits[child], h.hits[i]) <= 0 {
			return
		}
		h.hits[i], h.hits[child] = h.hits[child], h.hits[i]
		i = child
	}
}

func (h *hitHeap) sorted() []Hit {
	slices.SortFunc(h.hits, h.order)
	return h.hits
}
