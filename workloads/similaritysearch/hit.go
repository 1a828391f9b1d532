package similaritysearch

import (
	"cmp"
	"strconv"
	"strings"

	"scimesh.dev/scimesh/workloads/decimal"
)

// hit is a molecule that may be in the result.
type hit struct {
	common, union int32
	id, smiles    string
}

// compareSimilarity compares two ratios exactly; 0/0 counts as 1.
func compareSimilarity(common1, union1, common2, union2 int32) int {
	if union1 == 0 {
		common1, union1 = 1, 1
	}
	if union2 == 0 {
		common2, union2 = 1, 1
	}
	return cmp.Compare(int64(common1)*int64(union2), int64(common2)*int64(union1))
}

// order is the order of hits in the result.
type order struct {
	ascending bool // by similarity; descending otherwise
}

// compare is negative if a comes before b, and zero only if they print alike.
func (o order) compare(a, b hit) int {
	bySimilarity := compareSimilarity(a.common, a.union, b.common, b.union)
	if !o.ascending {
		bySimilarity = -bySimilarity
	}
	return cmp.Or(bySimilarity, strings.Compare(a.id, b.id), strings.Compare(a.smiles, b.smiles))
}

// before is compare < 0 for a candidate whose text is still in a buffer.
func (o order) before(common, union int32, id, smiles []byte, b hit) bool {
	bySimilarity := compareSimilarity(common, union, b.common, b.union)
	if bySimilarity != 0 {
		return (bySimilarity < 0) == o.ascending
	}
	if string(id) != b.id { // comparing with a converted slice does not allocate
		return string(id) < b.id
	}
	return string(smiles) < b.smiles
}

// similarity prints the quotient as Python prints f"{common / union:.6f}".
func (h hit) similarity() string {
	if h.union == 0 {
		return "1.000000"
	}
	return strconv.FormatFloat(float64(h.common)/float64(h.union), 'f', 6, 64)
}

// limits holds, for every size of the union, the counts of common bits that
// satisfy the threshold. So the inner loop compares small integers, and cases on
// the boundary are right by construction.
type limits struct {
	low, high [fingerprintBits + 1]int16
}

func noLimits() limits {
	var l limits
	for union := range l.high {
		l.high[union] = int16(union)
	}
	return l
}

// newLimits evaluates the threshold. As the union grows, the smallest common
// count that reaches it never falls, so one pass over both finds all of them.
func newLimits(threshold decimal.Fraction, atMost bool) limits {
	l := noLimits()
	common := 0
	for union := range l.low {
		for common < union && threshold.Compare(uint64(common), uint64(union)) < 0 {
			common++
		}
		l.low[union] = int16(common)
		if !atMost {
			continue
		}
		l.low[union], l.high[union] = 0, int16(common)
		if threshold.Compare(uint64(common), uint64(union)) > 0 {
			l.high[union]--
		}
	}
	return l
}

// accept reports whether a ratio satisfies the threshold.
func (l *limits) accept(common, union int) bool {
	return int(l.low[union]) <= common && common <= int(l.high[union])
}
