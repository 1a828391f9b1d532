package similaritygraph

import (
	"bytes"
	"slices"

	"scimesh.dev/scimesh/chem/tanimoto"
)

// block holds what is compared of a block, and the ids of its molecules.
type block struct {
	index *tanimoto.Index
	ids   []byte
	ends  []int // where each id ends

	// byID are the rows by ascending id, ranks the places of rows in it: edges are
	// sorted by ranks and not by text.
	byID  []uint32
	ranks []uint32
}

func (b *block) add(id []byte) {
	b.ids = append(b.ids, id...)
	b.ends = append(b.ends, len(b.ids))
}

func (b *block) id(row uint32) []byte {
	start := 0
	if row > 0 {
		start = b.ends[row-1]
	}
	return b.ids[start:b.ends[row]]
}

func (b *block) rank() {
	b.byID = make([]uint32, len(b.ends))
	for i := range b.byID {
		b.byID[i] = uint32(i)
	}
	slices.SortFunc(b.byID, func(i, j uint32) int { return bytes.Compare(b.id(i), b.id(j)) })
	b.ranks = make([]uint32, len(b.ends))
	for rank, row := range b.byID {
		b.ranks[row] = uint32(rank)
	}
}
