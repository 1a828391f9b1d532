package similaritysearch

import (
	"cmp"
	"strings"
)

// hit is a molecule that may be in the result.
type hit struct {
	common, union int32
	id, smiles    string
}

// order is the order of hits in the result.
type order struct {
	measure   measure
	ascending bool // by similarity; descending otherwise
}

// compare is negative if a comes before b, and zero only if they print alike.
func (o order) compare(a, b hit) int {
	bySimilarity := o.measure.compare(a.common, a.union, b.common, b.union)
	if !o.ascending {
		bySimilarity = -bySimilarity
	}
	return cmp.Or(bySimilarity, strings.Compare(a.id, b.id), strings.Compare(a.smiles, b.smiles))
}

// before is compare < 0 for a candidate whose text is still in a buffer.
func (o order) before(common, union int32, id, smiles []byte, b hit) bool {
	bySimilarity := o.measure.compare(common, union, b.common, b.union)
	if bySimilarity != 0 {
		return (bySimilarity < 0) == o.ascending
	}
	if string(id) != b.id { // comparing with a converted slice does not allocate
		return string(id) < b.id
	}
	return string(smiles) < b.smiles
}
