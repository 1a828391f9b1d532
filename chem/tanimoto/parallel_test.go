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

func TestParallelSearchFindsWhatOneFinds(t *testing.T) {
	const bits, words = 256, 4
	rows := makeRows(rand.New(rand.NewPCG(14, 14)), 2*tileSize+700, bits)
	x := makeIndex(t, rows, bits, 10)
	s := x.Searcher()
	rapid.Check(t, func(t *rapid.T) {
		p := x.Parallel(rapid.IntRange(1, 5).Draw(t, "threads"))
		if err := p.UseKernel(rapid.SampledFrom(Kernels()).Draw(t, "kernel")); err != nil {
			t.Fatal(err)
		}
		q := drawQuery(t, rows, words)
		want, err := s.Search(context.Background(), q)
		if err != nil {
			t.Fatal(err)
		}
		got, err := p.Search(context.Background(), q)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%d hits, want %d, or others", len(got), len(want))
		}
	})
}

func TestSearchAllAnswersEachQuery(t *testing.T) {
	const bits, words = 256, 4
	rows := makeRows(rand.New(rand.NewPCG(15, 15)), 3000, bits)
	x := makeIndex(t, rows, bits, 3)
	var queries []Query
	for i := range 50 {
		queries = append(queries, Query{Fingerprint: rows[i*words:][:words], K: 1 + i})
	}
	answers := make([]int, len(queries))
	err := x.Parallel(3).SearchAll(t.Context(), queries, func(i int, hits []Hit) error {
		answers[i]++
		want, err := x.Searcher().Search(t.Context(), queries[i])
		if !slices.Equal(hits, want) {
			t.Errorf("query %d has other hits than alone", i)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if slices.Min(answers) != 1 || slices.Max(answers) != 1 {
		t.Errorf("numbers of answers %v, want 1 for each query", answers)
	}
}

func TestParallelPairsFindsWhatOneFinds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const bits = 512
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 16))
		x := makeIndex(t, makeRows(random, rapid.IntRange(0, 3000).Draw(t, "rows"), bits), bits, 0)
		y := makeIndex(t, makeRows(random, rapid.IntRange(0, 1500).Draw(t, "others"), bits), bits, 0)
		p := x.Parallel(rapid.IntRange(1, 4).Draw(t, "threads"))
		for _, share := range []Share{{}, {1, 2}} {
			q := PairQuery{Threshold: MustThreshold("0.6"), Share: share}
			for name, other := range map[string]*Index{"one index": nil, "itself": x, "two indexes": y} {
				find := func(s interface {
					Pairs(context.Context, PairQuery, func(Pair) error) error
					PairsWith(context.Context, *Index, PairQuery, func(Pair) error) error
				}, c *collector,
				) {
					q.Progress = c.progress
					var err error
					if other == nil {
						err = s.Pairs(context.Background(), q, c.emit)
					} else {
						err = s.PairsWith(context.Background(), other, q, c.emit)
					}
					if err != nil {
						t.Fatal(err)
					}
				}
				var want, got collector
				find(x.Searcher(), &want)
				find(p, &got)
				slices.SortFunc(want.pairs, comparePairs)
				got.check(t, name, want.pairs, want.total)
			}
		}
	})
}

func TestParallelStops(t *testing.T) {
	x := makeIndex(t, make([]uint64, 3000), 64, 0)
	p := x.Parallel(3)
	stop := errors.New("stop")
	calls := 0
	err := p.Pairs(t.Context(), PairQuery{}, func(Pair) error { calls++; return stop })
	if !errors.Is(err, stop) || calls != 1 {
		t.Errorf("error %v after %d calls, want the first call's", err, calls)
	}
	calls = 0
	queries := slices.Repeat([]Query{{Fingerprint: make([]uint64, 1)}}, 20)
	err = p.SearchAll(t.Context(), queries, func(int, []Hit) error { calls++; return stop })
	if !errors.Is(err, stop) || calls != 1 {
		t.Errorf("error %v after %d calls, want the first call's", err, calls)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Search(ctx, queries[0]); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v after the context ended", err)
	}
	if _, err := p.Search(t.Context(), Query{}); err == nil {
		t.Error("a query without a fingerprint was accepted")
	}
}

func TestHistogramCountsWhatSearchesFind(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bits := rapid.SampledFrom([]int{64, 1024, 2048}).Draw(t, "bits")
		n := rapid.SampledFrom([]int{0, 1, 64, 513, 1500}).Draw(t, "rows")
		rows := makeRows(rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 17)), n, bits)
		x := makeIndex(t, rows, bits, rapid.IntRange(0, min(5, n)).Draw(t, "appended"))
		edges := []Threshold{{}}
		for range rapid.IntRange(0, 6).Draw(t, "edges") {
			edges = append(edges, MustThreshold(thresholds.Draw(t, "edge")))
		}
		slices.SortFunc(edges, Threshold.compare)
		edges = edges[rapid.IntRange(0, 1).Draw(t, "without the first"):]
		query := drawQuery(t, rows, bits/64).Fingerprint
		want := make([]int, len(edges))
		for i := range n {
			at := -1
			for j, edge := range edges {
				if edge.Compare(score(query, rows[i*bits/64:][:bits/64])) >= 0 {
					at = j
				}
			}
			if at >= 0 {
				want[at]++
			}
		}
		for _, kernel := range Kernels() {
			s := x.Searcher()
			if err := s.UseKernel(kernel); err != nil {
				t.Fatal(err)
			}
			got, err := s.Histogram(context.Background(), query, edges)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got, want) {
				t.Fatalf("%s: %v rows, want %v", kernel, got, want)
			}
		}
	})
}

func TestHistogramRefuses(t *testing.T) {
	s := makeIndex(t, make([]uint64, 4), 64, 0).Searcher()
	if _, err := s.Histogram(t.Context(), make([]uint64, 2), nil); err == nil {
		t.Error("a query of another size was accepted")
	}
	if _, err := s.Histogram(t.Context(), make([]uint64, 1), []Threshold{MustThreshold("0.5"), MustThreshold("0.4")}); err == nil {
		t.Error("descending edges were accepted")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Histogram(ctx, make([]uint64, 1), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v after the context ended", err)
	}
}

func TestThresholdsCompareAsFractions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.Uint64Range(0, 1e18)
		a, b := number.Draw(t, "a"), number.Draw(t, "b")
		if got := (Threshold{a, 1e18}).compare(Threshold{b, 1e18}); got != cmp.Compare(a, b) {
			t.Errorf("%d and %d of 10¹⁸: %d", a, b, got)
		}
	})
}
