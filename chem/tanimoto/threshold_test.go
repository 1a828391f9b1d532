package tanimoto

import (
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

func TestParseThreshold(t *testing.T) {
	for text, want := range map[string]Threshold{
		"0": {0, 1}, "1": {1, 1}, "1.000": {1, 1}, "0.70": {7, 10}, "00.5": {5, 10},
		"0.123456789012345678": {123456789012345678, 1_000_000_000_000_000_000},
	} {
		if got, err := ParseThreshold(text); err != nil || got != want {
			t.Errorf("%q: got %v, error %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", ".", ".5", "1.", "-0", "+1", "1.1", "2", "0.7e0", "0,7", " 0.7", "NaN", "0.1234567890123456789", "99999999999999999999999"} {
		if got, err := ParseThreshold(text); err == nil {
			t.Errorf("%q was accepted as %v", text, got)
		}
	}
}

// TestLimitsAreThoseOfTheDefinition compares whole ranges with fractions of any size.
func TestLimitsAreThoseOfTheDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		threshold := Threshold{den: rapid.Uint64Range(1, 1e18).Draw(t, "den")}
		threshold.num = rapid.Uint64Range(0, threshold.den).Draw(t, "num")
		a, b := rapid.IntRange(0, maxBits).Draw(t, "a"), rapid.IntRange(0, maxBits).Draw(t, "b")
		limit := big.NewRat(int64(threshold.num), int64(threshold.den))
		similarity := func(c int) *big.Rat {
			if a+b == 0 {
				return big.NewRat(1, 1)
			}
			return big.NewRat(int64(c), int64(a+b-c))
		}
		least, most := threshold.least(a, b), threshold.most(a, b)
		for c := 0; c <= min(a, b); c++ {
			if c > 2 && c < least-2 || c > least+2 && c < min(a, b)-2 {
				continue // similarity grows with c: the places around the limits decide
			}
			want := similarity(c).Cmp(limit)
			if got := threshold.Compare(Score{int32(c), int32(a + b - c)}); got != want {
				t.Fatalf("%d of %d and %v compare as %d, want %d", c, a+b-c, limit, got, want)
			}
			if (c >= least) != (want >= 0) || (c <= most) != (want <= 0) {
				t.Fatalf("common %d of %d and %d on bits: least %d, most %d, limit %v", c, a, b, least, most, limit)
			}
		}
	})
}

func TestScoresCompareAsFractions(t *testing.T) {
	for _, tc := range []struct {
		a, b Score
		want int
	}{
		{Score{1, 2}, Score{2, 4}, 0},
		{Score{1, 3}, Score{1, 2}, -1},
		{Score{0, 0}, Score{5, 5}, 0},
		{Score{0, 0}, Score{4, 5}, 1},
		{Score{0, 1}, Score{0, 7}, 0},
	} {
		if got := tc.a.Compare(tc.b); got != tc.want {
			t.Errorf("%v and %v: %d, want %d", tc.a, tc.b, got, tc.want)
		}
	}
	if got := (Score{1, 3}).Float64(); got != 1.0/3 {
		t.Errorf("1 of 3 prints as %v", got)
	}
}

// TestKeysOrderAsScores compares the keys of hits with the fractions.
func TestKeysOrderAsScores(t *testing.T) {
	scores := rapid.Custom(func(t *rapid.T) Score {
		union := rapid.Int32Range(0, maxBits).Draw(t, "union")
		return Score{rapid.Int32Range(0, union).Draw(t, "common"), union}
	})
	rapid.Check(t, func(t *rapid.T) {
		a := scores.Draw(t, "a")
		// A random neighbour, the nearest fractions there are, and its double.
		for _, b := range []Score{scores.Draw(t, "b"), {a.Common, min(a.Union+1, maxBits)}, {max(a.Common-1, 0), max(a.Union-1, 0)}, {a.Common * 2, a.Union * 2}} {
			if b.Common > b.Union || b.Union > maxBits {
				continue
			}
			for _, farthest := range []bool{false, true} {
				h := best{farthest: farthest, tie: func(int, int) int { return 0 }}
				want := b.Compare(a)
				if farthest {
					want = -want
				}
				x, y := h.entry(Hit{0, a}), h.entry(Hit{1, b})
				if got := h.order(x, y); got != want {
					t.Fatalf("%v and %v, farthest %t: order %d, want %d", a, b, farthest, got, want)
				}
			}
		}
	})
}
