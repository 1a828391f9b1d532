package tanimoto

import (
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// kernelCase is an input of a kernel.
type kernelCase struct {
	tile   []uint64
	cols   []uint32
	blocks []uint32 // with the entries ahead
	limit  int
}

// makeKernelCase makes blocks of columns, in which a share of the bits is on, that
// begin at any word, not at a cache line alone.
func makeKernelCase(seed uint64, columns, blocks, limit int, density float64) kernelCase {
	r := rand.New(rand.NewPCG(seed, 1))
	shift := int(seed % blockWords)
	stride := shift + blocks*blockWords
	c := kernelCase{tile: make([]uint64, (columns+1)*stride), limit: limit}
	for i := range c.tile[:columns*stride] {
		for bit := range 64 {
			if r.Float64() < density {
				c.tile[i] |= 1 << bit
			}
		}
	}
	for i := range (columns + group - 1) / group * group {
		c.cols = append(c.cols, uint32(min(i, columns)*stride))
	}
	for i := range blocks {
		c.blocks = append(c.blocks, uint32(shift+i*blockWords))
	}
	r.Shuffle(blocks, func(i, j int) { c.blocks[i], c.blocks[j] = c.blocks[j], c.blocks[i] })
	c.blocks = append(c.blocks, make([]uint32, ahead)...)
	return c
}

// run returns what a counter makes of the case.
func (c kernelCase) run(k counter) (live []uint32, planes []uint64) {
	n := len(c.blocks) - ahead
	init := make([]uint64, k.planes+1)
	setPlanes(init, k.planes, c.limit)
	live = make([]uint32, n+1)
	live = live[:k.live(c.tile, c.cols, init, c.blocks, n, live)]
	planes = make([]uint64, n*(k.planes+1)*blockWords)
	k.count(c.tile, c.cols, init, c.blocks, n, planes)
	return live, planes
}

// check compares all kernels with counting bit by bit.
func (c kernelCase) check(t interface{ Fatalf(string, ...any) }, counterOf func(kernel) counter) {
	live, planes := c.run(counterOf(portable))
	k := counterOf(portable)
	var wantLive []uint32
	for i, block := range c.blocks[:len(c.blocks)-ahead] {
		seen := false
		for position := range blockSize {
			common := 0
			for _, col := range c.cols {
				common += int(c.tile[int(col)+int(block)+position/64] >> (position % 64) & 1)
			}
			seen = seen || common >= c.limit
			value := 0
			for j := range k.planes + 1 {
				value |= int(planes[(i*(k.planes+1)+j)*blockWords+position/64]>>(position%64)&1) << j
			}
			if got := value - 1<<k.planes + c.limit; got != common {
				t.Fatalf("block %d, position %d: the planes count %d bits in common, there are %d", i, position, got, common)
			}
		}
		if seen {
			wantLive = append(wantLive, block)
		}
	}
	if !slices.Equal(live, wantLive) {
		t.Fatalf("live blocks %v, want %v", live, wantLive)
	}
	for _, other := range kernels {
		gotLive, gotPlanes := c.run(counterOf(other))
		if !slices.Equal(gotLive, live) || !slices.Equal(gotPlanes, planes) {
			t.Fatalf("%s differs from the portable kernel: %d columns, %d blocks, limit %d",
				other.name, len(c.cols), len(c.blocks)-ahead, c.limit)
		}
	}
}

func narrow(k kernel) counter { return k.narrow }
func wide(k kernel) counter   { return k.wide }

func TestKernelsCountAndAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		columns := rapid.IntRange(0, 127).Draw(t, "columns")
		c := makeKernelCase(rapid.Uint64().Draw(t, "seed"), columns, rapid.IntRange(0, 5).Draw(t, "blocks"),
			rapid.IntRange(0, columns+1).Draw(t, "limit"), rapid.SampledFrom([]float64{0.01, 0.3, 0.9, 1}).Draw(t, "density"))
		c.check(t, narrow)
		c.check(t, wide)
	})
}

func TestKernelsCountManyColumns(t *testing.T) {
	for _, columns := range []int{128, 255, 1023, 2048, 8192} {
		for _, limit := range []int{0, 1, columns / 2, columns} {
			for _, density := range []float64{0.5, 1} {
				makeKernelCase(uint64(columns), columns, 2, limit, density).check(t, wide)
			}
		}
	}
}

func FuzzKernels(f *testing.F) {
	f.Add(uint64(1), 48, 3, 12, 0.2)
	f.Add(uint64(5), 127, 1, 127, 1.0)
	f.Add(uint64(7), 0, 2, 0, 0.0)
	f.Fuzz(func(t *testing.T, seed uint64, columns, blocks, limit int, density float64) {
		columns, blocks = wrapped(columns, 300), wrapped(blocks, 8)
		limit = wrapped(limit, columns+1)
		c := makeKernelCase(seed, columns, blocks, limit, density)
		c.check(t, wide)
		if columns < 1<<narrowPlanes {
			c.check(t, narrow)
		}
	})
}

// wrapped maps any number to one from 0 to high; those that are there already stay.
func wrapped(n, high int) int {
	n %= high + 1
	if n < 0 {
		n += high + 1
	}
	return n
}

func TestUseKernelRefusesUnknownNames(t *testing.T) {
	x, err := Build(nil, 64)
	if err != nil {
		t.Fatal(err)
	}
	if err := x.Searcher().UseKernel("abacus"); err == nil {
		t.Error("a kernel that does not exist was accepted")
	}
	for _, name := range Kernels() {
		s := x.Searcher()
		if err := s.UseKernel(name); err != nil || s.kernel.name != name {
			t.Errorf("%s: kernel %s, error %v", name, s.kernel.name, err)
		}
	}
}
