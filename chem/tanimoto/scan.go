package tanimoto

import "math/bits"

// planesOf counts the blocks in full and calls f for each with its first position
// and its planes, of which the last is the mask of at least limit bits in common.
// The blocks are of the tile of the position from.
func (s *Searcher) planesOf(blocks []uint32, n, limit, from int, f func(first int, planes []uint64)) {
	t := s.x.tiles[from/tileSize]
	cols := s.columns(t)
	k := s.kernel.counter(len(s.ranks))
	size := (k.planes + 1) * blockWords
	setPlanes(s.init, k.planes, limit)
	for i := 0; i < n; i += batch {
		b := min(batch, n-i)
		k.count(t.bits, cols, s.init[:k.planes+1], blocks[i:], b, s.planes)
		for j, block := range blocks[i : i+b] {
			f(from-from%tileSize+int(block)*64, s.planes[j*size:][:size])
		}
	}
}

// each counts the blocks in full and takes the positions of [from, to) with at
// least limit bits in common; with invert all ones, those with fewer.
func (s *Searcher) each(blocks []uint32, n, limit int, invert uint64, from, to int, take taker) {
	s.planesOf(blocks, n, limit, from, func(first int, planes []uint64) {
		values, masks := planes[:len(planes)-blockWords], planes[len(planes)-blockWords:]
		shift := limit - 1<<(len(values)/blockWords) // from a value of the planes to the count
		for w, mask := range masks {
			if mask = (mask ^ invert) & within(first+64*w, from, to); mask != 0 {
				takeWord(planes[w:], mask, first+64*w, shift, take)
			}
		}
	})
}

// within masks those of 64 positions from first that lie in [from, to).
func within(first, from, to int) uint64 {
	mask := ^uint64(0)
	if first < from {
		mask <<= from - first // 64 or more leaves none
	}
	if rest := to - first; rest < 64 {
		mask &= 1<<max(rest, 0) - 1
	}
	return mask
}

// takeWord takes the positions of the mask. Their planes stand blockWords apart.
func takeWord(planes []uint64, mask uint64, first, shift int, take taker) {
	for ; mask != 0; mask &= mask - 1 {
		bit := bits.TrailingZeros64(mask)
		value := 0
		for j, at := 0, 0; at < len(planes); j, at = j+1, at+blockWords {
			value |= int(planes[at]>>bit&1) << j
		}
		take(first+bit, value+shift)
	}
}
