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

func bruteForcePairs(rows []uint64, words int, t Threshold) []Pair {
	var pairs []Pair
	n := len(rows) / words
	for i := range n {
		for j := i + 1; j < n; j++ {
			if s := score(rows[i*words:(i+1)*words], rows[j*words:(j+1)*words]); t.Compare(s) >= 0 {
				pairs = append(pairs, Pair{i, j, s})
			}
		}
	}
	return pairs
}

func TestPairsFindsWhatBruteForceFinds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bits := rapid.SampledFrom([]int{64, 1024}).Draw(t, "bits")
		n := rapid.SampledFrom([]int{0, 1, 2, 64, 300, 700}).Draw(t, "rows")
		rows := makeRows(rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 5)), n, bits)
		threshold := MustThreshold(thresholds.Draw(t, "threshold"))
		want := bruteForcePairs(rows, bits/64, threshold)
		x, err := Build(rows, bits)
		if err != nil {
			t.Fatal(err)
		}
		shares := rapid.IntRange(1, 3).Draw(t, "shares")
		for _, kernel := range Kernels() {
			var got []Pair
			for i := range shares {
				s := x.Searcher()
				if err := s.UseKernel(kernel); err != nil {
					t.Fatal(err)
				}
				if err := s.Pairs(context.Background(), threshold, Share{i, shares}, func(p Pair) error {
					got = append(got, p)
					return nil
				}); err != nil {
					t.Fatal(err)
				}
			}
			slices.SortFunc(got, comparePairs)
			if !slices.Equal(got, want) {
				t.Fatalf("%s: %d pairs, want %d, or others", kernel, len(got), len(want))
			}
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
	if err := s.Pairs(t.Context(), threshold, Share{}, func(p Pair) error {
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
	err = s.Pairs(t.Context(), Threshold{}, Share{}, func(Pair) error { calls++; return stop })
	if !errors.Is(err, stop) || calls != 1 {
		t.Errorf("error %v after %d calls, want the first call's", err, calls)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Pairs(ctx, Threshold{}, Share{}, func(Pair) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v after the context ended", err)
	}
	if err := x.Append(make([]uint64, 1)); err != nil {
		t.Fatal(err)
	}
	if err := s.Pairs(t.Context(), Threshold{}, Share{}, func(Pair) error { return nil }); err == nil {
		t.Error("pairs of an index with appended rows were found, without those")
	}
}
