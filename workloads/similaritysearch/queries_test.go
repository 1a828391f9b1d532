package similaritysearch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"scimesh.dev/scimesh/workloads"
	"scimesh.dev/scimesh/workloads/workloadtest"
)

// manyOf are n queries of few bits, so that there are ties and equal molecules.
func manyOf(rng *rand.Rand, n int) (ids, smiles []string, list string) {
	for i := range n {
		ids = append(ids, fmt.Sprintf("Q%d", i))
		smiles = append(smiles, someBits(rng))
		list += fmt.Sprintf(`,{"id":"Q%d","smiles":%q}`, i, smiles[i])
	}
	return ids, smiles, "[" + list[1:] + "]"
}

func someBits(rng *rand.Rand) string {
	var bits []string
	for bit := range 9 {
		if rng.IntN(2) == 0 {
			bits = append(bits, fmt.Sprint(bit*227))
		}
	}
	return strings.Join(append(bits, "100"), ".") + []string{"", "x", "~"}[rng.IntN(3)]
}

// Many queries find what each of them finds alone.
func TestManyQueriesAreThoseOfEachAlone(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var in strings.Builder
	in.WriteString(header)
	for i := range 400 {
		smiles := someBits(rng)
		if i%90 == 0 {
			smiles = "!"
		}
		fmt.Fprintf(&in, "M%d\t%s\n", i%300, smiles)
	}
	for i, options := range []string{
		`"top_k":5`, `"top_k":3,"threshold_direction":"less"`, `"top_k":1000`, `"top_k":7,"threshold":"0.5"`,
		`"top_k":40,"threshold":0.25,"threshold_direction":"less"`, `"top_k":5,"measure":"dice","threshold":0.6`,
		`"top_k":5,"measure":"cosine"`, `"top_k":6,"measure":"tversky","alpha":0.9,"beta":0.2,"threshold":0.4`,
	} {
		for _, n := range []int{2, 11} { // without and with an index
			ids, smiles, list := manyOf(rng, n)
			want := "query_id,rank,chembl_id,canonical_smiles,similarity\r\n"
			for q := range n {
				j := workloadtest.Start(t, synthetic(), []byte(in.String()), fmt.Sprintf(`{"query_smiles":%q,%s}`, smiles[q], options), 1000)
				for _, line := range strings.SplitAfter(j.MustReduce(j.ExecuteAll(nil, 1)).ResultBytes, "\r\n")[1:] {
					if line != "" {
						want += ids[q] + "," + line
					}
				}
			}
			parameters := fmt.Sprintf(`{"queries":%s,%s}`, list, options)
			j := workloadtest.Start(t, synthetic(), []byte(in.String()), parameters, []int64{1000, 37, 150}[i%3])
			o := j.MustReduce(j.ExecuteAll(nil, 1+i%3))
			if o.ResultBytes != want {
				t.Errorf("%s of %d queries: got\n%s\nwant\n%s", options, n, o.ResultBytes, want)
			}
			if o.Ledger.RowsRead != 400 || o.Ledger.Rejected["InvalidSMILES"] != 5 || o.Ledger.Scored != 395 || len(o.Ledger.Excluded) > 0 {
				t.Errorf("ledger %+v", o.Ledger)
			}
		}
	}
}

// A query's own rows are left out by id and by structure, however many there are.
func TestOwnRowsOfManyQueries(t *testing.T) {
	var in strings.Builder
	in.WriteString(header + "Q1\t7\n")
	for i := range 100 {
		fmt.Fprintf(&in, "A%03d\t1.2.3%s\n", i, strings.Repeat("~", i%4))
	}
	in.WriteString("B\t1.2.3x\nC\t1.2\n")
	var list []string
	for i := range indexedFrom + 1 {
		list = append(list, fmt.Sprintf(`{"id":"Q%d","smiles":"1.2.3"}`, i))
	}
	for _, n := range []int{2, indexedFrom + 1} {
		j := workloadtest.Start(t, synthetic(), []byte(in.String()), `{"queries":[`+strings.Join(list[:n], ",")+`],"top_k":3}`, 60)
		o := j.MustReduce(j.ExecuteAll(nil, 2))
		want := "query_id,rank,chembl_id,canonical_smiles,similarity\r\n"
		for i := range n {
			want += fmt.Sprintf("Q%d,1,B,1.2.3x,1.000000\r\nQ%d,2,C,1.2,0.666667\r\n", i, i)
			if i != 1 {
				want += fmt.Sprintf("Q%d,3,Q1,7,0.000000\r\n", i)
			}
		}
		if o.ResultBytes != want {
			t.Errorf("%d queries:\n%s\nwant\n%s", n, o.ResultBytes, want)
		}
	}
}

func TestManyQueriesConformance(t *testing.T) {
	workloadtest.Run(t, workloadtest.Config{
		Workload: New(), Input: []byte(molecules), Rows: []int64{100, 3},
		Parameters: `{"queries":[{"id":"CHEMBL25","smiles":"CC(=O)Oc1ccccc1C(=O)O"},{"id":"phenol","smiles":"Oc1ccccc1"}],"top_k":3}`,
	})
}

// planWith plans with a file of queries.
func planWith(t *testing.T, in, file, options string) (workloads.Plan, error) {
	t.Helper()
	j := workloadtest.Prepare(t, New(), []byte(in), `{"queries":{"sha256":"`+strings.Repeat("a", 64)+`"}`+options+`}`, 100)
	j.Request.OpenFile = func(_ context.Context, sha256 string) (io.ReadCloser, error) {
		if sha256 != strings.Repeat("a", 64) {
			return nil, errors.New("another file")
		}
		return io.NopCloser(strings.NewReader(file)), nil
	}
	return New().Plan(t.Context(), j.Request)
}

func TestFilesOfQueries(t *testing.T) {
	const list = `{"id":"A","smiles":"CCO"},{"id":"B","smiles":"CN"}`
	for name, file := range map[string]string{
		"TSV": "smiles\tid\nCCO\tA\nCN\tB\n", "CSV": "id,smiles\nA,CCO\nB,CN\n", "SMI": "CCO A\nCN B\n", "gzip": "CCO A\nCN B",
	} {
		plan, err := planWith(t, header+"X\tCCN\n", file, "")
		if err != nil || !strings.HasPrefix(string(plan.Shared), `{"queries":[`+list+`],`) {
			t.Errorf("%s: %s, %v", name, plan.Shared, err)
		}
	}
	plan, err := planWith(t, as("tsv", defaultType), as("fps", defaultType), "")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if _, err := New().Execute(t.Context(), workloads.TaskRequest{Input: strings.NewReader(as("tsv", defaultType)), Parameters: plan.Shared, Output: &out}); err != nil {
		t.Fatal(err)
	}
	// Fingerprints have no structure: what spells the same molecule is left out by its id alone.
	if !strings.Contains(out.String(), "hit,1,CHEMBL424,O=C(O)c1ccccc1O,13,29,") || strings.Contains(out.String(), "hit,1,CHEMBL25,") {
		t.Errorf("got %s", out.String())
	}
}

func TestFilesOfQueriesRefused(t *testing.T) {
	var many, long strings.Builder
	for i := range maxQueries + 1 {
		fmt.Fprintf(&many, "C %d\n", i)
	}
	for i := range 1000 {
		fmt.Fprintf(&long, "%s %d\n", strings.Repeat("C", 4000), i)
	}
	for name, tc := range map[string]struct{ file, options, want string }{
		"a bad molecule":    {"C A\nC(C B\n", "", `QueryInvalid: queries: row 2 ("B"): its SMILES: SMILES syntax`},
		"an id twice":       {"C A\nCC A\n", "", `QueryInvalid: queries: row 2 ("A"): its id: another query has this id`},
		"no id":             {"C\n", "", `row 1 (""): its id: must not be empty`},
		"a rejected row":    {"id,smiles\nA\n", "", "row 1 (\"A\"): TooFewColumns"},
		"none":              {"id,smiles\n", "", "queries: there are no queries"},
		"too many":          {many.String(), "", "queries: there are more than 10000"},
		"too many hits":     {"C A\nCC B\n", `,"top_k":600000`, "2 queries with a top_k of 600000 are more than 1000000 hits"},
		"too long":          {long.String(), "", "they take"},
		"another type":      {"#FPS1\n#num_bits=64\n#type=RDKit-Morgan/1 fpSize=64\n", "", "FingerprintTypeMismatch: queries: "},
		"nothing of a file": {"", "", "InputInvalid: queries: the input is empty"},
	} {
		if _, err := planWith(t, header+"X\tCCN\n", tc.file, tc.options); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %s", name, err, tc.want)
		}
	}
}

func TestQueriesAreValidated(t *testing.T) {
	for raw, want := range map[string]string{
		`{"queries":[{"id":"A","smiles":"C"}]}`:                    `{"queries":[{"id":"A","smiles":"C"}],"top_k":20,"threshold_direction":"greater"}`,
		`{"queries":{"sha256":"` + strings.Repeat("0", 64) + `"}}`: `{"queries":{"sha256":"` + strings.Repeat("0", 64) + `"},"top_k":20,`,
		`{"queries":[{"id":"A","smiles":"C"}],"query_id":"B"}`:     "spec.parameters.queries: Forbidden: must not be set together with",
		`{"queries":[]}`: "spec.parameters.queries: Forbidden: there are no queries",
		`{"queries":[{"id":"A","smiles":"C","x":1}]}`:                    "spec.parameters.queries[0].x: Forbidden: unknown field",
		`{"queries":[{"id":"A","smiles":"C"},{"id":"A","smiles":"CC"}]}`: `spec.parameters.queries[1].id: Invalid value: "A": another query has this id`,
		`{"queries":[{"id":"A","smiles":"C(C"}]}`:                        "spec.parameters.queries[0].smiles: Invalid value",
		`{"queries":[{"smiles":"C"}]}`:                                   "spec.parameters.queries[0].id: Required value",
		`{"queries":[{"id":"A"}]}`:                                       "spec.parameters.queries[0].smiles: Required value",
		`{"queries":["C"]}`:                                              "spec.parameters.queries[0]: Invalid value: must be an object",
		`{"queries":{"path":"q.smi"}}`:                                   "spec.parameters.queries.path: Forbidden: only the command line",
		`{"queries":{"sha256":"x"}}`:                                     "spec.parameters.queries.sha256: Invalid value",
		`{"queries":{}}`:                                                 "spec.parameters.queries.sha256: Required value",
		`{"queries":5}`:                                                  "spec.parameters.queries: Invalid value: must be an object",
		`{"queries":[{"id":"A","smiles":"C"},{"id":"B","smiles":"C"}],"top_k":1000000}`: "spec.parameters.queries: Forbidden: 2 queries with a top_k",
	} {
		got, errs := New().Validate(path, json.RawMessage(raw))
		text := string(got)
		if len(errs) > 0 {
			text = errs[0].Error()
		}
		if !strings.HasPrefix(text, want) {
			t.Errorf("%s:\ngot  %s\nwant %s", raw, text, want)
		}
	}
}

// A partial result of many queries is checked like one of a single query.
func TestPartialsOfManyQueriesAreChecked(t *testing.T) {
	shared := `{"queries":[{"id":"A","smiles":"C"},{"id":"B","smiles":"CC"}],"top_k":2,"threshold_direction":"greater"}`
	const hit1, hit2 = "hit,1,X,C,1,2,\r\n", "hit,2,X,C,1,2,\r\n"
	ok := counts("read", 3, "scored", 3)
	for body, want := range map[string]string{
		hit1 + hit1 + hit2: "", hit2: "", "": "", hit1 + hit2 + hit2: "",
		hit2 + hit1:                 "hit 2 is of no query, or out of order",
		"hit,,X,C,1,2,\r\n":         "hit 1 is of no query, or out of order",
		"hit,3,X,C,1,2,\r\n":        "hit 1 is of no query, or out of order",
		hit1 + hit1 + hit1:          "more than 2 hits",
		"hit,2,B,C,1,2,\r\n":        "hit 1 is the query",
		"hit,1,X,C,1,3,\r\n" + hit1: "hit 2 is out of order",
		hit1 + "hit,2,X,C,3,2,\r\n": "hit 1 is malformed",
	} {
		err := readPartial(t, partialTop+body+ok, shared)
		if got := fmt.Sprint(err); want == "" && err != nil || want != "" && !strings.Contains(got, want) {
			t.Errorf("%q: %v, want %q", body, err, want)
		}
	}
}

// Cancellation ends the search of a block, which takes long, within a second.
func TestManyQueriesStopWhenTheContextEnds(t *testing.T) {
	var in strings.Builder
	in.WriteString(header)
	for i := range blockRows {
		fmt.Fprintf(&in, "M%d\t%d.%d.%d\n", i, i%2000, i%1999, i%1997)
	}
	var list []string
	for i := range 5000 {
		list = append(list, fmt.Sprintf(`{"id":"Q%d","smiles":"%d.3.4"}`, i, i%2000))
	}
	parameters := `{"queries":[` + strings.Join(list, ",") + `],"top_k":20,"threshold_direction":"greater","measure":"cosine"}`
	ctx, cancel := context.WithCancel(t.Context())
	begun := make(chan struct{})
	done := make(chan error, 1)
	go func() {
		_, err := synthetic().Execute(ctx, workloads.TaskRequest{
			Input: strings.NewReader(in.String()), InputSize: int64(in.Len()), Parameters: []byte(parameters), Output: io.Discard, Threads: 2,
			Progress: func(share float64) {
				if share > 0.9 {
					select {
					case <-begun:
					default:
						close(begun)
					}
				}
			},
		})
		done <- err
	}()
	<-begun
	cancel()
	select {
	case err := <-done:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	case <-time.After(20 * time.Second):
		t.Error("it goes on")
	}
}
