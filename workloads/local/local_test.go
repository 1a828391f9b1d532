package local_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/workloads"
	"scimesh.dev/scimesh/workloads/local"
	"scimesh.dev/scimesh/workloads/similaritysearch"
)

const table = "chembl_id\tcanonical_smiles\nA\tCCO\nB\tCC(\nC\tCCN\nD\tCCC\n"

// request is a search over a table in which one row is rejected.
func request(t *testing.T, in string, out, rejects io.Writer) local.Request {
	t.Helper()
	w := similaritysearch.New()
	parameters, errs := w.Validate(nil, []byte(`{"query_id":"A"}`))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	return local.Request{
		Workload: w, TempDir: t.TempDir(), Threads: 2, Output: out, Rejects: rejects,
		Plan: workloads.PlanRequest{
			Open:       func(context.Context) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(in)), nil },
			Parameters: parameters, Sharding: v1.Sharding{Rows: 1},
		},
	}
}

// mustBeEmpty checks that nothing was left in the temporary folder.
func mustBeEmpty(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) > 0 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

func TestRun(t *testing.T) {
	var out, rejects bytes.Buffer
	req := request(t, table, &out, &rejects)
	var done []int
	req.Progress = func(n, total int) { done = append(done, n, total) }
	req.Order = func(n int) []int { return []int{3, 1, 0, 2}[:n] }
	r, err := local.Run(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	want := "rank,chembl_id,canonical_smiles,similarity\r\n1,D,CCC,0.428571\r\n2,C,CCN,0.333333\r\n"
	if out.String() != want || rejects.String() != "row,chembl_id,reason\r\n2,B,InvalidSMILES\r\n" || r.Rows != 2 || r.RejectRows != 1 {
		t.Errorf("%+v, %q and %q", r, out.String(), rejects.String())
	}
	if !slices.Equal(done, []int{1, 4, 2, 4, 3, 4, 4, 4}) {
		t.Errorf("progress %v", done)
	}
	mustBeEmpty(t, req.TempDir)
}

func TestRunWithoutAPlaceForRejects(t *testing.T) {
	var out bytes.Buffer
	if r, err := local.Run(t.Context(), request(t, table, &out, nil)); err != nil || r.RejectRows != 1 || out.Len() == 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestFailedRunLeavesNothing(t *testing.T) {
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	broken := errors.New("connection reset")
	for name, tc := range map[string]struct {
		ctx    context.Context
		change func(*local.Request)
		want   string
	}{
		"plan":   {t.Context(), func(r *local.Request) { r.Plan.Parameters = []byte(`{"query_id":"Z"}`) }, "QueryNotFound: "},
		"cancel": {cancelled, func(*local.Request) {}, "context canceled"},
		"input": {t.Context(), func(r *local.Request) {
			r.Plan.Open = func(context.Context) (io.ReadCloser, error) { return nil, broken }
		}, "connection reset"},
		"chunks": {t.Context(), func(r *local.Request) {
			r.Plan.Open, r.Plan.Chunks = nil, make([]v1.InputChunk, 1)
			r.Plan.Parameters = []byte(`{"query_smiles":"C","top_k":1,"threshold_direction":"less"}`)
		}, "task 0: its input cannot be opened in this process"},
	} {
		var out, rejects bytes.Buffer
		req := request(t, table, &out, &rejects)
		tc.change(&req)
		if _, err := local.Run(tc.ctx, req); err == nil || !strings.HasPrefix(err.Error(), tc.want) {
			t.Errorf("%s: got %v, want %s", name, err, tc.want)
		}
		if out.Len()+rejects.Len() > 0 {
			t.Errorf("%s: wrote %q and %q", name, out.String(), rejects.String())
		}
		mustBeEmpty(t, req.TempDir)
	}
}

func TestChunks(t *testing.T) {
	var out, rejects bytes.Buffer
	req := request(t, "", &out, &rejects)
	parameters, _ := req.Workload.Validate(nil, []byte(`{"query_smiles":"CCO"}`))
	req.Plan.Open, req.Plan.Parameters = nil, parameters
	req.Plan.Chunks = []v1.InputChunk{{URI: table}, {URI: "chembl_id\tcanonical_smiles\nx\nE\tCO\n"}}
	req.OpenChunk = func(_ context.Context, c v1.InputChunk) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(c.URI)), nil
	}
	r, err := local.Run(t.Context(), req)
	if err != nil || r.Rows != 3 || rejects.String() != "row,chembl_id,reason\r\n2,B,InvalidSMILES\r\n5,x,TooFewColumns\r\n" {
		t.Errorf("%+v, %v, rejects %q", r, err, rejects.String())
	}
}

func TestDir(t *testing.T) {
	dir := t.TempDir()
	d := local.NewDir(dir)
	write := func(text string) workloads.FileWriter {
		w, err := d.Create(t.Context(), "f", "text/plain")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, text); err != nil {
			t.Fatal(err)
		}
		return w
	}
	write("dropped").Abort()
	mustBeEmpty(t, dir)
	w := write("abc")
	file, err := w.Commit()
	w.Abort() // does nothing now
	want := workloads.File{
		Name: "f", ContentType: "text/plain", SizeBytes: 3,
		SHA256: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
	}
	if err != nil || file != want {
		t.Fatalf("%+v, %v; want %+v", file, err, want)
	}
	f, err := d.Open(file.SHA256)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if b, err := io.ReadAll(f); err != nil || string(b) != "abc" {
		t.Errorf("%q, %v", b, err)
	}
	if _, err := d.Open("0" + file.SHA256); !errors.Is(err, os.ErrNotExist) || strings.Contains(err.Error(), dir) {
		t.Errorf("a file that is not there: %v", err)
	}
}
