package decimal

import (
	"encoding/json"
	"errors"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestParse(t *testing.T) {
	for in, want := range map[string]string{
		"0": "0", "-0": "0", "0.0": "0", "0e999999999999999999999": "0", "-0.000e-99999999999": "0",
		"1": "1", "1.000": "1", "1e0": "1", "10e-1": "1", "0.1e1": "1", "0.1E+1": "1",
		"100000000000000000000e-20": "1",
		"0.7":                       "0.7", "0.70": "0.7", "7e-1": "0.7", "70E-2": "0.7", "0.07e1": "0.7",
		"1e-18":                "0.000000000000000001",
		"0.000000000000000001": "0.000000000000000001",
		"0.999999999999999999": "0.999999999999999999",
		"0.333333333333333333": "0.333333333333333333",
		"0." + strings.Repeat("3", 18) + strings.Repeat("0", 1000): "0." + strings.Repeat("3", 18),
	} {
		f, err := Parse(in)
		if err != nil || f.String() != want {
			t.Errorf("Parse(%q) = %v, %v; want %s", in, f, err, want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for in, want := range map[string]error{
		"": ErrSyntax, ".5": ErrSyntax, "1.": ErrSyntax, "+1": ErrSyntax, "00": ErrSyntax, "01": ErrSyntax, "0x1": ErrSyntax,
		"1e": ErrSyntax, "1e+": ErrSyntax, "1e+-1": ErrSyntax, "1e-+1": ErrSyntax, " 1": ErrSyntax, "1 ": ErrSyntax, "0,5": ErrSyntax,
		"NaN": ErrSyntax, "Infinity": ErrSyntax, "½": ErrSyntax, "0.5.5": ErrSyntax, "--0": ErrSyntax, "50%": ErrSyntax, "1_0": ErrSyntax,
		"-0.1": ErrRange, "-1e-400": ErrRange, "1.1": ErrRange, "1.000000000000000001": ErrRange, "2": ErrRange, "9.999": ErrRange,
		"10": ErrRange, "1e1": ErrRange, "1e999999999999999999999999": ErrRange, "123456789012345678901234567890": ErrRange,
		"1.0000000000000000001": ErrPlaces,
		"1e-19":                 ErrPlaces, "1e-999999999999999999999999": ErrPlaces, "0.1234567890123456789": ErrPlaces,
	} {
		if f, err := Parse(in); !errors.Is(err, want) {
			t.Errorf("Parse(%q) = %v, %v; want error %v", in, f, err, want)
		}
	}
}

func TestCompareOnTheBoundary(t *testing.T) {
	for _, tc := range []struct {
		threshold     string
		common, union uint64
		want          int
	}{
		{"0.1", 1, 10, 0},
		{"0.1", 204, 2040, 0},
		{"0.7", 7, 10, 0},
		{"0.7", 1433, 2047, 1}, // 0.70004…
		{"0.7", 1432, 2047, -1},
		{"0.333333333333333333", 1, 3, 1},
		{"0.333333333333333334", 1, 3, -1},
		{"0.015625", 1, 64, 0},
		{"0.0078125", 16, 2048, 0},
		{"0", 0, 5, 0},
		{"1", 5, 5, 0},
		{"1", 4, 5, -1},
		{"1", 0, 0, 0},
		{"0.999999999999999999", 0, 0, 1},
		{"0.999999999999999999", 1<<64 - 2, 1<<64 - 1, 1},
	} {
		f, err := Parse(tc.threshold)
		if err != nil {
			t.Fatal(err)
		}
		if got := f.Compare(tc.common, tc.union); got != tc.want {
			t.Errorf("%d/%d against %s: %d, want %d", tc.common, tc.union, tc.threshold, got, tc.want)
		}
	}
}

// decimals draws number texts around the interesting borders.
var decimals = rapid.StringMatching(`-?(0|1|[1-9][0-9]{0,20})(\.[0-9]{1,22})?([eE][+-]?[0-9]{1,2})?`)

func TestAgreesWithBigRationals(t *testing.T) {
	one := big.NewRat(1, 1)
	rapid.Check(t, func(t *rapid.T) {
		in := decimals.Draw(t, "in")
		exact, ok := new(big.Rat).SetString(in)
		if !ok {
			t.Fatalf("%q is not a number to math/big", in)
		}
		f, err := Parse(in)
		inRange := exact.Sign() >= 0 && exact.Cmp(one) <= 0
		if err != nil {
			if inRange && !errors.Is(err, ErrPlaces) {
				t.Fatalf("Parse(%q): %v", in, err)
			}
			return
		}
		printed, _ := new(big.Rat).SetString(f.String())
		if !inRange || printed.Cmp(exact) != 0 {
			t.Fatalf("Parse(%q) = %v", in, f)
		}
		union := rapid.Uint64Range(1, 4096).Draw(t, "union")
		common := rapid.Uint64Range(0, union).Draw(t, "common")
		ratio := new(big.Rat).SetFrac(new(big.Int).SetUint64(common), new(big.Int).SetUint64(union))
		if got, want := f.Compare(common, union), ratio.Cmp(exact); got != want {
			t.Fatalf("%d/%d against %v: %d, want %d", common, union, f, got, want)
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"0.7", "1e-1", "-0", "1.000000000000000001", "1e99999999999", "0.", "00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, err := Parse(s)
		if err != nil {
			return
		}
		if !json.Valid([]byte(s)) {
			t.Errorf("accepted %q, which is not JSON", s)
		}
		again, err := Parse(d.String())
		if err != nil || again != d {
			t.Errorf("%q prints as %v and reads back as %v, %v", s, d, again, err)
		}
	})
}
