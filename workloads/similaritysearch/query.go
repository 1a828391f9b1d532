package similaritysearch

import (
	"errors"
	"fmt"
	"math/bits"
	"strings"

	"scimesh.dev/scimesh/chem"
)

const (
	fingerprintBits  = chem.DefaultBits
	fingerprintWords = fingerprintBits / 64
)

// fingerprint is a Morgan fingerprint.
type fingerprint [fingerprintWords]uint64

// ones is the number of on bits.
func (f *fingerprint) ones() int {
	n := 0
	for _, w := range f {
		n += bits.OnesCount64(w)
	}
	return n
}

// compare returns how many bits f has in common with g, and how many are on in
// either.
func (f *fingerprint) compare(g *fingerprint) (common, union int) {
	for i, w := range f {
		common += bits.OnesCount64(w & g[i])
		union += bits.OnesCount64(w | g[i])
	}
	return common, union
}

// engine is what is needed of chem.Engine. One serves one goroutine.
type engine interface {
	// Fingerprint overwrites dst; an error means that the SMILES is refused.
	Fingerprint(dst []uint64, smiles []byte) error
	// Same reports whether two accepted SMILES spell the same molecule.
	Same(a, b []byte) (bool, error)
}

// Workload is the similarity search. Its zero value is not usable; see New.
type Workload struct {
	newEngine func() engine
}

// New returns the workload.
func New() *Workload {
	return &Workload{newEngine: func() engine { return chem.New(chem.Options{}) }}
}

// query is the molecule to compare with.
type query struct {
	id     *string // rows of this id are the query itself
	smiles []byte
	bits   fingerprint
}

// newQuery reads a query's SMILES. The error is a text for the user that shows
// where the SMILES is wrong.
func (w *Workload) newQuery(id *string, smiles string) (*query, error) {
	switch {
	case len(smiles) > maxQueryBytes:
		return nil, fmt.Errorf("must have at most %d bytes", maxQueryBytes)
	case strings.Contains(smiles, "\x00"): // which PostgreSQL cannot keep in JSON
		return nil, errors.New("must not contain NUL")
	}
	q := &query{id: id, smiles: []byte(smiles)}
	if err := w.newEngine().Fingerprint(q.bits[:], q.smiles); err != nil {
		return nil, explain(err)
	}
	return q, nil
}

// explain adds to a syntax error the line with a caret under the character.
func explain(err error) error {
	var syntax interface{ Caret() string }
	if !errors.As(err, &syntax) {
		return err
	}
	return fmt.Errorf("%w\n    %s", err, strings.ReplaceAll(syntax.Caret(), "\n", "\n    "))
}
