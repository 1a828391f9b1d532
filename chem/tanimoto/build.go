package tanimoto

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Build makes an index of fingerprints of that many bits, a multiple of 64 from
// 64 to 8192, which stand one after the other in rows: bit i is bit i%64 of word
// i/64. It does not keep rows.
func Build(rows []uint64, bits int) (*Index, error) {
	if err := checkBits(bits); err != nil {
		return nil, err
	}
	x := &Index{bits: bits, words: bits / 64}
	if err := checkRows(rows, x.words); err != nil {
		return nil, err
	}
	if n := len(rows) / x.words; n > math.MaxUint32 {
		return nil, fmt.Errorf("%d fingerprints are more than an index holds", n)
	}
	x.rankColumns(x.frequencies(rows))
	x.sort(rows)
	x.transpose(rows)
	return x, nil
}

// frequencies tells for each column how many rows have it on.
func (x *Index) frequencies(rows []uint64) []uint32 {
	frequency := make([]uint32, x.bits)
	order := make([]uint32, 0, blockSize)
	var g gathered
	for from, n := 0, len(rows)/x.words; from < n; from += blockSize {
		order = order[:0]
		for row := from; row < min(n, from+blockSize); row++ {
			order = append(order, uint32(row))
		}
		for j := range x.words {
			g.gather(rows, x.words, j, order)
			for c := range g {
				frequency[64*j+c] += uint32(ones(g[c][:]))
			}
		}
	}
	return frequency
}

// rankColumns orders the columns, rarest first.
func (x *Index) rankColumns(frequency []uint32) {
	x.columns = make([]uint16, x.bits)
	for c := range x.columns {
		x.columns[c] = uint16(c)
	}
	slices.SortStableFunc(x.columns, func(a, b uint16) int { return cmp.Compare(frequency[a], frequency[b]) })
	x.rank = make([]uint16, x.bits)
	for rank, c := range x.columns {
		x.rank[c] = uint16(rank)
		if frequency[c] == 0 {
			x.unused = rank + 1
		}
	}
}

// sort finds the order of positions: by on bits, then by the ranks of the three
// rarest bits, then by row.
func (x *Index) sort(rows []uint64) {
	type place struct {
		key uint64
		row uint32
	}
	places := make([]place, len(rows)/x.words)
	for i := range places {
		fp := rows[i*x.words : (i+1)*x.words]
		places[i] = place{x.sortKey(fp), uint32(i)}
	}
	slices.SortFunc(places, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.row, b.row))
	})

	x.rows = make([]uint32, len(places))
	x.counts = make([]uint16, len(places))
	for i, p := range places {
		x.rows[i] = p.row
		x.counts[i] = uint16(p.key >> (3 * rankBits))
	}
	x.start = make([]int, x.bits+2)
	for b := range x.start {
		x.start[b], _ = slices.BinarySearchFunc(x.counts, b, func(n uint16, b int) int { return cmp.Compare(int(n), b) })
	}
}

// rankBits hold a rank below maxBits.
const rankBits = 13

// sortKey is the number of on bits, followed by the three lowest ranks.
func (x *Index) sortKey(fp []uint64) uint64 {
	const none = 1<<rankBits - 1
	r0, r1, r2 := uint16(none), uint16(none), uint16(none)
	n := uint64(0)
	forBits(fp, func(c int) {
		n++
		switch r := x.rank[c]; {
		case r < r0:
			r0, r1, r2 = r, r0, r1
		case r < r1:
			r1, r2 = r, r1
		case r < r2:
			r2 = r
		}
	})
	return n<<(3*rankBits) | uint64(r0)<<(2*rankBits) | uint64(r1)<<rankBits | uint64(r2)
}

// transpose fills the tiles, a block of positions at a time.
func (x *Index) transpose(rows []uint64) {
	x.tiles = makeTiles(0, len(x.rows), x.bits)
	var g gathered
	for from := 0; from < len(x.rows); from += blockSize {
		t := x.tiles[from/tileSize]
		first := from % tileSize / 64
		for j := range x.words {
			g.gather(rows, x.words, j, x.rows[from:min(len(x.rows), from+blockSize)])
			for c := range g {
				copy(t.bits[(64*j+c)*t.stride+first:], g[c][:])
			}
		}
	}
}

// makeTiles makes empty tiles for the positions [from, to). All but the last are
// full.
func makeTiles(from, to, bits int) []tile {
	var tiles []tile
	size := 0
	for ; from < to; from += tileSize {
		blocks := (min(tileSize, to-from) + blockSize - 1) / blockSize
		tiles = append(tiles, tile{stride: blocks*blockWords + paddingWord})
		size += tiles[len(tiles)-1].stride * (bits + 1)
	}
	arena := allocate(size)
	for i := range tiles {
		words := tiles[i].stride * (bits + 1)
		tiles[i].bits, arena = arena[:words:words], arena[words:]
	}
	return tiles
}
