package tanimoto

import "sort"

// limits holds, for queries of one number of on bits and one threshold, which
// numbers of on bits can reach the threshold and with how many in common.
type limits struct {
	count     int
	threshold Threshold
	from, to  int   // numbers of on bits, to included
	least     []int // for from, from+1, … to
}

// set fills the table, unless it is filled already.
func (l *limits) set(t Threshold, count, bits int) {
	if l.least != nil && l.count == count && l.threshold == t {
		return
	}
	l.count, l.threshold = count, t
	l.from = sort.Search(count, func(b int) bool { return t.least(count, b) <= b })
	l.to = count + sort.Search(bits-count, func(more int) bool { return t.least(count, count+more+1) > count })
	l.least = l.least[:0]
	for b := l.from; b <= l.to; b++ {
		l.least = append(l.least, t.least(count, b))
	}
}

// fewBlocks are counted together even if their limits differ.
const fewBlocks = 8

// reaching takes the positions of [from, to) that reach the threshold.
func (s *Searcher) reaching(l *limits, from, to int, take taker) {
	from, to = max(from, s.x.start[l.from]), min(to, s.x.start[l.to+1])
	for from < to {
		// Up to the block in which no position has as low a limit as the first one;
		// where limits differ within a block, the lowest serves for all.
		b := int(s.x.counts[from])
		least := l.least[b-l.from]
		for b <= l.to && l.least[b-l.from] == least {
			b++
		}
		// A few blocks with too low a limit cost less than another call.
		end := max(s.x.start[b], from/blockSize*blockSize+fewBlocks*blockSize)
		end = (end + blockSize - 1) / blockSize * blockSize
		end = min(end, to, (from/tileSize+1)*tileSize)
		s.atLeast(from, end, least, func(position, common int) {
			if common >= l.least[int(s.x.counts[position])-l.from] {
				take(position, common)
			}
		})
		from = end
	}
}

// atMost takes the positions of [from, to), which lie in one tile, that do not pass
// the threshold.
func (s *Searcher) atMost(t Threshold, from, to int, take taker) {
	for from < to {
		b := int(s.x.counts[from])
		end := min(s.x.start[b+1], to)
		s.below(from, end, t.most(s.count, b)+1, take)
		from = end
	}
}
