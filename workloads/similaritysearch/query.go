package similaritysearch

import (
	"errors"
	"fmt"
	"math/bits"
	"strings"

	"scimesh.dev/scimesh/chem"
	"scimesh.dev/scimesh/chem/fps"
)

// defaultType is the fingerprint that is compared if a Job does not say.
var defaultType = fps.Type{Radius: chem.DefaultRadius, Bits: chem.DefaultBits}

// fingerprint is a Morgan fingerprint: bit i is bit i%64 of word i/64.
type fingerprint []uint64

// ones is the number of on bits.
func (f fingerprint) ones() int {
	n := 0
	for _, w := range f {
		n += bits.OnesCount64(w)
	}
	return n
}

// compare returns how many bits f has in common with g, which is as long, and how
// many are on in either.
func (f fingerprint) compare(g fingerprint) (common, union int) {
	g = g[:len(f)]
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
	newEngine func(fps.Type) engine
}

// New returns the workload.
func New() *Workload {
	return &Workload{newEngine: func(t fps.Type) engine { return chem.New(engineOptions(t)) }}
}

// engineOptions are the options of an engine for fingerprints of that type.
func engineOptions(t fps.Type) chem.Options {
	o := chem.Options{Radius: t.Radius, Bits: t.Bits}
	if t.Radius == 0 {
		o.Radius = chem.RadiusZero
	}
	return o
}

// query is the molecule to compare with.
type query struct {
	id     *string // rows of this id are the query itself
	smiles []byte  // nil if only the fingerprint is known
	bits   fingerprint
}

// newQuery computes the query's fingerprint. Its errors are for users; the
// caret below a SMILES shows where it is wrong.
func (w *Workload) newQuery(t fps.Type, id *string, smiles string) (*query, error) {
	return queryBy(w.newEngine(t), t, id, smiles)
}

func queryBy(e engine, t fps.Type, id *string, smiles string) (*query, error) {
	switch {
	case len(smiles) > maxQueryBytes:
		return nil, fmt.Errorf("must have at most %d bytes", maxQueryBytes)
	case strings.Contains(smiles, "\x00"): // which PostgreSQL cannot keep in JSON
		return nil, errors.New("must not contain NUL")
	}
	q := &query{id: id, smiles: []byte(smiles), bits: make(fingerprint, fps.Words(t.Bits))}
	if err := e.Fingerprint(q.bits, q.smiles); err != nil {
		return nil, explain(err)
	}
	return q, nil
}

// query makes the query of a task.
func (w *Workload) query(s *search) (*query, error) {
	if s.QuerySMILES != nil {
		q, err := w.newQuery(s.kind, s.QueryID, *s.QuerySMILES)
		if err != nil {
			return nil, fmt.Errorf("query_smiles: %w", err)
		}
		return q, nil
	}
	q := &query{id: s.QueryID, bits: make(fingerprint, fps.Words(s.kind.Bits))}
	if !fps.ParseHex(q.bits, []byte(s.QueryFingerprint), s.kind.Bits) {
		return nil, fmt.Errorf("query_fingerprint: not %d bits in hexadecimal", s.kind.Bits)
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
