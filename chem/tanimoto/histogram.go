package tanimoto

import (
	"context"
	"fmt"
	"math/bits"
	"slices"
)

// Histogram counts the rows by their similarity to a fingerprint: element i of the
// answer is how many reach edges[i] but not edges[i+1], the last element how many
// reach the last edge. The edges ascend; rows below the first one are in no
// element.
func (s *Searcher) Histogram(ctx context.Context, fp []uint64, edges []Threshold) ([]int, error) {
	if _, err := (Query{Fingerprint: fp}).check(s.x); err != nil {
		return nil, err
	}
	if !slices.IsSortedFunc(edges, Threshold.compare) {
		return nil, fmt.Errorf("histogram: the edges do not ascend")
	}
	s.setQuery(fp)
	h := &histogram{edges: edges, reached: make([]int, len(edges)), least: make([]int, len(edges))}
	for b := range s.x.bits + 1 {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		s.histogramOf(h, b)
	}
	tail := &finding{query: Query{Fingerprint: fp, Threshold: Threshold{}.orNone(false)}}
	s.searchTail(tail)
	for _, e := range tail.entries {
		for i, edge := range edges {
			if edge.Compare(e.Score) >= 0 {
				h.reached[i]++
			}
		}
	}
	for i := range len(edges) - 1 {
		h.reached[i] -= h.reached[i+1]
	}
	return h.reached, nil
}

// histogram is the state of one count.
type histogram struct {
	edges   []Threshold
	reached []int // rows that reach each edge
	least   []int // common count to reach it with the number of on bits at hand
}

// histogramOf counts the positions with b on bits.
func (s *Searcher) histogramOf(h *histogram, b int) {
	from, end := s.x.start[b], s.x.start[b+1]
	all, some := 0, 0 // edges that all reach, edges that some may reach
	for i, edge := range h.edges {
		h.least[i] = edge.least(s.count, b)
		if h.least[i] <= 0 {
			h.reached[i] += end - from
			all++
		}
		if h.least[i] <= min(len(s.ranks), b) {
			some++
		}
	}
	if all == some {
		return
	}
	for from < end {
		to := min(end, (from/tileSize+1)*tileSize)
		s.reachedOf(h.reached[all:some], h.least[all:some], from, to)
		from = to
	}
}

// reachedOf adds for each limit how many positions of [from, to), which lie in one
// tile, have at least so many bits in common with the query.
func (s *Searcher) reachedOf(reached, limits []int, from, to int) {
	t := s.x.tiles[from/tileSize]
	cols := s.columns(t)
	k := s.kernel.counter(len(s.ranks))
	size := (k.planes + 1) * blockWords
	setPlanes(s.init, k.planes, 1<<k.planes) // from 0 on
	blocks, n := blocksOf(from, to)
	for i := 0; i < n; i += batch {
		b := min(batch, n-i)
		k.count(t.bits, cols, s.init[:k.planes+1], blocks[i:], b, s.planes)
		for j, block := range blocks[i : i+b] {
			planes := s.planes[j*size:][:k.planes*blockWords]
			first := from - from%tileSize + int(block)*64
			// Who does not reach a limit reaches none of the higher ones.
			for l, limit := range limits {
				n := countReaching(planes, limit, first, from, to)
				if n == 0 {
					break
				}
				reached[l] += n
			}
		}
	}
}

// countReaching is how many positions of a block that lie in [from, to) have a
// count of at least limit in the planes.
func countReaching(planes []uint64, limit, first, from, to int) int {
	var mask [blockWords]uint64
	for w := range mask {
		mask[w] = within(first+64*w, from, to)
	}
	reaches := mask
	for ; len(planes) >= blockWords; planes, limit = planes[blockWords:], limit>>1 {
		plane := (*[blockWords]uint64)(planes)
		if limit&1 != 0 {
			for w := range reaches {
				reaches[w] &= plane[w]
			}
		} else {
			for w := range reaches {
				reaches[w] |= plane[w]
			}
		}
	}
	n := 0
	for w := range reaches {
		n += bits.OnesCount64(reaches[w] & mask[w])
	}
	return n
}
