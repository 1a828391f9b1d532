package tanimoto

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func comparePairs(a, b Pair) int { return cmp.Or(cmp.Compare(a.A, b.A), cmp.Compare(a.B, b.B)) }

// satisfies is the definition.
func (q PairQuery) satisfies(s Score) bool {
	if q.Threshold.den == 0 {
		return true
	}
	c := q.Threshold.Compare(s)
	return c == 0 || c > 0 != q.Farthest
}

// bruteForcePairs pairs the rows of others with rows; within one table each pair once.
func bruteForcePairs(rows, others []uint64, words int, q PairQuery, within bool) []Pair {
	var pairs []Pair
	for i := range len(others) / words {
		for j := range len(rows) / words {
			if within && j <= i {
				continue
			}
			if s := score(others[i*words:(i+1)*words], rows[j*words:(j+1)*words]); q.satisfies(s) {
				pairs = append(pairs, Pair{i, j, s})
			}
		}
	}
	return pairs
}

// collector is a pair of callbacks: it gathers pairs and checks progress.
type collector struct {
	pairs       []Pair
	done, total int
	backwards   bool
}

func (c *collector) emit(p Pair) error {
	c.pairs = append(c.pairs, p)
	return nil
}

func (c *collector) progress(done, total int) {
	c.backwards = c.backwards || done <= c.done || c.done > 0 && total != c.total
	c.done, c.total = done, total
}

func (c *collector) check(t *rapid.T, how string, want []Pair, total int) {
	slices.SortFunc(c.pairs, comparePairs)
	if !slices.Equal(c.pairs, want) {
		t.Fatalf("%s: %d pairs, want %d, or others", how, len(c.pairs), len(want))
	}
	if c.backwards || c.done != total || c.total != total {
		t.Fatalf("%s: progress ends at %d of %d pairs, of which there are %d; goes backwards: %t", how, c.done, c.total, total, c.backwards)
	}
}

func TestPairsFindsWhatBruteForceFinds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bits := rapid.SampledFrom([]int{64, 256}).Draw(t, "bits")
		size := rapid.SampledFrom([]int{0, 1, 2, 64, 150, 515})
		n := size.Draw(t, "rows")
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 5))
		rows := makeRows(random, n, bits)
		x := makeIndex(t, rows, bits, 0)
		q := PairQuery{Farthest: rapid.Bool().Draw(t, "farthest")}
		if rapid.Bool().Draw(t, "with threshold") {
			q.Threshold = MustThreshold(thresholds.Draw(t, "threshold"))
		}
		want, total := bruteForcePairs(rows, rows, bits/64, q, true), n*(n-1)/2
		find := func(s *Searcher, q PairQuery, emit func(Pair) error) error {
			return s.Pairs(context.Background(), q, emit)
		}
		if rapid.Bool().Draw(t, "two indexes") {
			others, other := rows, x
			if rapid.Bool().Draw(t, "different") {
				others = makeRows(random, size.Draw(t, "other rows"), bits)
				other = makeIndex(t, others, bits, 0)
			}
			want, total = bruteForcePairs(rows, others, bits/64, q, false), len(others)/(bits/64)*n
			find = func(s *Searcher, q PairQuery, emit func(Pair) error) error {
				return s.PairsWith(context.Background(), other, q, emit)
			}
		}
		shares := rapid.IntRange(1, 3).Draw(t, "shares")
		for _, kernel := range Kernels() {
			var all collector
			for i := range shares {
				s := x.Searcher()
				if err := s.UseKernel(kernel); err != nil {
					t.Fatal(err)
				}
				share := collector{}
				q.Share, q.Progress = Share{i, shares}, share.progress
				if err := find(s, q, share.emit); err != nil {
					t.Fatal(err)
				}
				all.pairs = append(all.pairs, share.pairs...)
				all.done += share.done
				all.total += share.total
				all.backwards = all.backwards || share.backwards
			}
			all.check(t, kernel, want, total)
		}
	})
}

// TestPairsAcrossTiles asks of every row what a search finds.
func TestPairsAcrossTiles(t *testing.T) {
	const bits, words = 512, 8
	rows := makeRows(rand.New(rand.NewPCG(6, 6)), tileSize+900, bits)
	x, err := Build(rows, bits)
	if err != nil {
		t.Fatal(err)
	}
	threshold := MustThreshold("0.8")
	partners := make(map[int]int)
	s := x.Searcher()
	if err := s.Pairs(t.Context(), PairQuery{Threshold: threshold}, func(p Pair) error {
		if p.A >= p.B {
			t.Fatalf("pair %v", p)
		}
		partners[p.A]++
		partners[p.B]++
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(rows)/words; i += 53 {
		hits, err := s.Search(t.Context(), Query{Fingerprint: rows[i*words:][:words], Threshold: threshold})
		if err != nil {
			t.Fatal(err)
		}
		if partners[i] != len(hits)-1 {
			t.Errorf("row %d is in %d pairs, a search finds %d others", i, partners[i], len(hits)-1)
		}
	}
}

func TestPairsStops(t *testing.T) {
	x, err := Build(make([]uint64, 1000), 64)
	if err != nil {
		t.Fatal(err)
	}
	s := x.Searcher()
	stop, calls := errors.New("stop"), 0
	err = s.Pairs(t.Context(), PairQuery{}, func(Pair) error { calls++; return stop })
	if !errors.Is(err, stop) || calls != 1 {
		t.Errorf("error %v after %d calls, want the first call's", err, calls)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Pairs(ctx, PairQuery{}, func(Pair) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v after the context ended", err)
	}
	for _, share := range []Share{{-1, 2}, {2, 2}, {1, 0}, {0, -1}} {
		if err := s.Pairs(t.Context(), PairQuery{Share: share}, func(Pair) error { return nil }); err == nil {
			t.Errorf("share %v was accepted", share)
		}
	}
	if err := s.PairsWith(t.Context(), makeIndex(t, nil, 128, 0), PairQuery{}, func(Pair) error { return nil }); err == nil {
		t.Error("fingerprints of 64 bits were paired with such of 128")
	}
	if err := x.Append(make([]uint64, 1)); err != nil {
		t.Fatal(err)
	}
	if err := s.Pairs(t.Context(), PairQuery{}, func(Pair) error { return nil }); err == nil {
		t.Error("pairs of an index with appended rows were found, without those")
	}
}
