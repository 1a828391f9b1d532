package tanimoto

import "fmt"

const (
	narrowPlanes = 7  // counts of up to 127 columns
	widePlanes   = 14 // counts of up to 16,383

	// group is how many columns a kernel adds at once.
	group = 8

	// ahead is how many blocks before its turn a kernel fetches a block into the cache.
	ahead = 2
)

// counter counts, for blocks of positions in one tile, how many of some columns
// each position has on. Both functions take
//
//   - the tile;
//   - cols, the first word of each column, a multiple of group (the zero column
//     fills up);
//   - init, planes+1 words, each 0 or all ones: where the planes start;
//   - blocks, of which the first n are counted: the word in a column where the
//     block begins. There are ahead entries more, of which nothing is read but into
//     the cache.
//
// The last plane keeps whether a carry has ever left the plane before it. The
// start and the columns must be such that this happens at most once.
type counter struct {
	planes int

	// live writes to dst the blocks in which a position has the last plane on, and
	// returns how many. It may write one entry more than that.
	live func(tile []uint64, cols []uint32, init []uint64, blocks []uint32, n int, dst []uint32) int

	// count writes to dst planes+1 times blockWords words a block: plane after plane.
	count func(tile []uint64, cols []uint32, init []uint64, blocks []uint32, n int, dst []uint64)
}

// kernel is a pair of counters, one for few columns and one for many.
type kernel struct {
	name         string
	narrow, wide counter
}

func (k *kernel) counter(columns int) *counter {
	if columns < 1<<narrowPlanes {
		return &k.narrow
	}
	return &k.wide
}

// kernels are those that this processor can run, best first.
var kernels = append(assemblyKernels(), portable)

// Kernels names the kernels that this processor can run, best first: AVX-512F,
// AVX2, portable. All give the same answers.
func Kernels() []string {
	names := make([]string, len(kernels))
	for i := range kernels {
		names[i] = kernels[i].name
	}
	return names
}

func kernelNamed(name string) (*kernel, error) {
	for i := range kernels {
		if kernels[i].name == name {
			return &kernels[i], nil
		}
	}
	return nil, fmt.Errorf("kernel %q: not among %v", name, Kernels())
}

// setPlanes makes the planes start so that the last one becomes the mask of
// counts of at least limit.
func setPlanes(init []uint64, planes, limit int) {
	value := 1<<planes - limit
	for j := range planes + 1 {
		init[j] = -(uint64(value) >> j & 1)
	}
}
