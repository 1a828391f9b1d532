package tanimoto

import (
	"fmt"
	"math/bits"
	"slices"
)

const (
	blockWords = 8 // a cache line: what a kernel counts at once
	blockSize  = 64 * blockWords

	tileWords   = 512 // of one column
	tileSize    = 64 * tileWords
	paddingWord = blockWords

	maxBits = 8192
)

// Index holds fingerprints for searching. Searches may run at once, each with a
// Searcher of its own; Append must not run beside them.
type Index struct {
	bits  int
	words int

	tiles  []tile
	rows   []uint32 // of each position
	counts []uint16 // on bits at each position
	start  []int    // start[b] is the first position with at least b on bits

	columns []uint16 // rarest first
	rank    []uint16 // of each column in columns
	unused  int      // the columns of lower rank are on nowhere

	tail []uint64 // appended rows
}

// tile holds the columns of up to tileSize positions, and a zero column.
type tile struct {
	bits   []uint64
	stride int // words from one column to the next
}

// checkBits says whether the index can hold fingerprints of that size.
func checkBits(bits int) error {
	if bits < 64 || bits > maxBits || bits%64 != 0 {
		return fmt.Errorf("fingerprints of %d bits: not a multiple of 64 from 64 to %d", bits, maxBits)
	}
	return nil
}

// Len is the number of fingerprints, with those appended.
func (x *Index) Len() int { return len(x.rows) + len(x.tail)/x.words }

// Bits is the size of a fingerprint.
func (x *Index) Bits() int { return x.bits }

// AppendRows appends the fingerprints to dst in the order of rows, as Build takes
// them.
func (x *Index) AppendRows(dst []uint64) []uint64 {
	from := len(dst)
	dst = slices.Grow(dst, x.Len()*x.words)[:from+len(x.rows)*x.words]
	rows := dst[from:]
	clear(rows)
	for i, t := range x.tiles {
		for c := range x.bits {
			forBits(t.bits[c*t.stride:][:t.stride-paddingWord], func(position int) {
				rows[int(x.rows[i*tileSize+position])*x.words+c/64] |= 1 << (c % 64)
			})
		}
	}
	return append(dst, x.tail...)
}

// Append adds fingerprints, one after the other, as further rows. They are kept
// as rows and compared one by one: build the index anew once they are many.
func (x *Index) Append(rows []uint64) error {
	if err := checkRows(rows, x.words); err != nil {
		return err
	}
	x.tail = append(x.tail, rows...)
	return nil
}

func checkRows(rows []uint64, words int) error {
	if len(rows)%words != 0 {
		return fmt.Errorf("%d words are no whole number of fingerprints of %d words", len(rows), words)
	}
	return nil
}

func ones(fp []uint64) int {
	n := 0
	for _, w := range fp {
		n += bits.OnesCount64(w)
	}
	return n
}

// forBits calls f with the position of every bit that is on.
func forBits(fp []uint64, f func(bit int)) {
	for i, w := range fp {
		for ; w != 0; w &= w - 1 {
			f(64*i + bits.TrailingZeros64(w))
		}
	}
}
