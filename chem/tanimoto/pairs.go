package tanimoto

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
)

// PairQuery says which pairs of rows to look for.
type PairQuery struct {
	// Threshold is the least similarity of a pair; with Farthest, the largest. The
	// zero value means no threshold.
	Threshold Threshold

	// Farthest asks for pairs that are not similar rather than for similar ones.
	Farthest bool

	// Share is the part of the work to do. Several goroutines, each with a Searcher
	// of its own and a different share, find all pairs together; see also Parallel.
	Share Share

	// Progress is called now and then with how many pairs of the share have been
	// looked at, by comparing them or by ruling them out, and with how many there
	// are: in the end with all of them.
	Progress func(done, total int)
}

// Pair is two rows and their similarity. For pairs of one index A is less than B.
type Pair struct {
	A, B int
	Score
}

// errTail says that pairs are found among indexed rows alone.
var errTail = errors.New("pairs: the index has appended rows; build it anew")

// Pairs calls emit for each pair of different rows of the index that satisfies the
// query, once, in no order that means anything. It stops at emit's first error,
// after the row at hand, and when the context ends.
func (s *Searcher) Pairs(ctx context.Context, q PairQuery, emit func(Pair) error) error {
	return s.pairs(ctx, s.x, q, emit)
}

// PairsWith is Pairs for two indexes of equally long fingerprints: A is a row of
// the other index, B a row of the searcher's own.
func (s *Searcher) PairsWith(ctx context.Context, other *Index, q PairQuery, emit func(Pair) error) error {
	return s.pairs(ctx, other.apart(s.x), q, emit)
}

func (s *Searcher) pairs(ctx context.Context, other *Index, q PairQuery, emit func(Pair) error) error {
	if err := q.check(s.x, other); err != nil {
		return err
	}
	q.Threshold = q.Threshold.orNone(q.Farthest)
	p := &pairing{Searcher: s, query: q, other: other, emit: emit, limits: map[int]*limits{}}
	p.total = q.Share.pairs(s.x, other)
	var group []int
	for block := range q.Share.blocks(other) {
		if group = append(group, block); len(group) == groupSize {
			if err := p.queries(ctx, group); err != nil {
				return err
			}
			group = group[:0]
		}
	}
	return p.queries(ctx, group)
}

// apart returns an index of the same fingerprints that is not x itself: its rows
// are to be paired with themselves as well.
func (x *Index) apart(other *Index) *Index {
	if x != other {
		return x
	}
	copied := *x
	return &copied
}

func (q PairQuery) check(x, other *Index) error {
	if x.bits != other.bits {
		return fmt.Errorf("pairs of fingerprints of %d and %d bits", other.bits, x.bits)
	}
	if len(x.tail) > 0 || len(other.tail) > 0 {
		return errTail
	}
	if s := q.Share; s != (Share{}) && (s.Index < 0 || s.Index >= s.Of) {
		return fmt.Errorf("pairs: share %d of %d", s.Index, s.Of)
	}
	return nil
}

// pairing is the state of one search for pairs: the positions of one index are
// the queries to the searcher's.
type pairing struct {
	*Searcher
	query PairQuery
	other *Index
	emit  func(Pair) error
	err   error // emit's first

	done, told, total int // pairs looked at, and told of

	limits map[int]*limits // by the number of on bits
	lists  [][]uint32      // ranks of the columns of each position of a group
}

// groupSize is how many blocks pass over a tile before the next tile: the more,
// the less often tiles come from memory, and the more lists there are.
const groupSize = 32

// queries compares the positions of a group of blocks with all tiles.
func (p *pairing) queries(ctx context.Context, group []int) error {
	for i, block := range group {
		if len(p.lists) <= i*blockSize {
			p.lists = append(p.lists, make([][]uint32, blockSize)...)
		}
		p.readColumns(block, p.lists[i*blockSize:][:blockSize])
	}
	for tile := range p.x.tiles {
		for i, block := range group {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := p.block(block, p.lists[i*blockSize:], tile*tileSize); err != nil {
				return err
			}
			if p.query.Progress != nil && p.done > p.told {
				p.told = p.done
				p.query.Progress(p.done, p.total)
			}
		}
	}
	return nil
}

// block compares the positions of a block, which have those columns, with the tile
// that begins at first.
func (p *pairing) block(block int, lists [][]uint32, first int) error {
	end := min(first+tileSize, len(p.x.rows))
	p.done += pairsOf(p.x, p.other, block, first, end)
	if from, to := p.within(block, first, end); from >= to {
		return nil
	}
	for position := block * blockSize; position < min((block+1)*blockSize, len(p.other.rows)); position++ {
		from, to := max(first, after(p.x, p.other, position)), end
		if from >= to {
			continue
		}
		p.count, p.stride = int(p.other.counts[position]), 0
		p.ranks = lists[position%blockSize]
		take := func(other, common int) { p.found(position, other, common) }
		if p.query.Farthest {
			p.atMost(p.query.Threshold, from, to, take)
		} else {
			p.reaching(p.limit(p.count), from, to, take)
		}
		if p.err != nil {
			return p.err
		}
	}
	return nil
}

// within narrows [from, to) to what the positions of a block can have pairs with.
func (p *pairing) within(block, from, to int) (int, int) {
	last := min((block+1)*blockSize, len(p.other.rows)) - 1
	from = max(from, after(p.x, p.other, block*blockSize))
	if !p.query.Farthest {
		// More bits on move both bounds up.
		from = max(from, p.x.start[p.limit(int(p.other.counts[block*blockSize])).from])
		to = min(to, p.x.start[p.limit(int(p.other.counts[last])).to+1])
	}
	return from, to
}

func (p *pairing) found(position, other, common int) {
	if p.err != nil {
		return
	}
	a, b := int(p.other.rows[position]), int(p.x.rows[other])
	if p.other == p.x {
		a, b = min(a, b), max(a, b)
	}
	union := p.count + int(p.x.counts[other]) - common
	p.err = p.emit(Pair{a, b, Score{int32(common), int32(union)}})
}

func (p *pairing) limit(count int) *limits {
	l := p.limits[count]
	if l == nil {
		l = &limits{}
		l.set(p.query.Threshold, count, p.x.bits)
		p.limits[count] = l
	}
	return l
}

// readColumns lists which columns of the searcher's index the positions of a block
// have on, rarest first. It takes a whole cache line of each column, since every
// one is a miss.
func (p *pairing) readColumns(block int, lists [][]uint32) {
	for i := range lists {
		lists[i] = lists[i][:0]
	}
	t := p.other.tiles[block*blockSize/tileSize]
	first := block * blockWords % tileWords
	for rank := p.x.unused; rank < p.x.bits; rank++ {
		at := int(p.x.columns[rank])*t.stride + first
		for i, w := range t.bits[at : at+blockWords] {
			for ; w != 0; w &= w - 1 {
				position := 64*i + bits.TrailingZeros64(w)
				lists[position] = append(lists[position], uint32(rank))
			}
		}
	}
}
