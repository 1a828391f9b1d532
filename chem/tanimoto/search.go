package tanimoto

import (
	"cmp"
	"context"
	"fmt"
	"math/bits"
)

// Query says what to search for.
type Query struct {
	// Fingerprint has as many words as those of the index.
	Fingerprint []uint64

	// K is how many hits are wanted at most; 0 means all.
	K int

	// Threshold is the least similarity of a hit; with Farthest, the largest. The
	// zero value means no threshold.
	Threshold Threshold

	// Farthest asks for the least similar rows rather than the most similar.
	Farthest bool

	// Tie orders rows of equal similarity, as cmp.Compare does: the negative one
	// comes first. Without it the lower row comes first. It must be safe to call
	// from several goroutines if the query is searched in parallel.
	Tie func(a, b int) int
}

// Search returns the hits in order: by similarity, then by Tie. With K, those
// left out come after all that are returned. It stops with the context's error
// when the context ends.
func (s *Searcher) Search(ctx context.Context, q Query) ([]Hit, error) {
	f, err := s.find(ctx, q, &claims{})
	if err != nil {
		return nil, err
	}
	s.searchTail(f)
	return f.sorted(), nil
}

// check returns the query with the defaults filled in.
func (q Query) check(x *Index) (Query, error) {
	if len(q.Fingerprint) != x.words {
		return q, fmt.Errorf("query of %d words: the index has fingerprints of %d", len(q.Fingerprint), x.words)
	}
	if q.K < 0 {
		return q, fmt.Errorf("query for %d hits", q.K)
	}
	q.Threshold = q.Threshold.orNone(q.Farthest)
	if q.Tie == nil {
		q.Tie = cmp.Compare[int]
	}
	return q, nil
}

// find searches the claimed part of the tiles.
func (s *Searcher) find(ctx context.Context, q Query, c *claims) (*finding, error) {
	q, err := q.check(s.x)
	if err != nil {
		return nil, err
	}
	s.setQuery(q.Fingerprint)
	f := &finding{best: best{k: q.K, farthest: q.Farthest, tie: q.Tie}, query: q, claims: c}
	switch {
	case q.Farthest:
		err = s.farthest(ctx, f)
	case q.K > 0:
		err = s.nearest(ctx, f)
	default:
		err = s.reach(ctx, f)
	}
	return f, err
}

// finding is the state of one search.
type finding struct {
	best
	query    Query
	claims   *claims
	searched int // positions
}

// reaches reports whether a similarity satisfies the query's threshold.
func (f *finding) reaches(s Score) bool {
	c := f.query.Threshold.Compare(s)
	return c == 0 || c > 0 != f.query.Farthest
}

// threshold is what a hit must satisfy by now: the query's threshold, or what the
// last of K is known to satisfy, whichever is the stricter.
func (f *finding) threshold() Threshold {
	low := f.low
	if f.claims.shared != nil {
		low = f.claims.shared.raise(low)
	}
	bound, query := f.bound(low), f.query.Threshold
	if c := bound.compare(query); low == 0 || c < 0 != f.farthest {
		return query
	}
	return bound
}

// take returns a taker of positions for the finding.
func (s *Searcher) take(f *finding) taker {
	return func(position, common int) {
		score := Score{int32(common), int32(s.count + int(s.x.counts[position]) - common)}
		if f.reaches(score) {
			f.add(Hit{int(s.x.rows[position]), score})
		}
	}
}

// claimSize is how many positions are claimed at once where the order in which
// positions are searched does not matter.
const claimSize = tileSize / 4

// reach finds all that reach the threshold.
func (s *Searcher) reach(ctx context.Context, f *finding) error {
	s.limits.set(f.query.Threshold, s.count, s.x.bits)
	take := s.take(f)
	from, to := s.x.start[s.limits.from], s.x.start[s.limits.to+1]
	for from -= from % claimSize; from < to; from += claimSize {
		if err := ctx.Err(); err != nil {
			return err
		}
		if f.claims.take() {
			s.reaching(&s.limits, from, from+claimSize, take)
		}
	}
	return nil
}

// nearest finds the K most similar. It goes outward from the query's own number
// of on bits, the number that allows the larger similarity first, until neither
// side allows what the last of K has.
func (s *Searcher) nearest(ctx context.Context, f *finding) error {
	down, up := s.count, s.count+1
	for down >= 0 || up <= s.x.bits {
		if err := ctx.Err(); err != nil {
			return err
		}
		b := up
		// Similarity is at most down/count on one side, count/up on the other.
		if down >= 0 && (up > s.x.bits || down*up >= s.count*s.count) {
			b = down
			down--
		} else {
			up++
		}
		if s.x.start[b] == s.x.start[b+1] {
			continue
		}
		if f.threshold().least(s.count, b) > min(s.count, b) {
			return nil
		}
		s.nearestOf(f, b)
	}
	return nil
}

// nearestOf searches the positions with b on bits.
func (s *Searcher) nearestOf(f *finding, b int) {
	least := f.threshold().least(s.count, b)
	take := func(position, common int) {
		if common < least {
			return
		}
		if f.add(Hit{int(s.x.rows[position]), Score{int32(common), int32(s.count + b - common)}}) {
			least = f.threshold().least(s.count, b)
		}
	}
	for from, end := s.x.start[b], s.x.start[b+1]; from < end; {
		// So little with one limit that it stays near the last of K: the more has
		// been searched, the less it moves.
		unit := min(end, (from/tileSize+1)*tileSize, (from/blockSize+nearestBlocks)*blockSize)
		if !f.claims.take() {
			from = unit
		}
		for from < unit {
			to := min(unit, (from/blockSize+1+f.searched/blockSize/8)*blockSize)
			s.atLeast(from, to, least, take)
			f.searched += to - from
			from = to
		}
	}
}

// nearestBlocks are searched with one limit.
const nearestBlocks = 16

// farthest finds the least similar, in the order of positions.
func (s *Searcher) farthest(ctx context.Context, f *finding) error {
	take := s.take(f)
	for from := 0; from < len(s.x.rows); from += claimSize {
		if err := ctx.Err(); err != nil {
			return err
		}
		if f.claims.take() {
			s.atMost(f.threshold(), from, min(len(s.x.rows), from+claimSize), take)
		}
	}
	return nil
}

// searchTail compares the appended rows.
func (s *Searcher) searchTail(f *finding) {
	query := f.query.Fingerprint
	for i := 0; i < len(s.x.tail); i += s.x.words {
		common, union := int32(0), int32(0)
		for j, w := range s.x.tail[i : i+s.x.words] {
			common += int32(bits.OnesCount64(w & query[j]))
			union += int32(bits.OnesCount64(w | query[j]))
		}
		if score := (Score{common, union}); f.reaches(score) {
			f.add(Hit{len(s.x.rows) + i/s.x.words, score})
		}
	}
}
