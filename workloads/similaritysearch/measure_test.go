package similaritysearch

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"scimesh.dev/scimesh/workloads/decimal"
	"scimesh.dev/scimesh/workloads/workloadtest"
)

// measures are all kinds, with weights that are no simple fractions.
func measures(query int64) []measure {
	return []measure{
		{kind: measureDice, query: query}, {kind: measureCosine, query: query},
		{kind: measureTversky, query: query, alpha: 1_000_000, beta: 1_000_000}, // tanimoto
		{kind: measureTversky, query: query, alpha: 900_000, beta: 100_001},
		{kind: measureTversky, query: query, alpha: 0, beta: 1_000_000},
		{kind: measureTversky, query: query, alpha: 1_000_000_000, beta: 1},
	}
}

// exact is a similarity, or for cosine its square, as a rational number.
func (m measure) exact(a, b, c int64) *big.Rat {
	switch {
	case a == 0 && b == 0:
		return big.NewRat(1, 1)
	case c == 0:
		return new(big.Rat)
	}
	switch m.kind {
	case measureDice:
		return big.NewRat(2*c, a+b)
	case measureCosine:
		return big.NewRat(c*c, a*b)
	case measureTversky:
		den := big.NewRat(m.alpha*(a-c), weightScale)
		den.Add(den, big.NewRat(m.beta*(b-c), weightScale)).Add(den, big.NewRat(c, 1))
		return den.Quo(big.NewRat(c, 1), den)
	}
	return big.NewRat(c, a+b-c)
}

func TestMeasuresAgreeWithRationals(t *testing.T) {
	const size = 64
	for _, a := range []int64{0, 1, 7, 64} {
		for _, m := range measures(a) {
			for _, text := range thresholds {
				limit, _ := new(big.Rat).SetString(text)
				if m.kind == measureCosine {
					limit.Mul(limit, limit)
				}
				d, err := decimal.Parse(text)
				if err != nil {
					t.Fatal(err)
				}
				atLeast, atMost := newLimits(m, size, &d, false), newLimits(m, size, &d, true)
				for b := range int64(size + 1) {
					for c := range min(a, b) + 1 {
						if a+b-c > size {
							continue // no two fingerprints of that size
						}
						want := m.exact(a, b, c).Cmp(limit)
						union := int(a + b - c)
						if got := atLeast.accept(int(c), union); got != (want >= 0) {
							t.Fatalf("%+v: a=%d b=%d c=%d ≥ %s: %v", m, a, b, c, text, got)
						}
						if got := atMost.accept(int(c), union); got != (want <= 0) {
							t.Fatalf("%+v: a=%d b=%d c=%d ≤ %s: %v", m, a, b, c, text, got)
						}
					}
				}
			}
		}
	}
}

func TestMeasuresOrderAsRationals(t *testing.T) {
	for _, a := range []int64{0, 3, 9} {
		for _, m := range measures(a) {
			type pair struct{ b, c int64 }
			var pairs []pair
			for b := range int64(14) {
				for c := range min(a, b) + 1 {
					pairs = append(pairs, pair{b, c})
				}
			}
			for _, p := range pairs {
				for _, q := range pairs {
					want := m.exact(a, p.b, p.c).Cmp(m.exact(a, q.b, q.c))
					got := m.compare(int32(p.c), int32(a+p.b-p.c), int32(q.c), int32(a+q.b-q.c))
					if got != want {
						t.Fatalf("%+v: %v against %v: %d, want %d", m, p, q, got, want)
					}
				}
			}
		}
	}
}

func TestMeasuresPrint(t *testing.T) {
	// 4 bits on in the query, 9 in the molecule, 3 in common.
	for want, m := range map[string]measure{
		"0.300000": {}, "0.461538": {kind: measureDice}, "0.500000": {kind: measureCosine, query: 4},
		"0.600000": {kind: measureTversky, query: 4, alpha: 2_000_000}, "0.333333": {kind: measureTversky, query: 4, beta: 1_000_000},
	} {
		if got := m.format(3, 10); got != want {
			t.Errorf("%+v: %s, want %s", m, got, want)
		}
	}
	for _, m := range measures(0) {
		if empty, other := m.format(0, 0), m.format(0, 5); empty != "1.000000" || other != "0.000000" {
			t.Errorf("%+v: empty %s, other %s", m, empty, other)
		}
	}
}

func TestMeasuresConformance(t *testing.T) {
	for name, parameters := range map[string]string{
		"cosine":  `{"query_smiles":"CC(=O)Oc1ccccc1C(=O)O","measure":"cosine","threshold":"0.5","threshold_direction":"less"}`,
		"tversky": `{"query_id":"CHEMBL424","measure":"tversky","alpha":0.9,"beta":"0.1","top_k":3,"fingerprint":{"radius":3,"bits":192}}`,
	} {
		t.Run(name, func(t *testing.T) {
			workloadtest.Run(t, workloadtest.Config{Workload: New(), Input: []byte(molecules), Parameters: parameters, Rows: []int64{100, 3}})
		})
	}
}

func TestMeasureParameters(t *testing.T) {
	for raw, want := range map[string]string{
		`{"query_id":"A","measure":"tanimoto","fingerprint":{}}`:                   `{"query_id":"A","top_k":20,"threshold_direction":"greater"}`,
		`{"query_id":"A","fingerprint":{"bits":2048,"radius":2}}`:                  `{"query_id":"A","top_k":20,"threshold_direction":"greater"}`,
		`{"query_id":"A","measure":"tversky","alpha":0.50,"beta":"10"}`:            `{"query_id":"A","measure":"tversky","alpha":"0.5","beta":"10","top_k":20,"threshold_direction":"greater"}`,
		`{"query_id":"A","measure":"cosine","fingerprint":{"radius":0,"bits":64}}`: `{"query_id":"A","measure":"cosine","fingerprint":{"radius":0,"bits":64},"top_k":20,"threshold_direction":"greater"}`,
		`{"query_id":"A","measure":"jaccard"}`:                                     `spec.parameters.measure: Unsupported value`,
		`{"query_id":"A","alpha":1}`:                                               `spec.parameters.alpha: Invalid value: 1: goes with measure tversky only`,
		`{"query_id":"A","measure":"tversky","alpha":1}`:                           `spec.parameters.beta: Required value: measure tversky needs it`,
		`{"query_id":"A","measure":"tversky","alpha":0,"beta":0.0}`:                `spec.parameters.beta: Invalid value: 0.0: must not be 0 beside an alpha of 0`,
		`{"query_id":"A","measure":"tversky","alpha":-1,"beta":1}`:                 `spec.parameters.alpha: Invalid value: -1: must be a decimal from 0 to 1000`,
		`{"query_id":"A","measure":"tversky","alpha":1000.000001,"beta":1}`:        `spec.parameters.alpha: Invalid value: 1000.000001: must be a decimal`,
		`{"query_id":"A","measure":"tversky","alpha":0.0000001,"beta":1}`:          `spec.parameters.alpha: Invalid value: 0.0000001: must be a decimal`,
		`{"query_id":"A","fingerprint":{"radius":5,"bits":100,"size":1}}`:          `spec.parameters.fingerprint.size: Forbidden: unknown field`,
		`{"query_id":"A","fingerprint":{"bits":100}}`:                              `spec.parameters.fingerprint.bits: Invalid value: 100: must be a multiple of 64`,
		`{"query_id":"A","fingerprint":{"radius":5}}`:                              `spec.parameters.fingerprint.radius: Invalid value: 5: must be between 0 and 4`,
		`{"query_id":"A","fingerprint":"ECFP4"}`:                                   `spec.parameters.fingerprint: Invalid value: must be an object`,
	} {
		got, errs := New().Validate(path, json.RawMessage(raw))
		text := string(got)
		if len(errs) > 0 {
			text = errs[0].Error()
		}
		if !strings.HasPrefix(text, want) {
			t.Errorf("%s:\ngot  %s\nwant %s", raw, text, want)
		}
		if len(errs) > 0 {
			continue
		}
		if again, errs := New().Validate(path, got); len(errs) > 0 || string(again) != string(got) {
			t.Errorf("%s is not accepted as it is: %s, %v", got, again, errs)
		}
	}
}

func TestSixPlacesOfWeights(t *testing.T) {
	for _, n := range []int64{0, 1, 10, 500_000, 1_000_000, 123_456_789, maxWeight * weightScale} {
		if got, err := parseWeight(weightText(n)); err != nil || got != n {
			t.Errorf("%d: %s, %d, %v", n, weightText(n), got, err)
		}
	}
	for _, text := range []string{"", ".5", "1e0", "+1", "1.2.3", "00001", "1001", fmt.Sprint(uint64(1) << 63)} {
		if n, err := parseWeight(text); err == nil {
			t.Errorf("%q is %d", text, n)
		}
	}
}
