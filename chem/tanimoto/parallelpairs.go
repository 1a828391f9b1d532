package tanimoto

import "context"

// Pairs is Searcher.Pairs with the work divided among the goroutines. Calls of
// emit, and of the query's Progress, come one at a time.
func (p *Parallel) Pairs(ctx context.Context, q PairQuery, emit func(Pair) error) error {
	return p.pairs(ctx, p.searchers[0].x, q, emit)
}

// PairsWith is Searcher.PairsWith with the work divided among the goroutines.
// Calls of emit, and of the query's Progress, come one at a time.
func (p *Parallel) PairsWith(ctx context.Context, other *Index, q PairQuery, emit func(Pair) error) error {
	return p.pairs(ctx, other.apart(p.searchers[0].x), q, emit)
}

func (p *Parallel) pairs(ctx context.Context, other *Index, q PairQuery, emit func(Pair) error) error {
	if err := q.check(p.searchers[0].x, other); err != nil {
		return err
	}
	whole := &wholeOfPairs{query: q, emit: emit, total: q.Share.pairs(p.searchers[0].x, other)}
	return p.run(ctx, func(ctx context.Context, i int) error {
		part := partOfPairs{whole: whole}
		mine := q
		mine.Share = q.Share.part(i, len(p.searchers))
		if q.Progress != nil {
			mine.Progress = func(done, _ int) { part.progress(ctx, done) }
		}
		err := p.searchers[i].pairs(ctx, other, mine, func(pair Pair) error { return part.take(ctx, pair) })
		if err != nil {
			return err
		}
		return part.flush(ctx)
	})
}

// wholeOfPairs is what the goroutines tell the caller of, one at a time.
type wholeOfPairs struct {
	teller
	query       PairQuery
	emit        func(Pair) error
	done, total int
}

// partOfPairs is what one goroutine has not yet told.
type partOfPairs struct {
	whole *wholeOfPairs
	pairs []Pair
	done  int // told
}

// pairsAtOnce are handed on together.
const pairsAtOnce = 256

func (p *partOfPairs) take(ctx context.Context, pair Pair) error {
	p.pairs = append(p.pairs, pair)
	if len(p.pairs) < pairsAtOnce {
		return nil
	}
	return p.flush(ctx)
}

func (p *partOfPairs) flush(ctx context.Context) error {
	err := p.whole.tell(ctx, func() error {
		for _, pair := range p.pairs {
			if err := p.whole.emit(pair); err != nil {
				return err
			}
		}
		return nil
	})
	p.pairs = p.pairs[:0]
	return err
}

func (p *partOfPairs) progress(ctx context.Context, done int) {
	_ = p.whole.tell(ctx, func() error { // an error of before, which ends the search by itself
		p.whole.done += done - p.done
		p.done = done
		p.whole.query.Progress(p.whole.done, p.whole.total)
		return nil
	})
}
