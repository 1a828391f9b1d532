package tanimoto

import (
	"cmp"
	"context"
	"errors"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// score is the definition.
func score(a, b []uint64) Score {
	var s Score
	for i := range a {
		s.Common += int32(bits.OnesCount64(a[i] & b[i]))
		s.Union += int32(bits.OnesCount64(a[i] | b[i]))
	}
	return s
}

// makeRows makes fingerprints like those of molecules: few bits on, some bits
// common and most of them rare, families of relatives, doubles, some empty and some full.
func makeRows(r *rand.Rand, n, bits int) []uint64 {
	words := bits / 64
	rows := make([]uint64, 0, n*words)
	for i := range n {
		fp := make([]uint64, words)
		switch kind := r.IntN(100); {
		case kind == 0: // empty
		case kind == 1:
			for j := range fp {
				fp[j] = ^uint64(0)
			}
		case kind == 2:
			for j := range fp {
				fp[j] = r.Uint64()
			}
		case kind < 50 && i > 0:
			from := r.IntN(i) * words
			copy(fp, rows[from:from+words])
			for range r.IntN(8) {
				bit := r.IntN(bits)
				fp[bit/64] ^= 1 << (bit % 64)
			}
		default:
			for range 1 + r.IntN(min(90, bits)) {
				bit := int(float64(bits) * r.Float64() * r.Float64() * r.Float64())
				fp[bit/64] |= 1 << (bit % 64)
			}
		}
		rows = append(rows, fp...)
	}
	return rows
}

// bruteForce searches by definition.
func bruteForce(rows []uint64, words int, q Query) []Hit {
	var hits []Hit
	for i := range len(rows) / words {
		s := score(q.Fingerprint, rows[i*words:(i+1)*words])
		c := 1
		if q.Threshold.den > 0 {
			c = q.Threshold.Compare(s)
			if q.Farthest {
				c = -c
			}
		}
		if c >= 0 {
			hits = append(hits, Hit{i, s})
		}
	}
	slices.SortFunc(hits, func(a, b Hit) int {
		c := b.Compare(a.Score)
		if q.Farthest {
			c = -c
		}
		return cmp.Or(c, q.Tie(a.Row, b.Row))
	})
	if q.K > 0 && len(hits) > q.K {
		hits = hits[:q.K]
	}
	return hits
}

var thresholds = rapid.SampledFrom([]string{"0", "0.1", "0.35", "0.5", "0.7", "0.9", "1", "0.333333333333333333", "0.6666666666666666"})

func drawQuery(t *rapid.T, rows []uint64, words int) Query {
	q := Query{
		K:        rapid.SampledFrom([]int{0, 1, 2, 20, 100, 5000}).Draw(t, "k"),
		Farthest: rapid.Bool().Draw(t, "farthest"),
		Tie:      cmp.Compare[int],
	}
	if rapid.Bool().Draw(t, "with threshold") {
		q.Threshold = MustThreshold(thresholds.Draw(t, "threshold"))
	}
	if rapid.Bool().Draw(t, "descending rows") {
		q.Tie = func(a, b int) int { return cmp.Compare(b, a) }
	}
	r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "query seed"), 3))
	if n := len(rows) / words; n > 0 && rapid.Bool().Draw(t, "known query") {
		from := r.IntN(n) * words
		q.Fingerprint = rows[from : from+words]
	} else {
		q.Fingerprint = makeRows(r, 1, words*64)
	}
	return q
}

func TestSearchFindsWhatBruteForceFinds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bits := rapid.SampledFrom([]int{64, 128, 1024, 2048}).Draw(t, "bits")
		n := rapid.SampledFrom([]int{0, 1, 2, 63, 64, 65, 511, 512, 513, 1500}).Draw(t, "rows")
		rows := makeRows(rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 2)), n, bits)
		words := bits / 64
		tail := rapid.IntRange(0, min(n, 5)).Draw(t, "tail") * words
		x, err := Build(rows[:len(rows)-tail], bits)
		if err != nil {
			t.Fatal(err)
		}
		if err := x.Append(rows[len(rows)-tail:]); err != nil {
			t.Fatal(err)
		}
		if x.Len() != n || x.Bits() != bits {
			t.Fatalf("index of %d × %d bits, want %d × %d", x.Len(), x.Bits(), n, bits)
		}
		s := x.Searcher()
		for range 4 {
			q := drawQuery(t, rows, words)
			want := bruteForce(rows, words, q)
			for _, kernel := range Kernels() {
				if err := s.UseKernel(kernel); err != nil {
					t.Fatal(err)
				}
				got, err := s.Search(context.Background(), q)
				if err != nil {
					t.Fatal(err)
				}
				if diff := gocmp.Diff(want, got); diff != "" && len(want)+len(got) > 0 {
					t.Fatalf("%s: -want +got:\n%s", kernel, diff)
				}
			}
		}
	})
}

func TestSearchAcrossTiles(t *testing.T) {
	const bits, words = 256, 4
	rows := makeRows(rand.New(rand.NewPCG(4, 4)), 2*tileSize+700, bits)
	x, err := Build(rows, bits)
	if err != nil {
		t.Fatal(err)
	}
	s := x.Searcher()
	for i := range 6 {
		for _, q := range []Query{
			{K: 30}, {K: 2000}, {K: 30, Farthest: true}, {Threshold: MustThreshold("0.6")},
			{Threshold: MustThreshold("0.02"), Farthest: true}, {K: 9, Threshold: MustThreshold("0.5")},
		} {
			q.Fingerprint = rows[i*997*words:][:words]
			q.Tie = cmp.Compare[int]
			want := bruteForce(rows, words, q)
			q.Tie = nil
			got, err := s.Search(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(want, got) {
				t.Errorf("query %d, K %d, threshold %v, farthest %t: %d hits, want %d, or others",
					i, q.K, q.Threshold, q.Farthest, len(got), len(want))
			}
		}
	}
}

func TestSearchRefuses(t *testing.T) {
	x, err := Build(make([]uint64, 64), 128)
	if err != nil {
		t.Fatal(err)
	}
	s := x.Searcher()
	if _, err := s.Search(t.Context(), Query{Fingerprint: make([]uint64, 1)}); err == nil {
		t.Error("a query of another size was accepted")
	}
	if _, err := s.Search(t.Context(), Query{Fingerprint: make([]uint64, 2), K: -1}); err == nil {
		t.Error("a negative K was accepted")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, q := range []Query{{}, {K: 3}, {Farthest: true}} {
		q.Fingerprint = make([]uint64, 2)
		if _, err := s.Search(ctx, q); !errors.Is(err, context.Canceled) {
			t.Errorf("K %d, farthest %t: error %v after the context ended", q.K, q.Farthest, err)
		}
	}
}

func TestBuildRefuses(t *testing.T) {
	for _, bits := range []int{-64, 0, 32, 100, 8256} {
		if _, err := Build(nil, bits); err == nil {
			t.Errorf("fingerprints of %d bits were accepted", bits)
		}
	}
	if _, err := Build(make([]uint64, 3), 128); err == nil {
		t.Error("one and a half fingerprints were accepted")
	}
	x, err := Build(nil, 128)
	if err != nil {
		t.Fatal(err)
	}
	if err := x.Append(make([]uint64, 1)); err == nil {
		t.Error("half a fingerprint was appended")
	}
}

func TestTranspose(t *testing.T) {
	r := rand.New(rand.NewPCG(18, 18))
	var square, want [64]uint64
	for i := range square {
		square[i] = r.Uint64()
		for c := range want {
			want[c] |= square[i] >> c & 1 << i
		}
	}
	if transpose64(&square); square != want {
		t.Errorf("%x, want %x", square, want)
	}
}
