package similaritysearch

import (
	"cmp"
	"math"
	"math/big"
	"math/bits"
	"strconv"

	"scimesh.dev/scimesh/workloads/decimal"
)

// Values of measure.
const (
	measureTanimoto = "tanimoto"
	measureDice     = "dice"
	measureCosine   = "cosine"
	measureTversky  = "tversky"
)

// weightScale is what alpha and beta are multiplied by to be whole numbers, and
// maxWeight the largest of them.
const (
	weightPlaces = 6
	weightScale  = 1_000_000
	maxWeight    = 1000
)

// measure computes similarities of fingerprints with a bits on in the query, b in
// the molecule, and c in common:
//
//	tanimoto  c / (a + b − c)
//	dice      2c / (a + b)
//	cosine    c / √(a·b)
//	tversky   c / (c + alpha·(a−c) + beta·(b−c))
//
// Two fingerprints without a bit on have similarity 1, and others without a common
// bit have 0. A molecule comes as its common bits and those of the union, which is
// a + b − c.
type measure struct {
	kind string // "" is tanimoto
	// query is a. Tanimoto and dice do without.
	query int64
	// alpha and beta are weights times weightScale.
	alpha, beta int64
}

func (m measure) tanimoto() bool { return m.kind == "" || m.kind == measureTanimoto }

// fraction returns two whole numbers whose quotient orders molecules as their
// similarity does: it is the similarity, but for cosine its square times a.
func (m measure) fraction(common, union int64) (num, den int64) {
	switch {
	case union == 0:
		return 1, 1
	case common == 0:
		return 0, 1
	}
	switch m.kind {
	case measureDice:
		return 2 * common, union + common
	case measureCosine:
		return common * common, m.others(common, union)
	case measureTversky:
		only := m.alpha*(m.query-common) + m.beta*(union-m.query)
		return weightScale * common, weightScale*common + only
	}
	return common, union
}

// others is b.
func (m measure) others(common, union int64) int64 { return union + common - m.query }

// compare compares two similarities exactly.
func (m measure) compare(common1, union1, common2, union2 int32) int {
	num1, den1 := m.fraction(int64(common1), int64(union1))
	num2, den2 := m.fraction(int64(common2), int64(union2))
	return compareProducts(num1, den2, num2, den1)
}

// compareProducts compares a·b with c·d; none is negative.
func compareProducts(a, b, c, d int64) int {
	hi1, lo1 := bits.Mul64(uint64(a), uint64(b))
	hi2, lo2 := bits.Mul64(uint64(c), uint64(d))
	return cmp.Or(cmp.Compare(hi1, hi2), cmp.Compare(lo1, lo2))
}

// compareWith compares a similarity with a threshold exactly.
func (m measure) compareWith(t decimal.Fraction, common, union int64) int {
	num, den := m.fraction(common, union)
	if m.kind != measureCosine || union == 0 || common == 0 {
		return t.Compare(uint64(num), uint64(den))
	}
	// c/√(ab) against n/d: c²·d² against n²·ab.
	n, d := t.Ratio()
	left := new(big.Int).Mul(big.NewInt(common), new(big.Int).SetUint64(d))
	right := new(big.Int).SetUint64(n)
	right.Mul(right, right).Mul(right, big.NewInt(m.query*den))
	return left.Mul(left, left).Cmp(right)
}

// format prints a similarity with six decimals, rounded from the double that is
// nearest to it, which is what Python prints.
func (m measure) format(common, union int32) string {
	num, den := m.fraction(int64(common), int64(union))
	value := float64(num) / float64(den)
	if m.kind == measureCosine && union != 0 && common != 0 {
		value = float64(common) / math.Sqrt(float64(m.query*den))
	}
	return strconv.FormatFloat(value, 'f', 6, 64)
}
