package similaritysearch

import "scimesh.dev/scimesh/workloads/decimal"

// limits holds the counts of common bits that satisfy a threshold, for every size
// of the union; for measures that need the query's bits, for every number of the
// molecule's. So the inner loop compares small integers, and cases on the boundary
// are right by construction.
type limits struct {
	low, high []int16
	query     int // on bits of the query, -1 if sizes are those of unions
}

// newLimits evaluates the threshold, which may be nil, for fingerprints of that
// many bits. As the size grows, the smallest common count that reaches the threshold
// never falls, so one pass over both finds all of them.
func newLimits(m measure, size int, threshold *decimal.Fraction, atMost bool) *limits {
	l := &limits{low: make([]int16, size+1), high: make([]int16, size+1), query: -1}
	if !m.tanimoto() && m.kind != measureDice {
		l.query = int(m.query)
	}
	common := 0
	for n := range l.low {
		most := n
		if l.query >= 0 {
			most = min(n, l.query)
		}
		l.high[n] = int16(most)
		if threshold == nil {
			continue
		}
		against := func(common int) int {
			union := n
			if l.query >= 0 {
				union = n + l.query - common
			}
			return m.compareWith(*threshold, int64(common), int64(union))
		}
		for common = min(common, most); common <= most && against(common) < 0; {
			common++
		}
		l.low[n] = int16(common) // more than most, if none satisfies it
		if atMost {
			l.low[n], l.high[n] = 0, int16(min(common, most))
			if common > most {
				continue
			}
			if against(common) > 0 {
				l.high[n]--
			}
		}
	}
	return l
}

// accept reports whether a pair of counts satisfies the threshold.
func (l *limits) accept(common, union int) bool {
	n := union
	if l.query >= 0 {
		n = union + common - l.query
	}
	return int(l.low[n]) <= common && common <= int(l.high[n])
}
