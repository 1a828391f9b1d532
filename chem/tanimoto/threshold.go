package tanimoto

import (
	"cmp"
	"fmt"
	"math/bits"
	"strings"
)

// maxDecimals is how many digits a threshold may have after the point: its
// denominator fits a word.
const maxDecimals = 18

// Threshold is a similarity from 0 to 1 as an exact fraction. The zero value is 0.
type Threshold struct {
	num, den uint64 // den 0 stands for 1
}

// ParseThreshold reads a decimal from 0 to 1 such as "0.7", with up to 18 digits
// after the point, and no exponent or sign.
func ParseThreshold(s string) (Threshold, error) {
	whole, decimals, point := strings.Cut(s, ".")
	if whole == "" || point && decimals == "" {
		return Threshold{}, fmt.Errorf("threshold %q: not a decimal from 0 to 1", s)
	}
	decimals = strings.TrimRight(decimals, "0")
	if len(decimals) > maxDecimals {
		return Threshold{}, fmt.Errorf("threshold %q: more than %d digits after the point", s, maxDecimals)
	}
	t := Threshold{den: 1}
	for range decimals {
		t.den *= 10
	}
	for _, digit := range []byte(whole + decimals) {
		if digit < '0' || digit > '9' {
			return Threshold{}, fmt.Errorf("threshold %q: not a decimal from 0 to 1", s)
		}
		// Stopping above 1 keeps the numerator from overflowing.
		if t.num = t.num*10 + uint64(digit-'0'); t.num > t.den {
			return Threshold{}, fmt.Errorf("threshold %q: more than 1", s)
		}
	}
	return t, nil
}

// MustThreshold is ParseThreshold for constants: it panics on an error.
func MustThreshold(s string) Threshold {
	t, err := ParseThreshold(s)
	if err != nil {
		panic("tanimoto: " + err.Error())
	}
	return t
}

// Compare is negative if the similarity s lies below the threshold, 0 if it is
// equal, positive if it lies above.
func (t Threshold) Compare(s Score) int {
	return scoreThreshold(s).compare(t)
}

// orNone is the threshold, or, for the zero value, that which everything satisfies.
func (t Threshold) orNone(farthest bool) Threshold {
	if t.den != 0 {
		return t
	}
	if farthest {
		return Threshold{1, 1}
	}
	return Threshold{0, 1}
}

// compare is negative if t is the lower threshold, positive if it is the higher.
func (t Threshold) compare(other Threshold) int {
	hi, lo := bits.Mul64(t.num, other.denominator())
	ohi, olo := bits.Mul64(other.num, t.denominator())
	return cmp.Or(cmp.Compare(hi, ohi), cmp.Compare(lo, olo))
}

func (t Threshold) denominator() uint64 { return max(t.den, 1) }

// scoreThreshold is the similarity of a score as a threshold.
func scoreThreshold(s Score) Threshold {
	s = s.normal()
	return Threshold{uint64(s.Common), uint64(s.Union)}
}

// share is total·num/(num+den), rounded down, and whether that left no rest: the
// common count at which fingerprints with total on bits together have similarity
// num/den, because c·den = num·(total−c).
func (t Threshold) share(total int) (common int, exact bool) {
	hi, lo := bits.Mul64(t.num, uint64(total))
	quotient, rest := bits.Div64(hi, lo, t.num+t.denominator())
	return int(quotient), rest == 0
}

// least is the smallest common count with which fingerprints of a and b on bits
// reach the threshold. It may be more than they can have.
func (t Threshold) least(a, b int) int {
	common, exact := t.share(a + b)
	if !exact {
		common++
	}
	return common
}

// most is the largest common count with which fingerprints of a and b on bits do
// not pass the threshold; −1 if two empty ones do.
func (t Threshold) most(a, b int) int {
	if a+b == 0 && t.num < t.denominator() {
		return -1
	}
	common, _ := t.share(a + b)
	return common
}
