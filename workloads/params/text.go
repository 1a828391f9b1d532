package params

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"strings"

	v1 "scimesh.dev/scimesh/api/v1"
)

const maxInt64 = math.MaxInt64

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

// quoted is a JSON value as a message repeats it. Objects and arrays are cut
// like strings, which is enough to recognise them.
func quoted(raw json.RawMessage) any {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return v1.Quote(string(raw))
	}
	switch v := v.(type) {
	case string:
		return v1.Quote(v)
	case json.Number:
		if len(v) <= v1.MaxQuote {
			return v
		}
	case bool:
		return v
	}
	return v1.Quote(string(raw))
}
