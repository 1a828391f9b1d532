package tanimoto

import "slices"

// batch is how many blocks are counted in full before their hits are taken: their
// planes stay in the first level of the cache.
const batch = 8

// Searcher searches an index. It is scratch memory: use one a goroutine, and none
// from two goroutines at once.
type Searcher struct {
	x      *Index
	kernel *kernel

	count  int      // the query's on bits
	ranks  []uint32 // of its columns that are on anywhere, rarest first
	cols   []uint32 // their first words in tiles of that stride, filled up to a group
	stride int

	limits limits

	init   []uint64
	live   []uint32
	planes []uint64
}

// Searcher makes a searcher with the best kernel.
func (x *Index) Searcher() *Searcher {
	return &Searcher{
		x:      x,
		kernel: &kernels[0],
		init:   make([]uint64, widePlanes+1),
		live:   make([]uint32, tileWords/blockWords+ahead+1),
		planes: make([]uint64, batch*(widePlanes+1)*blockWords),
	}
}

// UseKernel chooses one of [Kernels] by name, for tests and measurements.
func (s *Searcher) UseKernel(name string) error {
	k, err := kernelNamed(name)
	if err == nil {
		s.kernel = k
	}
	return err
}

// setQuery finds the query's columns.
func (s *Searcher) setQuery(fp []uint64) {
	s.count, s.stride = ones(fp), 0
	s.ranks = s.ranks[:0]
	forBits(fp, func(c int) {
		if r := int(s.x.rank[c]); r >= s.x.unused {
			s.ranks = append(s.ranks, uint32(r))
		}
	})
	slices.Sort(s.ranks)
}

// columns returns where the query's columns begin in a tile.
func (s *Searcher) columns(t tile) []uint32 {
	if s.stride == t.stride {
		return s.cols
	}
	s.stride = t.stride
	s.cols = s.cols[:0]
	for _, r := range s.ranks {
		s.cols = append(s.cols, uint32(int(s.x.columns[r])*t.stride))
	}
	for len(s.cols)%group != 0 {
		s.cols = append(s.cols, uint32(s.x.bits*t.stride))
	}
	return s.cols
}

// taker takes a position that was found, with its count of bits in common.
type taker func(position, common int)

// every lists the blocks of a tile.
var every = func() (blocks [tileWords/blockWords + ahead]uint32) {
	for i := range blocks {
		blocks[i] = uint32(i * blockWords)
	}
	return blocks
}()

// atLeast takes the positions of [from, to), which lie in one tile, with at least
// limit bits in common with the query.
func (s *Searcher) atLeast(from, to, limit int, take taker) {
	if limit > len(s.ranks) {
		return
	}
	blocks, n := s.candidates(from, to, limit)
	s.each(blocks, n, limit, 0, from, to, take)
}

// candidates are the blocks of the positions that can have as many bits in common.
func (s *Searcher) candidates(from, to, limit int) ([]uint32, int) {
	blocks, n := blocksOf(from, to)
	m := len(s.ranks)
	r := rare(m, limit)
	if r == 0 {
		return blocks, n
	}
	t := s.x.tiles[from/tileSize]
	k := s.kernel.counter(m)
	setPlanes(s.init, k.planes, limit-(m-r))
	n = k.live(t.bits, s.columns(t)[:r], s.init[:k.planes+1], blocks, n, s.live)
	clear(s.live[n : n+ahead])
	return s.live, n
}

// below takes the positions of [from, to), which lie in one tile, with fewer than
// limit bits in common with the query.
func (s *Searcher) below(from, to, limit int, take taker) {
	blocks, n := blocksOf(from, to)
	limit = min(limit, len(s.ranks)+1) // nobody has more: all are taken
	s.each(blocks, n, limit, ^uint64(0), from, to, take)
}

// blocksOf are the blocks that hold the positions, and how many there are.
func blocksOf(from, to int) ([]uint32, int) {
	first := from % tileSize / blockSize
	last := (to - 1) % tileSize / blockSize
	return every[first:], last - first + 1
}

// rare is the number of columns for the first phase, 0 for no first phase. Who
// has limit of m columns on misses at most m−limit of them, hence has all but so
// many of the rarest: with 8 to 15 more than m−limit, few others pass.
func rare(m, limit int) int {
	r := (m - limit + 8 + group - 1) / group * group
	if 4*r > 3*m {
		return 0
	}
	return r
}
