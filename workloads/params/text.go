package params

import (
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"strings"
	"unicode/utf8"
)

const maxInt64 = math.MaxInt64

// maxExcerpt is how many bytes of a user's value a message repeats.
const maxExcerpt = 64

// maxNumber bounds the digits of a whole number, so that reading it is cheap.
const maxNumber = 40

var errNotWhole = errors.New("not a whole number")

// parseInt reads a JSON number that is whole: 20, 2e1, 20.0. A number too large
// for 64 bits becomes the nearest that fits, which is out of every range.
func parseInt(s string) (int64, error) {
	if c := s[0]; len(s) > maxNumber || c != '-' && (c < '0' || c > '9') {
		return 0, errNotWhole
	}
	if i := strings.IndexAny(s, "eE"); i >= 0 && len(s)-i > len("e+99") {
		return 0, errNotWhole // 10^100 and beyond: not worth computing
	}
	r, ok := new(big.Rat).SetString(s)
	if !ok || !r.IsInt() {
		return 0, errNotWhole
	}
	switch n := r.Num(); {
	case n.IsInt64():
		return n.Int64(), nil
	case n.Sign() < 0:
		return math.MinInt64, nil
	default:
		return math.MaxInt64, nil
	}
}

// quoted is a JSON value as a message repeats it: strings without their escapes.
func quoted(raw json.RawMessage) any {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return excerpt(s)
	}
	return json.RawMessage(excerptJSON(raw))
}

// excerptJSON keeps short values and replaces others by a string that begins like them.
func excerptJSON(raw json.RawMessage) []byte {
	if len(raw) <= maxExcerpt {
		return raw
	}
	b, _ := json.Marshal(excerpt(string(raw))) // a string always marshals
	return b
}

// excerpt cuts s to maxExcerpt bytes, at a character.
func excerpt(s string) string {
	if len(s) <= maxExcerpt {
		return s
	}
	n := maxExcerpt
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

// closest returns the known name that was probably meant, or "".
func closest(name string, known []string) string {
	if len(name) > maxExcerpt {
		return ""
	}
	best, bestDistance := "", 0
	for _, k := range known {
		d := distance(fold(name), fold(k))
		if d <= max(1, len(k)/3) && (best == "" || d < bestDistance) {
			best, bestDistance = k, d
		}
	}
	return best
}

// fold removes what people mix up: case, and how words are joined.
func fold(s string) string {
	return strings.NewReplacer("_", "", "-", "", " ", "").Replace(strings.ToLower(s))
}

// distance is the number of insertions, deletions, substitutions and swaps of
// neighbours that turn a into b (optimal string alignment).
func distance(a, b string) int {
	previous, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], previous[j-2]+1)
			}
		}
		previous, last, row = last, row, previous
	}
	return last[len(b)]
}
