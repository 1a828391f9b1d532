package similaritysearch

import (
	"cmp"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"scimesh.dev/scimesh/workloads/decimal"
	"scimesh.dev/scimesh/workloads/workloadtest"
)

// thresholds are those that real users write, and those that lie just beside a
// ratio of small counts.
var thresholds = []string{
	"0", "1", "0.1", "0.2", "0.25", "0.3", "0.5", "0.6", "0.7", "0.9", "1e-1", "0.75",
	"0.333333333333333333", "0.333333333333333334", "0.666666666666666666", "0.666666666666666667", "0.000000000000000001",
}

func TestLimitsAgreeWithRationals(t *testing.T) {
	for _, text := range thresholds {
		exact, _ := new(big.Rat).SetString(text)
		d, err := decimal.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		atLeast, atMost := newLimits(measure{}, fingerprintBits, &d, false), newLimits(measure{}, fingerprintBits, &d, true)
		for union := 0; union <= fingerprintBits; union += 1 + union/40 {
			for common := range union + 1 {
				ratio := big.NewRat(1, 1)
				if union > 0 {
					ratio.SetFrac64(int64(common), int64(union))
				}
				c := ratio.Cmp(exact)
				if got := atLeast.accept(common, union); got != (c >= 0) {
					t.Fatalf("%d/%d ≥ %s: %v", common, union, text, got)
				}
				if got := atMost.accept(common, union); got != (c <= 0) {
					t.Fatalf("%d/%d ≤ %s: %v", common, union, text, got)
				}
			}
		}
	}
	all := newLimits(measure{}, fingerprintBits, nil, false)
	if !all.accept(0, 0) || !all.accept(0, fingerprintBits) || !all.accept(fingerprintBits, fingerprintBits) {
		t.Error("without a threshold not everything is accepted")
	}
}

// hits draws hits with many ties.
var hits = rapid.Custom(func(t *rapid.T) hit {
	union := rapid.Int32Range(0, 6).Draw(t, "union")
	return hit{
		common: rapid.Int32Range(0, union).Draw(t, "common"), union: union,
		id: rapid.SampledFrom(texts).Draw(t, "id"), smiles: rapid.SampledFrom(texts).Draw(t, "smiles"),
	}
})

// texts are in the order of their code points, which UTF-16 and locales have
// otherwise: U+FF5E sorts after U+1F600 by UTF-16 code unit.
var texts = []string{"", "\x00", " ", "\"", "A", "A ", "AB", "B", "Z", "a", "é", "\u7fff", "\uff5e", "\U0001f600"}

func TestTextsAreComparedByCodePoint(t *testing.T) {
	byCodePoint := func(a, b string) int { return slices.Compare([]rune(a), []rune(b)) }
	if !slices.IsSortedFunc(texts, byCodePoint) || !slices.IsSorted(texts) {
		t.Error("the order of strings is not that of code points")
	}
}

func TestTopKIsThePrefixOfTheSortedList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := order{ascending: rapid.Bool().Draw(t, "ascending")}
		all := rapid.SliceOfN(hits, 0, 60).Draw(t, "hits")
		k := rapid.IntRange(1, 70).Draw(t, "k")
		top := newTopK(o, k)
		for _, h := range all {
			top.offer(h.common, h.union, []byte(h.id), []byte(h.smiles))
			if len(top.heap) > k {
				t.Fatalf("the heap of %d holds %d", k, len(top.heap))
			}
		}
		slices.SortFunc(all, func(a, b hit) int { return slowCompare(a, b, o.ascending) })
		got := top.sorted()
		for i, want := range all[:min(k, len(all))] {
			if i >= len(got) || slowCompare(got[i], want, o.ascending) != 0 {
				t.Fatalf("got %v, want %v", got, all[:min(k, len(all))])
			}
		}
		if len(got) != min(k, len(all)) {
			t.Fatalf("%d hits, want %d", len(got), min(k, len(all)))
		}
	})
}

// slowCompare is the order of hits by rational numbers and code points.
func slowCompare(a, b hit, ascending bool) int {
	ratio := func(h hit) *big.Rat {
		if h.union == 0 {
			return big.NewRat(1, 1)
		}
		return big.NewRat(int64(h.common), int64(h.union))
	}
	c := ratio(b).Cmp(ratio(a))
	if ascending {
		c = -c
	}
	return cmp.Or(c, slices.Compare([]rune(a.id), []rune(b.id)), slices.Compare([]rune(a.smiles), []rune(b.smiles)))
}

func TestOrderIsTotal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := order{ascending: rapid.Bool().Draw(t, "ascending")}
		a, b := hits.Draw(t, "a"), hits.Draw(t, "b")
		want := slowCompare(a, b, o.ascending)
		if got := o.compare(a, b); got != want {
			t.Fatalf("compare(%v, %v) = %d, want %d", a, b, got, want)
		}
		if got := o.before(a.common, a.union, []byte(a.id), []byte(a.smiles), b); got != (want < 0) {
			t.Fatalf("before(%v, %v) = %v, compare %d", a, b, got, want)
		}
	})
}

// molecule is a row that a test draws, before it is written into a table.
type molecule struct{ id, smiles string }

var moleculeGen = rapid.Custom(func(t *rapid.T) molecule {
	return molecule{
		id: rapid.SampledFrom([]string{"", "A", "B", "C", "D", "Q", "é"}).Draw(t, "id"),
		smiles: rapid.SampledFrom([]string{
			"", "0", "1", "0.1", "0.1~", "0.1x", "0.1.2", "0.1.2~", "0.1.2x", "1.2", "2.3", "0.1.2.3", "3.4.5.6", "?", "9999",
		}).Draw(t, "smiles"),
	}
})

func TestWholeSearchAgreesWithTheDefinition(t *testing.T) {
	tt := t
	rapid.Check(t, func(t *rapid.T) {
		table := rapid.SliceOfN(moleculeGen, 1, 30).Draw(t, "table")
		q := definition{
			querySMILES: rapid.SampledFrom([]string{"0.1", "0.1.2", "3.4.5.6"}).Draw(t, "query"),
			topK:        rapid.IntRange(1, 12).Draw(t, "top_k"),
			threshold:   rapid.SampledFrom(append([]string{""}, thresholds...)).Draw(t, "threshold"),
			less:        rapid.Bool().Draw(t, "less"),
			maxRows:     rapid.IntRange(0, 40).Draw(t, "max_rows"),
		}
		if rapid.Bool().Draw(t, "by id") {
			at := rapid.IntRange(0, len(table)).Draw(t, "at")
			table = slices.Insert(table, at, molecule{"Q", q.querySMILES})
			q.querySMILES, q.byID = firstValid(table, "Q"), true
		}
		j := workloadtest.Start(tt, synthetic(), []byte(write(table)), q.parameters(), rapid.Int64Range(1, 35).Draw(t, "rows"))
		o := j.MustReduce(j.ExecuteAll(nil, rapid.IntRange(1, 3).Draw(t, "threads")))
		if want := q.search(table); o.ResultBytes != want {
			t.Fatalf("%s:\n%s\nwant\n%s", q.parameters(), o.ResultBytes, want)
		}
	})
}

func write(table []molecule) string {
	var b strings.Builder
	b.WriteString("chembl_id\tcanonical_smiles\n")
	for _, m := range table {
		b.WriteString(m.id + "\t" + m.smiles + "\n")
	}
	return b.String()
}

func valid(smiles string) bool {
	return listEngine{}.Fingerprint(make([]uint64, fingerprintWords), []byte(smiles)) == nil
}

func firstValid(table []molecule, id string) string {
	i := slices.IndexFunc(table, func(m molecule) bool { return m.id == id && valid(m.smiles) })
	return table[i].smiles
}

// definition is the search as its description says it, with no thought of speed.
type definition struct {
	querySMILES string
	byID        bool
	topK        int
	threshold   string
	less        bool
	maxRows     int
}

func (d definition) parameters() string {
	p := fmt.Sprintf(`{"top_k":%d`, d.topK)
	if d.byID {
		p += `,"query_id":"Q"`
	} else {
		p += `,"query_smiles":"` + d.querySMILES + `"`
	}
	if d.threshold != "" {
		p += `,"threshold":` + d.threshold
	}
	if d.less {
		p += `,"threshold_direction":"less"`
	}
	if d.maxRows > 0 {
		p += `,"max_rows":` + strconv.Itoa(d.maxRows)
	}
	return p + "}"
}

func (d definition) search(table []molecule) string {
	if d.maxRows > 0 {
		table = table[:min(d.maxRows, len(table))]
	}
	var found []hit
	for _, m := range table {
		same, _ := listEngine{}.Same([]byte(m.smiles), []byte(d.querySMILES))
		if !valid(m.smiles) || d.byID && m.id == "Q" || same {
			continue
		}
		h := hit{id: m.id, smiles: m.smiles}
		h.common, h.union = countBits(d.querySMILES, m.smiles)
		if d.satisfies(h) {
			found = append(found, h)
		}
	}
	slices.SortStableFunc(found, func(a, b hit) int { return slowCompare(a, b, d.less) })
	result := "rank,chembl_id,canonical_smiles,similarity\r\n"
	for i, h := range found[:min(d.topK, len(found))] {
		ratio := 1.0
		if h.union > 0 {
			ratio = float64(h.common) / float64(h.union)
		}
		result += fmt.Sprintf("%d,%s,%s,%.6f\r\n", i+1, h.id, h.smiles, ratio)
	}
	return result
}

func (d definition) satisfies(h hit) bool {
	if d.threshold == "" {
		return true
	}
	limit, _ := new(big.Rat).SetString(d.threshold)
	ratio := big.NewRat(1, 1)
	if h.union > 0 {
		ratio.SetFrac64(int64(h.common), int64(h.union))
	}
	if d.less {
		return ratio.Cmp(limit) <= 0
	}
	return ratio.Cmp(limit) >= 0
}

func countBits(a, b string) (common, union int32) {
	set := func(s string) map[string]bool {
		m := map[string]bool{}
		for bit := range strings.SplitSeq(strings.TrimRight(s, "~x"), ".") {
			if bit != "" {
				m[bit] = true
			}
		}
		return m
	}
	bitsA, bitsB := set(a), set(b)
	union = int32(len(bitsA))
	for bit := range bitsB {
		if bitsA[bit] {
			common++
		} else {
			union++
		}
	}
	return common, union
}
