package similaritygraph

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"

	"scimesh.dev/scimesh/chem"
	"scimesh.dev/scimesh/chem/tanimoto"
	"scimesh.dev/scimesh/workloads/blocks"
	"scimesh.dev/scimesh/workloads/table"
)

const (
	// sampleSize is how many molecules are compared to estimate the edges: two
	// million pairs, a fraction of a second.
	sampleSize = 2000
	// sampleBytes is the longest SMILES in a sample.
	sampleBytes = 10_000
)

// sample is a random choice of the usable rows, the same one each time.
type sample struct {
	random *rand.Rand
	rows   int64 // usable rows seen
	chosen []molecule
}

// molecule is a row of a sample: its SMILES, or its fingerprint if that is all it has.
type molecule struct {
	smiles      []byte
	fingerprint []uint64
}

func newSample() *sample { return &sample{random: rand.New(rand.NewPCG(2026, 4))} }

func (s *sample) see(row table.Row) {
	if row.Reject != "" {
		return
	}
	s.rows++
	if len(row.SMILES) > sampleBytes {
		return
	}
	if len(s.chosen) < sampleSize {
		s.chosen = append(s.chosen, molecule{slices.Clone(row.SMILES), slices.Clone(row.Fingerprint)})
	} else if i := s.random.Int64N(s.rows); i < sampleSize {
		m := &s.chosen[i]
		m.smiles, m.fingerprint = append(m.smiles[:0], row.SMILES...), append(m.fingerprint[:0], row.Fingerprint...)
	}
}

// estimate is what a Job can be expected to be.
type estimate struct {
	sampled          int
	molecules, pairs int64
	edges            int64
	coreSeconds      float64
}

// estimate compares the sample's molecules.
func (s *sample) estimate(ctx context.Context, p parameters) (estimate, error) {
	c, err := newCriterion(p.Threshold, p.ThresholdDirection)
	if err != nil {
		return estimate{}, err
	}
	engine := chem.New(chem.Options{})
	words := engine.Words()
	bits := make([]uint64, 0, len(s.chosen)*words)
	fingerprint := make([]uint64, words)
	for i, m := range s.chosen {
		if i%256 == 0 && ctx.Err() != nil {
			return estimate{}, ctx.Err()
		}
		if len(m.fingerprint) > 0 {
			bits = append(bits, m.fingerprint...)
		} else if engine.Fingerprint(fingerprint, m.smiles) == nil {
			bits = append(bits, fingerprint...)
		}
	}
	x, err := tanimoto.Build(bits, blocks.Bits)
	if err != nil {
		return estimate{}, err
	}
	found := 0
	err = x.Searcher().Pairs(ctx, tanimoto.PairQuery{Threshold: c.threshold, Farthest: c.less},
		func(tanimoto.Pair) error { found++; return nil })
	if err != nil {
		return estimate{}, err
	}
	e := estimate{sampled: x.Len()}
	if len(s.chosen) > 0 {
		e.molecules = int64(math.Round(float64(s.rows) * float64(x.Len()) / float64(len(s.chosen))))
	}
	e.pairs = pairsOf(e.molecules, false)
	if inSample := pairsOf(int64(x.Len()), false); inSample > 0 {
		e.edges = int64(math.Round(float64(e.pairs) * (float64(found) / float64(inSample))))
	}
	e.coreSeconds = cost(s.rows, e.pairs, e.edges, p)
	return e, nil
}

// cost is about how long one core with AVX2 takes: 7 µs a row for reading its
// SMILES, between 15 and 120 ps a pair, the more the lower the threshold, and
// 2 µs for each edge to be sorted, written, sent and merged.
func cost(rows, pairs, edges int64, p parameters) float64 {
	perPair := 120e-12
	if t, err := strconv.ParseFloat(p.Threshold, 64); err == nil && p.ThresholdDirection == directionGreater {
		perPair = 15e-12 + 105e-12*(1-t)*(1-t)
	}
	return 7e-6*float64(rows) + perPair*float64(pairs) + 2e-6*float64(edges)
}

func (e estimate) summary(rows int64, blocks int) string {
	return fmt.Sprintf("%d input rows in %d blocks, to be followed by %d pairs of blocks: %d pairs of molecules; "+
		"about %d edges, going by %d molecules, and %.3g core-seconds",
		rows, blocks, pairsOf(blocks, true), e.pairs, e.edges, e.sampled, e.coreSeconds)
}
