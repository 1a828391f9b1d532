package tanimoto

import (
	"context"
	"fmt"
	"math/bits"
	"slices"
)

// Count returns how many rows have at least that similarity to a fingerprint,
// without looking at any by itself.
func (s *Searcher) Count(ctx context.Context, fp []uint64, t Threshold) (int, error) {
	q, err := Query{Fingerprint: fp, Threshold: t}.check(s.x)
	if err != nil {
		return 0, err
	}
	s.setQuery(fp)
	return s.countAll(ctx, q)
}

// Histogram counts the rows by their similarity to a fingerprint: element i of the
// answer is how many reach edges[i] but not edges[i+1], the last element how many
// reach the last edge. The edges ascend; rows below the first one are in no
// element. It takes a Count for each edge.
func (s *Searcher) Histogram(ctx context.Context, fp []uint64, edges []Threshold) ([]int, error) {
	if _, err := (Query{Fingerprint: fp}).check(s.x); err != nil {
		return nil, err
	}
	if !slices.IsSortedFunc(edges, Threshold.compare) {
		return nil, fmt.Errorf("histogram: the edges do not ascend")
	}
	counts := make([]int, len(edges))
	for i, edge := range edges {
		n, err := s.Count(ctx, fp, edge)
		if err != nil {
			return nil, err
		}
		counts[i] = n
		if i > 0 {
			counts[i-1] -= n
		}
	}
	return counts, ctx.Err()
}

func (s *Searcher) countAll(ctx context.Context, q Query) (int, error) {
	s.limits.set(q.Threshold, s.count, s.x.bits)
	l := &s.limits
	sum := 0
	for b := l.from; b <= l.to; {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		least, from := l.least[b-l.from], s.x.start[b]
		for b <= l.to && l.least[b-l.from] == least {
			b++
		}
		for end := s.x.start[b]; from < end; {
			to := min(end, (from/tileSize+1)*tileSize)
			sum += s.countAtLeast(from, to, least)
			from = to
		}
	}
	tail := &finding{query: q, claims: &claims{}}
	s.searchTail(tail)
	return sum + len(tail.entries), nil
}

// countAtLeast is how many of the positions [from, to), which lie in one tile, have
// at least limit bits in common with the query.
func (s *Searcher) countAtLeast(from, to, limit int) int {
	switch {
	case limit <= 0:
		return to - from
	case limit > len(s.ranks):
		return 0
	}
	sum := 0
	blocks, n := s.candidates(from, to, limit)
	s.planesOf(blocks, n, limit, from, func(first int, planes []uint64) {
		for w, mask := range planes[len(planes)-blockWords:] {
			if mask != 0 {
				sum += bits.OnesCount64(mask & within(first+64*w, from, to))
			}
		}
	})
	return sum
}
