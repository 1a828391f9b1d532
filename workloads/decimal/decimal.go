// Package decimal holds decimal fractions between 0 and 1 exactly, to compare
// similarities with a threshold that a user wrote.
//
// A similarity is the ratio of two counts. Held as floating-point numbers, a
// ratio and a threshold that are equal on paper may differ in the last bit, and
// two programs may disagree about a hit. Here both stay integers.
package decimal

import (
	"errors"
	"math/bits"
	"strconv"
	"strings"
)

// MaxPlaces is the largest number of digits after the decimal point.
const MaxPlaces = 18

// Errors of Parse.
var (
	ErrSyntax = errors.New("must be a decimal number")
	ErrRange  = errors.New("must be between 0 and 1")
	ErrPlaces = errors.New("must have at most " + strconv.Itoa(MaxPlaces) + " digits after the decimal point")
)

// Fraction is num / 10^places, in lowest decimal terms and between 0 and 1. The
// zero value is 0. Fractions of equal value are equal in the sense of ==.
type Fraction struct {
	num    uint64
	places uint8
}

// Parse reads a number as JSON writes it (RFC 8259, section 6): -? int frac? exp?.
func Parse(s string) (Fraction, error) {
	negative, digits, exponent, err := split(s)
	if err != nil {
		return Fraction{}, err
	}
	digits, exponent = normalize(digits, exponent)
	switch {
	case digits == "":
		return Fraction{}, nil
	case negative || len(digits)+exponent > 1:
		return Fraction{}, ErrRange
	case exponent < -MaxPlaces:
		return Fraction{}, ErrPlaces
	}
	// Here digits × 10^exponent < 10 and −MaxPlaces ≤ exponent ≤ 0, so digits
	// has at most MaxPlaces+1 of them, which fit in 64 bits.
	num, err := strconv.ParseUint(digits, 10, 64)
	if err != nil {
		return Fraction{}, ErrSyntax
	}
	f := Fraction{num: num, places: uint8(-exponent)}
	if num > pow10[f.places] {
		return Fraction{}, ErrRange
	}
	return f, nil
}

// normalize removes the zeros at both ends of the digits.
func normalize(digits string, exponent int) (string, int) {
	digits = strings.TrimLeft(digits, "0")
	short := strings.TrimRight(digits, "0")
	return short, exponent + len(digits) - len(short)
}

// Compare compares the ratio common/union with f: −1 if it is less, 0 if
// equal, +1 if greater. The ratio of two zeros counts as 1.
func (f Fraction) Compare(common, union uint64) int {
	if union == 0 {
		common, union = 1, 1
	}
	leftHi, leftLo := bits.Mul64(common, pow10[f.places])
	rightHi, rightLo := bits.Mul64(f.num, union)
	switch {
	case leftHi == rightHi && leftLo == rightLo:
		return 0
	case leftHi < rightHi || leftHi == rightHi && leftLo < rightLo:
		return -1
	}
	return 1
}

// String returns the shortest form without an exponent: "0", "0.7", "1".
func (f Fraction) String() string {
	digits := strconv.FormatUint(f.num, 10)
	if f.places == 0 {
		return digits
	}
	// A fraction with places is less than 1, so all of its digits follow the point.
	return "0." + strings.Repeat("0", int(f.places)-len(digits)) + digits
}

var pow10 = func() (p [MaxPlaces + 1]uint64) {
	p[0] = 1
	for i := 1; i < len(p); i++ {
		p[i] = 10 * p[i-1]
	}
	return p
}()

// Ratio returns whole numbers of which f is the quotient.
func (f Fraction) Ratio() (num, den uint64) { return f.num, pow10[f.places] }
