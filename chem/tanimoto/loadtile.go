package tanimoto

import (
	"fmt"
	"math/bits"
	"slices"
)

// tile reads the tile of the positions [from, to).
func (l *loader) tile(from, to int) error {
	fixed, err := l.read(4*(to-from) + 2*l.bits)
	if err != nil {
		return err
	}
	if len(l.tiles) <= from/tileSize {
		l.tiles = append(l.tiles, makeTiles(from, min(l.indexed, from+tilesAtOnce(l.bits)*tileSize), l.bits)...)
	}
	t := l.tiles[from/tileSize]
	words := t.stride - paddingWord
	sizes, length := fixed[4*(to-from):], 0
	for c := range l.bits {
		length += columnBytes(int(le.Uint16(sizes[2*c:])), words)
	}
	if _, err := l.read(length); err != nil {
		return err
	}
	part, err := l.check(fmt.Sprintf("the tile of position %d", from))
	if err != nil {
		return err
	}
	for range to - from {
		l.rows = append(l.rows, le.Uint32(part))
		part = part[4:]
	}
	if err := l.columnsOf(t, part[:2*l.bits], part[2*l.bits:]); err != nil {
		return fmt.Errorf("tile of position %d: %w", from, err)
	}
	return l.checkCounts(t, from, to)
}

// columnsOf fills the columns of a tile.
func (l *loader) columnsOf(t tile, sizes, columns []byte) error {
	words := t.stride - paddingWord
	for c := range l.bits {
		size := int(le.Uint16(sizes[2*c:]))
		taken := columnBytes(size, words)
		if !readColumn(t.bits[c*t.stride:][:words], columns[:taken], size) {
			return formatError("column %d does not have its %d bits on", c, size)
		}
		columns = columns[taken:]
		l.frequency[c] += uint32(size)
	}
	return nil
}

// readColumn reports whether the bytes are a column of so many on bits.
func readColumn(column []uint64, b []byte, size int) bool {
	if bitmap(size, len(column)) {
		for i := range column {
			column[i] = le.Uint64(b[8*i:])
		}
		return ones(column) == size
	}
	last := -1
	for ; len(b) >= 2; b = b[2:] {
		position := int(le.Uint16(b))
		if position <= last || position >= 64*len(column) {
			return false
		}
		column[position/64] |= 1 << (position % 64)
		last = position
	}
	return true
}

// checkCounts notes how many bits the positions have on by the histogram, and
// checks that they do. It takes about as long as reading the tile from memory.
func (l *loader) checkCounts(t tile, from, to int) error {
	for b, _ := slices.BinarySearch(l.start, from+1); len(l.counts) < to; b++ {
		l.counts = append(l.counts, slices.Repeat([]uint16{uint16(b - 1)}, min(to, l.start[b])-len(l.counts))...)
	}
	cols := make([]uint32, l.bits)
	for c := range cols {
		cols[c] = uint32(c * t.stride)
	}
	k := &kernels[0].wide
	init := make([]uint64, k.planes+1)
	planes := make([]uint64, (k.planes+1)*blockWords)
	for first := from; first < to; first += blockSize {
		k.count(t.bits, cols, init, every[(first-from)/blockSize:], 1, planes)
		if !slices.Equal(planes, l.planesOf(first, k.planes)) {
			return formatError("fingerprints from position %d on have other numbers of on bits than the histogram says", first)
		}
	}
	return nil
}

// planesOf are the numbers of on bits of a block's positions as bit planes.
func (l *loader) planesOf(first, planes int) []uint64 {
	want := make([]uint64, (planes+1)*blockWords)
	for i, n := range l.counts[first:min(len(l.counts), first+blockSize)] {
		for ; n != 0; n &= n - 1 {
			want[bits.TrailingZeros16(n)*blockWords+i/64] |= 1 << (i % 64)
		}
	}
	return want
}

// checkRows checks that each row has one position.
func (l *loader) checkRows() error {
	seen := make([]uint64, (l.indexed+63)/64)
	for position, row := range l.rows {
		if int(row) >= l.indexed || seen[row/64]>>(row%64)&1 != 0 {
			return formatError("position %d is of row %d of %d, as is another", position, row, l.indexed)
		}
		seen[row/64] |= 1 << (row % 64)
	}
	return nil
}
