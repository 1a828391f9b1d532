package decimal

import "strings"

// maxExponent bounds the exponent that split reports; a larger one is cut to
// it. Beyond it every number but zero is out of range anyway.
const maxExponent = 1 << 30

// split takes a JSON number apart: its value is ±digits × 10^exponent.
func split(s string) (negative bool, digits string, exponent int, err error) {
	s, negative = strings.CutPrefix(s, "-")
	whole, s := cutDigits(s)
	if whole == "" || len(whole) > 1 && whole[0] == '0' {
		return false, "", 0, ErrSyntax
	}
	var fraction string
	if rest, ok := strings.CutPrefix(s, "."); ok {
		if fraction, s = cutDigits(rest); fraction == "" {
			return false, "", 0, ErrSyntax
		}
	}
	if s != "" {
		if exponent, err = parseExponent(s); err != nil {
			return false, "", 0, err
		}
	}
	return negative, whole + fraction, exponent - len(fraction), nil
}

// parseExponent reads e, an optional sign, and digits.
func parseExponent(s string) (int, error) {
	if s[0] != 'e' && s[0] != 'E' {
		return 0, ErrSyntax
	}
	s, negative := strings.CutPrefix(s[1:], "-")
	if !negative {
		s = strings.TrimPrefix(s, "+")
	}
	digits, rest := cutDigits(s)
	if digits == "" || rest != "" {
		return 0, ErrSyntax
	}
	n := 0
	for _, d := range []byte(digits) {
		n = min(10*n+int(d-'0'), maxExponent)
	}
	if negative {
		n = -n
	}
	return n, nil
}

// cutDigits splits s after its leading ASCII digits.
func cutDigits(s string) (digits, rest string) {
	n := 0
	for n < len(s) && '0' <= s[n] && s[n] <= '9' {
		n++
	}
	return s[:n], s[n:]
}
