package similaritysearch

import (
	"bytes"
	"errors"
	"strconv"
	"strings"

	"scimesh.dev/scimesh/chem/fps"
)

// Of the default fingerprint.
const (
	fingerprintBits  = 2048
	fingerprintWords = fingerprintBits / 64
)

// listEngine takes for a SMILES a list of on bits, such as "0.5.17", so that a
// test can make any pair of counts. A list that ends with ~ is the same molecule
// as without it, one that ends with another letter is a different molecule of
// the same fingerprint, and what does not parse is refused.
type listEngine struct{}

var errNoList = errors.New("not a list of bits")

func (listEngine) Fingerprint(dst []uint64, smiles []byte) error {
	clear(dst)
	for text := range strings.SplitSeq(strings.TrimRight(string(smiles), "~xyz"), ".") {
		if text == "" {
			continue
		}
		bit, err := strconv.Atoi(text)
		if err != nil || bit < 0 || bit >= 64*len(dst) {
			return errNoList
		}
		dst[bit/64] |= 1 << (bit % 64)
	}
	return nil
}

func (listEngine) Same(a, b []byte) (bool, error) {
	return bytes.Equal(bytes.TrimRight(a, "~"), bytes.TrimRight(b, "~")), nil
}

func synthetic() *Workload {
	return &Workload{newEngine: func(fps.Type) engine { return listEngine{} }}
}

// span lists the bits from first to last.
func span(first, last int) string {
	var s []string
	for i := first; i <= last; i++ {
		s = append(s, strconv.Itoa(i))
	}
	return strings.Join(s, ".")
}
