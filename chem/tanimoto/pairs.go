package tanimoto

import (
	"context"
	"errors"
	"math/bits"
)

// Pair is two rows, A before B, and their similarity.
type Pair struct {
	A, B int
	Score
}

// Share is one of Of equal parts of the work, counted from 0. The zero value is
// all of it.
type Share struct {
	Index, Of int
}

// errTail says that pairs are found among indexed rows alone.
var errTail = errors.New("pairs: the index has appended rows; build it anew")

// Pairs calls emit for each pair of different rows with at least that similarity,
// each once, in no order that means anything. Several goroutines, each with a
// Searcher of its own and a different share, find all pairs together.
// It stops at emit's first error, after the query at hand, and when the context
// ends.
func (s *Searcher) Pairs(ctx context.Context, t Threshold, share Share, emit func(Pair) error) error {
	if len(s.x.tail) > 0 {
		return errTail
	}
	if share.Of == 0 {
		share.Of = 1
	}
	p := &pairing{Searcher: s, threshold: t, share: share, emit: emit, limits: map[int]*limits{}}
	// A tile's columns stay in the cache while all queries pass over it.
	for from := range s.x.tiles {
		for block := 0; block*blockSize < min(len(s.x.rows), (from+1)*tileSize); block++ {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := p.queries(block, from*tileSize); err != nil {
				return err
			}
		}
	}
	return nil
}

// pairing is the state of one search for pairs.
type pairing struct {
	*Searcher
	threshold Threshold
	share     Share
	emit      func(Pair) error
	err       error // emit's first

	limits map[int]*limits     // by the number of on bits
	lists  [blockSize][]uint32 // ranks of the columns of a block's positions
}

// queries compares the positions of a block with the tile that begins at first.
func (p *pairing) queries(block, first int) error {
	if block%p.share.Of != p.share.Index {
		return nil
	}
	last := min((block+1)*blockSize, len(p.x.rows)) - 1
	if p.end(last) <= first {
		return nil
	}
	p.readColumns(block)
	for position := block * blockSize; position <= last; position++ {
		from, to := max(first, position+1), min(first+tileSize, p.end(position))
		if from >= to {
			continue
		}
		p.count, p.stride = int(p.x.counts[position]), 0
		p.ranks = p.lists[position%blockSize]
		p.reaching(p.limit(p.count), from, to, func(other, common int) { p.found(position, other, common) })
		if p.err != nil {
			return p.err
		}
	}
	return nil
}

func (p *pairing) found(position, other, common int) {
	if p.err != nil {
		return
	}
	a, b := int(p.x.rows[position]), int(p.x.rows[other])
	union := p.count + int(p.x.counts[other]) - common
	p.err = p.emit(Pair{min(a, b), max(a, b), Score{int32(common), int32(union)}})
}

// end is the position after the last one that can be similar enough.
func (p *pairing) end(position int) int {
	return p.x.start[p.limit(int(p.x.counts[position])).to+1]
}

func (p *pairing) limit(count int) *limits {
	l := p.limits[count]
	if l == nil {
		l = &limits{}
		l.set(p.threshold, count, p.x.bits)
		p.limits[count] = l
	}
	return l
}

// readColumns lists which columns the positions of a block have on, rarest first.
// It takes a whole cache line of each column, since every one is a miss.
func (p *pairing) readColumns(block int) {
	for i := range p.lists {
		p.lists[i] = p.lists[i][:0]
	}
	t := p.x.tiles[block*blockSize/tileSize]
	first := block * blockWords % tileWords
	for rank := p.x.unused; rank < p.x.bits; rank++ {
		at := int(p.x.columns[rank])*t.stride + first
		for i, w := range t.bits[at : at+blockWords] {
			for ; w != 0; w &= w - 1 {
				position := 64*i + bits.TrailingZeros64(w)
				p.lists[position] = append(p.lists[position], uint32(rank))
			}
		}
	}
}
