package tanimoto

// gathered is 64 columns of the positions of a block, out of one word of each
// fingerprint.
type gathered [64][blockWords]uint64

// gather reads word j of the fingerprints in these rows, at most blockSize, with
// zeros for those missing.
func (g *gathered) gather(rows []uint64, words, j int, order []uint32) {
	var square [64]uint64
	for w := range blockWords {
		part := order[min(64*w, len(order)):min(64*w+64, len(order))]
		for i, row := range part {
			square[i] = rows[int(row)*words+j]
		}
		clear(square[len(part):])
		transpose64(&square)
		for c, column := range square {
			g[c][w] = column
		}
	}
}

// transpose64 makes bit i of word c out of bit c of word i: it exchanges the upper
// right quarter with the lower left one, then likewise in each of the quarters,
// down to single bits.
func transpose64(square *[64]uint64) {
	mask := uint64(1<<32 - 1)
	for size := 32; size > 0; size >>= 1 {
		for from := 0; from < 64; from += 2 * size {
			upper, lower := square[from:from+size], square[from+size:from+2*size]
			for i := range upper {
				exchange := (upper[i]>>size ^ lower[i]) & mask
				lower[i] ^= exchange
				upper[i] ^= exchange << size
			}
		}
		mask ^= mask << (size / 2)
	}
}
