package similaritysearch

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/workloads"
	"scimesh.dev/scimesh/workloads/shards"
	"scimesh.dev/scimesh/workloads/workloadtest"
)

const header = "chembl_id\tcanonical_smiles\n"

func TestPlan(t *testing.T) {
	in := "x\tcanonical_smiles\tchembl_id\n" + "1\tCC\tA\n" + "2\n" + "3\tCCC\tB\r\n" + "\n" + "4\tCO\tQ\n" + "5\t\xff\tD\xff\n" + "6\tC\tE\n"
	j := workloadtest.Start(t, New(), []byte(in), `{"query_id":"Q","threshold":0.50}`, 2)
	var notes []string
	var shards []string
	for i, task := range j.Plan.Tasks {
		notes = append(notes, string(task.Notes))
		shards = append(shards, string(j.Shard(i)))
	}
	if d := cmp.Diff([]string{
		header + "A\tCC\n", header + "B\tCCC\nQ\tCO\n", header + "E\tC\n",
	}, shards); d != "" {
		t.Errorf("shards:\n%s", d)
	}
	if d := cmp.Diff([]string{
		`{"first_row":1,"rows":1,"span":2}`, `{"first_row":3,"rows":2,"span":2}`, `{"first_row":5,"rows":1,"span":2}`,
	}, notes); d != "" {
		t.Errorf("notes:\n%s", d)
	}
	want := `{"query_id":"Q","query_smiles":"CO","top_k":20,"threshold":"0.5","threshold_direction":"greater"}`
	if string(j.Plan.Shared) != want || j.Plan.RowsRead != 6 {
		t.Errorf("%d rows, shared %s; want %s", j.Plan.RowsRead, j.Plan.Shared, want)
	}
	o := j.MustReduce(j.ExecuteAll(nil, 1))
	if want := "row,chembl_id,reason\r\n2,,TooFewColumns\r\n5,D\ufffd,InvalidUTF8\r\n"; o.RejectBytes != want {
		t.Errorf("rejects %q, want %q", o.RejectBytes, want)
	}
	wantLedger := v1.Ledger{
		RowsRead: 6, Scored: 3,
		Excluded: map[string]int64{"QueryMolecule": 1},
		Rejected: map[string]int64{"TooFewColumns": 1, "InvalidUTF8": 1},
	}
	if d := cmp.Diff(wantLedger, o.Ledger); d != "" {
		t.Errorf("ledger:\n%s", d)
	}
}

func TestSpanOfRejectsAlone(t *testing.T) {
	j := workloadtest.Start(t, New(), []byte(header+"x\ny\nA\tC\n"), `{"query_smiles":"CO"}`, 2)
	if got := string(j.Shard(0)); got != header || len(j.Plan.Tasks) != 2 {
		t.Errorf("%d tasks, the first of %q", len(j.Plan.Tasks), got)
	}
	o := j.MustReduce(j.ExecuteAll(nil, 2))
	if o.Rows != 1 || o.RejectRows != 2 || o.RejectBytes != "row,chembl_id,reason\r\n1,x,TooFewColumns\r\n2,y,TooFewColumns\r\n" {
		t.Errorf("%+v", o)
	}
}

func TestMaxRows(t *testing.T) {
	in := header + "A\tCC\nx\nB\tCCC\nQ\tCO\nC\tCCCC\n"
	for rows, want := range map[int]v1.Ledger{
		1: {RowsRead: 1, Scored: 1},
		2: {RowsRead: 2, Scored: 1, Rejected: map[string]int64{"TooFewColumns": 1}},
		4: {RowsRead: 4, Scored: 2, Rejected: map[string]int64{"TooFewColumns": 1}, Excluded: map[string]int64{"QueryMolecule": 1}},
		9: {RowsRead: 5, Scored: 3, Rejected: map[string]int64{"TooFewColumns": 1}, Excluded: map[string]int64{"QueryMolecule": 1}},
	} {
		for _, shard := range []int64{1, 2, 100} {
			j := workloadtest.Start(t, New(), []byte(in), fmt.Sprintf(`{"query_id":"Q","max_rows":%d}`, rows), shard)
			o := j.MustReduce(j.ExecuteAll(nil, 1))
			if d := cmp.Diff(fill(want), o.Ledger); d != "" {
				t.Errorf("max_rows %d in shards of %d:\n%s", rows, shard, d)
			}
		}
	}
}

// fill puts empty maps where there are none.
func fill(l v1.Ledger) v1.Ledger {
	full := shards.NewLedger()
	shards.AddLedger(&full, l)
	return full
}

// gzipped returns a compressed table of many rows.
func gzipped(rows int) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = io.WriteString(w, header)
	for i := range rows {
		_, _ = fmt.Fprintf(w, "M%d\t%sO%s\n", i, strings.Repeat("C", i%37), strings.Repeat("C", i%11))
	}
	_ = w.Close()
	return b.Bytes()
}

func TestPlanRefuses(t *testing.T) {
	gz := gzipped(10000)
	for name, tc := range map[string]struct {
		in, parameters, reason, message string
	}{
		"empty input":        {"", `{"query_smiles":"C"}`, "InputInvalid", "the input is empty; expected a header line"},
		"header only":        {header + "\n\n", `{"query_smiles":"C"}`, "InputInvalid", "the input has a header but no rows"},
		"header only, by id": {header, `{"query_id":"A"}`, "InputInvalid", "the input has a header but no rows"},
		"wrong columns":      {"cid,structure\nA,C\n", `{"query_smiles":"C"}`, "InputInvalid", `columns found: "cid", "structure"`},
		"id not found":       {header + "A\tC\n", `{"query_id":"a"}`, "QueryNotFound", `query_id "a": no row of the input has this id`},
		"id of a bad molecule": {header + "B\tC\nA\tC(C\nA\t!\n", `{"query_id":"A"}`, "QueryInvalid",
			"query_id \"A\": row 2 has this id but cannot be used: its SMILES: SMILES syntax: branch is never closed at byte 1\n    C(C\n     ^"},
		"id of a bad row": {header + "A\nA\tC\xff\n", `{"query_id":"A"}`, "QueryInvalid",
			`query_id "A": row 1 has this id but cannot be used: TooFewColumns`},
		"id of a SMILES with NUL": {header + "A\tC\x00\n", `{"query_id":"A"}`, "QueryInvalid", "its SMILES: must not contain NUL"},
		"cut off gzip":            {string(gz[:len(gz)/2]), `{"query_smiles":"C"}`, "InputCorrupt", fmt.Sprintf("ends too early, at byte %d", len(gz)/2)},
		"cut off, query found":    {string(gz[:len(gz)-3]), `{"query_id":"M1"}`, "InputCorrupt", fmt.Sprintf("ends too early, at byte %d", len(gz)-3)},
		"too many tasks": {header + strings.Repeat("A\tC\n", shards.MaxTasks+1), `{"query_smiles":"C"}`, "InvalidParameters",
			"sharding.rows of 1 makes more than 100000 tasks"},
	} {
		t.Run(name, func(t *testing.T) {
			files := &countingFiles{}
			j := workloadtest.Prepare(t, New(), []byte(tc.in), tc.parameters, 1)
			j.Request.Files = files
			_, err := New().Plan(t.Context(), j.Request)
			var e *workloads.Error
			if !errors.As(err, &e) || e.Reason != tc.reason || !strings.Contains(e.Message, tc.message) {
				t.Errorf("got %v; want %s: %s", err, tc.reason, tc.message)
			}
			if files.open != 0 {
				t.Errorf("%d files are neither committed nor aborted", files.open)
			}
		})
	}
}

// countingFiles drops what is written and counts files that were not closed.
type countingFiles struct{ open int }

type countedFile struct {
	*countingFiles
	closed bool
}

func (c *countingFiles) Create(context.Context, string, string) (workloads.FileWriter, error) {
	c.open++
	return &countedFile{countingFiles: c}, nil
}

func (f *countedFile) Write(p []byte) (int, error) { return len(p), nil }

func (f *countedFile) Commit() (workloads.File, error) {
	f.Abort()
	return workloads.File{}, nil
}

func (f *countedFile) Abort() {
	if !f.closed {
		f.closed = true
		f.open--
	}
}

func TestQueryIsTheFirstValidRowOfTheWholeInput(t *testing.T) {
	in := header + "A\tCC\nQ\tC(\nQ\nB\tCCC\nQ\tCO\nQ\tCN\n"
	j := workloadtest.Start(t, New(), []byte(in), `{"query_id":"Q","max_rows":1}`, 10)
	if !strings.Contains(string(j.Plan.Shared), `"query_smiles":"CO"`) || j.Plan.RowsRead != 1 {
		t.Errorf("%d rows, %s", j.Plan.RowsRead, j.Plan.Shared)
	}
}

func TestPlanTellsProgress(t *testing.T) {
	in := gzipped(20000)
	j := workloadtest.Prepare(t, New(), in, `{"query_smiles":"CCO"}`, 5000)
	var last int64
	calls := 0
	j.Request.Progress = func(n int64) {
		if n < last || n > int64(len(in)) {
			t.Errorf("%d bytes after %d of %d", n, last, len(in))
		}
		last = n
		calls++
	}
	if _, err := New().Plan(t.Context(), j.Request); err != nil {
		t.Fatal(err)
	}
	if last != int64(len(in)) || calls < 10 {
		t.Errorf("%d calls, the last at %d of %d bytes", calls, last, len(in))
	}
}

func TestChunks(t *testing.T) {
	w := New()
	j := workloadtest.Prepare(t, w, nil, `{"query_smiles":"CO","top_k":3}`, 1)
	j.Request.Open = nil
	j.Request.Chunks = make([]v1.InputChunk, 3)
	plan, err := w.Plan(t.Context(), j.Request)
	if err != nil || len(plan.Tasks) != 3 || plan.RowsRead != -1 || plan.Rejects != nil {
		t.Fatalf("%+v, %v", plan, err)
	}
	j.Plan = plan
	var partials [][]byte
	for _, in := range []string{header + "A\tCC\nx\nB\tCCO\n", header, string(gzipped(10))} {
		var out bytes.Buffer
		if _, err := w.Execute(t.Context(), workloads.TaskRequest{Input: strings.NewReader(in), Parameters: plan.Shared, Output: &out, Threads: 2}); err != nil {
			t.Fatal(err)
		}
		partials = append(partials, out.Bytes())
	}
	o := j.MustReduce(partials)
	if o.Ledger.RowsRead != 13 || o.Rows != 3 || o.RejectBytes != "row,chembl_id,reason\r\n2,x,TooFewColumns\r\n" {
		t.Errorf("%+v", o)
	}
	for _, parameters := range []string{`{"query_id":"A"}`, `{"query_smiles":"C","max_rows":5}`} {
		bad := workloadtest.Prepare(t, w, nil, parameters, 1).Request
		bad.Open, bad.Chunks = nil, j.Request.Chunks
		var e *workloads.Error
		if _, err := w.Plan(t.Context(), bad); !errors.As(err, &e) || e.Reason != workloads.ReasonInvalidParameters {
			t.Errorf("%s: got %v", parameters, err)
		}
	}
}

func TestDamagedChunkIsTheUsersFault(t *testing.T) {
	gz := gzipped(1000)
	shared := []byte(`{"query_smiles":"CO","top_k":3,"threshold_direction":"greater"}`)
	for _, threads := range []int{1, 3} {
		_, err := New().Execute(t.Context(), workloads.TaskRequest{
			Input: bytes.NewReader(gz[:len(gz)-1]), Parameters: shared, Output: io.Discard, Threads: threads,
		})
		var e *workloads.Error
		if !errors.As(err, &e) || e.Reason != workloads.ReasonInputCorrupt {
			t.Errorf("got %v", err)
		}
	}
}
