package tanimoto

import "sync/atomic"

// claims divides a search among goroutines that go through the same sequence of
// units of work: each unit is taken by one of them. The zero value takes all.
type claims struct {
	shared *shared

	at    int // the unit that comes next in the sequence
	mine  int
	holds bool // mine is still to come
}

// shared is what the goroutines of one search know together.
type shared struct {
	claimed  atomic.Int64 // units
	lastOfK  atomic.Uint64
	farthest bool
}

// noScore is no score, in which Common is never more than Union.
const noScore = 1 << 32

func newShared(farthest bool) *shared {
	s := &shared{farthest: farthest}
	s.lastOfK.Store(noScore)
	return s
}

// take reports whether the next unit is the goroutine's own.
func (c *claims) take() bool {
	if c.shared == nil {
		return true
	}
	if !c.holds {
		// No unit before at is free, since each was passed because it was claimed.
		c.mine, c.holds = int(c.shared.claimed.Add(1))-1, true
	}
	c.holds = c.at != c.mine
	c.at++
	return !c.holds
}

// last takes note that a goroutine has K hits, of which that one is the last, and
// returns the strictest such similarity: all of them together have K at least as
// similar (or as far).
func (s *shared) last(own Score, ok bool) (Score, bool) {
	for {
		word := s.lastOfK.Load()
		best := Score{int32(word >> 32), int32(uint32(word))}
		if !ok && word == noScore {
			return own, false
		}
		if !ok || word != noScore && !s.stricter(own, best) {
			return best, true
		}
		if s.lastOfK.CompareAndSwap(word, uint64(own.Common)<<32|uint64(own.Union)) {
			return own, true
		}
	}
}

func (s *shared) stricter(a, b Score) bool {
	c := a.Compare(b)
	return c > 0 && !s.farthest || c < 0 && s.farthest
}
