package similaritygraph

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/chem"
	"scimesh.dev/scimesh/chem/fps"
	"scimesh.dev/scimesh/chem/tanimoto"
	"scimesh.dev/scimesh/workloads"
	"scimesh.dev/scimesh/workloads/blocks"
	"scimesh.dev/scimesh/workloads/csvfile"
	"scimesh.dev/scimesh/workloads/shards"
	"scimesh.dev/scimesh/workloads/workloadtest"
)

// fragments make molecules that share much.
var fragments = []string{"C", "CC", "O", "N", "c1ccccc1", "C(=O)O", "C1CCNCC1", "Cl", "c1ccncc1", "S(=O)(=O)N", "F", "C#N"}

// someMolecules makes a table of n molecules and some rows that are none.
func someMolecules(n int) (table string, ids, smiles []string) {
	random := rand.New(rand.NewPCG(5, 6))
	var b strings.Builder
	b.WriteString("chembl_id\tcanonical_smiles\n")
	for i := range n {
		s := "C"
		for range 1 + random.IntN(5) {
			s += fragments[random.IntN(len(fragments))]
		}
		id := fmt.Sprintf("M%d", random.IntN(9)*10_000+i)
		e := chem.New(chem.Options{})
		if e.Fingerprint(make([]uint64, e.Words()), []byte(s)) == nil {
			ids, smiles = append(ids, id), append(smiles, s)
		}
		fmt.Fprintf(&b, "%s\t%s\n", id, s)
		if i%10 == 3 {
			fmt.Fprintf(&b, "%s\tnot SMILES\n", id)
		}
	}
	return b.String(), ids, smiles
}

// bruteForce compares all pairs one by one.
func bruteForce(ids, smiles []string, threshold string, less bool) string {
	e := chem.New(chem.Options{})
	bits := make([][]uint64, len(smiles))
	for i, s := range smiles {
		bits[i] = make([]uint64, e.Words())
		if err := e.Fingerprint(bits[i], []byte(s)); err != nil {
			panic(err)
		}
	}
	type line struct{ a, b, text string }
	var lines []line
	limit := tanimoto.MustThreshold(threshold)
	for i := range ids {
		for j := i + 1; j < len(ids); j++ {
			var s tanimoto.Score
			for w := range bits[i] {
				s.Common += int32(popcount(bits[i][w] & bits[j][w]))
				s.Union += int32(popcount(bits[i][w] | bits[j][w]))
			}
			if c := limit.Compare(s); c == 0 || c > 0 != less {
				lines = append(lines, line{ids[i], ids[j], fmt.Sprintf("%.6f", s.Float64())})
			}
		}
	}
	slices.SortFunc(lines, func(x, y line) int { return cmp.Or(strings.Compare(x.a, y.a), strings.Compare(x.b, y.b)) })
	out := csvfile.AppendRecord(nil, "source_id", "target_id", "similarity")
	for _, l := range lines {
		out = csvfile.AppendRecord(out, l.a, l.b, l.text)
	}
	return string(out)
}

func popcount(w uint64) (n int) {
	for ; w != 0; w &= w - 1 {
		n++
	}
	return n
}

func TestEveryPairIsComparedOnceWhateverTheBlocks(t *testing.T) {
	table, ids, smiles := someMolecules(70)
	for _, threshold := range []string{"0", "0.35", "0.7", "1"} {
		for _, direction := range []string{directionGreater, directionLess} {
			want := bruteForce(ids, smiles, threshold, direction == directionLess)
			for _, size := range []int{1, 7, 30, 1000} {
				if size == 1 && (threshold != "0.35" || direction == directionLess) {
					continue // three thousand tasks: once is enough
				}
				parameters := fmt.Sprintf(`{"threshold":%q,"threshold_direction":%q,"block_size":%d}`, threshold, direction, size)
				j := workloadtest.Start(t, New(Options{}), []byte(table), parameters, 10)
				o := j.MustReduce(j.ExecuteAll(nil, 2))
				if o.ResultBytes != want {
					t.Errorf("%s: %d lines, want %d", parameters, strings.Count(o.ResultBytes, "\n"), strings.Count(want, "\n"))
				}
				n := int64(len(ids))
				if l := o.Ledger; l.Scored != n || l.PairsChecked != n*(n-1)/2 || o.Rows != int64(strings.Count(want, "\n"))-1 {
					t.Errorf("%s: %d rows, ledger %+v", parameters, o.Rows, l)
				}
			}
		}
	}
}

func wantReason(t *testing.T, err error, reason string, texts ...string) {
	t.Helper()
	var e *workloads.Error
	if !errors.As(err, &e) || e.Reason != reason {
		t.Errorf("got %v, want %s", err, reason)
		return
	}
	for _, text := range texts {
		if !strings.Contains(e.Message, text) {
			t.Errorf("%q does not say %q", e.Message, text)
		}
	}
}

func TestIdsThatDoNotNameAMoleculeFailTheJob(t *testing.T) {
	header := "chembl_id\tcanonical_smiles\n"
	for _, size := range []int{1, 2, 100} {
		parameters := fmt.Sprintf(`{"block_size":%d}`, size)
		extend := func(table string) error {
			j := workloadtest.Start(t, New(Options{}), []byte(header+table), parameters, 10)
			var partials [][]byte
			for i := range j.Plan.Tasks {
				partials = append(partials, j.Execute(i, 1))
			}
			return j.Extend(partials)
		}
		wantReason(t, extend("A\tC\nshort\nB\tCC\nX\tC1\nA\tCCC\nC\tC\n"), ReasonDuplicateID, `"A"`, "rows 1 and 5")
		wantReason(t, extend("A\tC\nshort\nX\tC1\n\tCC\nB\tC\n"), ReasonEmptyID, "row 4")
		if err := extend("A\tC\nA\tC1\n\tC1\nB\tCC\n"); err != nil {
			t.Errorf("ids of rows that are no molecules: %v", err)
		}
	}
}

func TestMoreEdgesThanAllowedAreRefusedBeforeTheyAreComputed(t *testing.T) {
	table, ids, _ := someMolecules(120)
	n := int64(len(ids))
	all := n * (n - 1) / 2
	parameters := `{"threshold":0,"block_size":40}`
	j := workloadtest.Prepare(t, New(Options{MaxEdges: all - 1}), []byte(table), parameters, 10)
	_, err := New(Options{MaxEdges: all - 1}).Plan(t.Context(), j.Request)
	wantReason(t, err, ReasonTooManyEdges, fmt.Sprint(all), fmt.Sprint(all-1))
	plan, err := New(Options{MaxEdges: all}).Plan(t.Context(), j.Request)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"4 blocks", "10 pairs of blocks", fmt.Sprintf("%d pairs of molecules", all), fmt.Sprintf("about %d edges", all)} {
		if !strings.Contains(plan.Summary, text) {
			t.Errorf("%q does not say %q", plan.Summary, text)
		}
	}
	// A task that has more by itself ends, whatever the estimate was.
	k := workloadtest.Start(t, New(Options{}), []byte(table), parameters, 10)
	var partials [][]byte
	for i := range k.Plan.Tasks {
		partials = append(partials, k.Execute(i, 1))
	}
	if err := k.Extend(partials); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	req := k.TaskRequest(len(partials), 1, &out)
	req.Parameters = json.RawMessage(strings.Replace(string(req.Parameters), `"max_edges":200000000`, `"max_edges":100`, 1))
	_, err = New(Options{}).Execute(t.Context(), req)
	wantReason(t, err, ReasonTooManyEdges, "100")
}

func TestBlocksWithTooManyPairsAreRefused(t *testing.T) {
	table := "chembl_id\tcanonical_smiles\n" + strings.Repeat("A\tC\n", 500)
	j := workloadtest.Prepare(t, New(Options{}), []byte(table), `{"block_size":1}`, 10)
	_, err := New(Options{}).Plan(t.Context(), j.Request)
	wantReason(t, err, workloads.ReasonInvalidParameters, "block_size")
}

func TestAnInputOfChunksIsAGraphOfAllOfThem(t *testing.T) {
	table, ids, smiles := someMolecules(60)
	lines := strings.SplitAfter(table, "\n")
	cut := len(lines) / 3
	whole := workloadtest.Start(t, New(Options{}), []byte(table), `{"threshold":"0.35"}`, 100)
	w := New(Options{})
	plan, err := w.Plan(t.Context(), workloads.PlanRequest{Parameters: whole.Request.Parameters, Chunks: make([]v1.InputChunk, 2)})
	if err != nil || len(plan.Tasks) != 2 || !plan.More {
		t.Fatalf("%+v, %v", plan, err)
	}
	whole.Plan = plan
	var blocks [][]byte
	for _, chunk := range []string{strings.Join(lines[:cut], ""), lines[0] + strings.Join(lines[cut:], "")} {
		var out bytes.Buffer
		req := workloads.TaskRequest{Input: strings.NewReader(chunk), Parameters: plan.Shared, Output: &out, Threads: 1}
		if _, err := w.Execute(t.Context(), req); err != nil {
			t.Fatal(err)
		}
		blocks = append(blocks, out.Bytes())
	}
	if err := whole.Extend(blocks); err != nil {
		t.Fatal(err)
	}
	for i := len(blocks); i < len(whole.Plan.Tasks); i++ {
		blocks = append(blocks, whole.Execute(i, 1))
	}
	if o := whole.MustReduce(blocks); o.ResultBytes != bruteForce(ids, smiles, "0.35", false) {
		t.Error("the graph of the chunks differs from that of the whole")
	}
}

func TestFingerprintsMakeTheGraphOfTheirMolecules(t *testing.T) {
	_, ids, smiles := someMolecules(50)
	e := chem.New(chem.Options{})
	bits := make([]uint64, e.Words())
	input := fps.Header{Bits: blocks.Bits, Type: blocks.Type.String()}.Append(nil)
	for i, s := range smiles {
		if err := e.Fingerprint(bits, []byte(s)); err != nil {
			t.Fatal(err)
		}
		input = fps.AppendRecord(input, bits, blocks.Bits, []byte(ids[i]))
	}
	j := workloadtest.Start(t, New(Options{}), input, `{"threshold":"0.35"}`, 20)
	if o := j.MustReduce(j.ExecuteAll(nil, 1)); o.ResultBytes != bruteForce(ids, smiles, "0.35", false) {
		t.Error("the graph of the fingerprints differs from that of the molecules")
	}
	other := fps.Header{Bits: blocks.Bits, Type: fps.Type{Radius: 3, Bits: blocks.Bits}.String()}.Append(nil)
	k := workloadtest.Prepare(t, New(Options{}), append(other, input[bytes.LastIndexByte(input[:len(input)-1], '\n')+1:]...), `{}`, 20)
	_, err := New(Options{}).Plan(t.Context(), k.Request)
	wantReason(t, err, shards.ReasonFingerprintTypeMismatch)
}

func TestParameters(t *testing.T) {
	w := New(Options{})
	for raw, want := range map[string]string{
		`{}`:                    `{"threshold":"0.7","threshold_direction":"greater"}`,
		`{"threshold":7e-1}`:    `{"threshold":"0.7","threshold_direction":"greater"}`,
		`{"threshold":"0.350"}`: `{"threshold":"0.35","threshold_direction":"greater"}`,
		`{"block_size":10,"max_rows":5,"threshold_direction":"less"}`: `{"threshold":"0.7","threshold_direction":"less","block_size":10,"max_rows":5}`,
	} {
		got, errs := w.Validate(field.NewPath("p"), json.RawMessage(raw))
		if len(errs) > 0 || string(got) != want {
			t.Errorf("%s became %s, %v; want %s", raw, got, errs, want)
		}
	}
	for raw, path := range map[string]string{
		`{"threshold":1.5}`: "p.threshold", `{"threshold":"x"}`: "p.threshold", `{"threshold":[]}`: "p.threshold",
		`{"threshold_direction":"up"}`: "p.threshold_direction", `{"block_size":0}`: "p.block_size",
		`{"block_size":1000001}`: "p.block_size", `{"max_rows":0}`: "p.max_rows", `{"tresh":1}`: "p.tresh",
	} {
		if _, errs := w.Validate(field.NewPath("p"), json.RawMessage(raw)); len(errs) != 1 || errs[0].Field != path {
			t.Errorf("%s: %v, want a fault of %s", raw, errs, path)
		}
	}
}
