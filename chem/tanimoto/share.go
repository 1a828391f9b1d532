package tanimoto

import "iter"

// Share is one of Of equal parts of the work, counted from 0. The zero value is
// all of it.
type Share struct {
	Index, Of int
}

// blocks are those of the index whose positions the share compares.
func (s Share) blocks(x *Index) iter.Seq[int] {
	return func(yield func(int) bool) {
		for block := s.Index; block*blockSize < len(x.rows); block += max(1, s.Of) {
			if !yield(block) {
				return
			}
		}
	}
}

// part is one of equal parts of the share.
func (s Share) part(i, of int) Share {
	whole := max(1, s.Of)
	return Share{s.Index + whole*i, whole * of}
}

// pairs is how many pairs the share has.
func (s Share) pairs(x, other *Index) int {
	pairs := 0
	for block := range s.blocks(other) {
		pairs += pairsOf(x, other, block, 0, len(x.rows))
	}
	return pairs
}

// pairsOf is how many pairs the positions of a block of the other index have with
// the positions [from, to).
func pairsOf(x, other *Index, block, from, to int) (pairs int) {
	for position := block * blockSize; position < min((block+1)*blockSize, len(other.rows)); position++ {
		pairs += max(0, to-max(from, after(x, other, position)))
	}
	return pairs
}

// after is the first position of an index that is to be paired with one of the
// other: within one index each pair is that of its first position.
func after(x, other *Index, position int) int {
	if other == x {
		return position + 1
	}
	return 0
}
