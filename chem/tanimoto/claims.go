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
	claimed atomic.Int64 // units
	low     atomic.Int64
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

// raise takes note of the class that the last of K hits of one goroutine is not
// below, and returns the highest such class: all of them together have K hits that
// are not below it.
func (s *shared) raise(low int) int {
	for {
		have := s.low.Load()
		if int64(low) <= have {
			return int(have)
		}
		if s.low.CompareAndSwap(have, int64(low)) {
			return low
		}
	}
}
