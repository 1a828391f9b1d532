package similaritysearch

import "slices"

// topK keeps the first k hits in an order: a binary heap with the last of them
// at its root, which a better one replaces.
type topK struct {
	order order
	k     int
	heap  []hit
}

func newTopK(o order, k int) *topK { return &topK{order: o, k: k} }

// offer adds a hit if it is among the first k so far. It copies id and smiles
// only then.
func (t *topK) offer(common, union int32, id, smiles []byte) {
	full := len(t.heap) == t.k
	if full && !t.order.before(common, union, id, smiles, t.heap[0]) {
		return
	}
	text := string(id) + string(smiles)
	h := hit{common: common, union: union, id: text[:len(id)], smiles: text[len(id):]}
	if full {
		t.heap[0] = h
		t.down(0)
		return
	}
	t.heap = append(t.heap, h)
	t.up(len(t.heap) - 1)
}

func (t *topK) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if t.order.compare(t.heap[i], t.heap[parent]) <= 0 {
			return
		}
		t.heap[i], t.heap[parent] = t.heap[parent], t.heap[i]
		i = parent
	}
}

func (t *topK) down(i int) {
	for {
		last := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(t.heap); child++ {
			if t.order.compare(t.heap[child], t.heap[last]) > 0 {
				last = child
			}
		}
		if last == i {
			return
		}
		t.heap[i], t.heap[last] = t.heap[last], t.heap[i]
		i = last
	}
}

// sorted returns the hits in order. The topK cannot be used afterwards.
func (t *topK) sorted() []hit {
	slices.SortFunc(t.heap, t.order.compare)
	return t.heap
}
