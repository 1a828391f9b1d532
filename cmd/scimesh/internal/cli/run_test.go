package cli

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRun runs jobs without any coordinator.
func TestRun(t *testing.T) {
	c := newCaller(t, "http://127.0.0.1:1")
	dir := t.TempDir()
	write(t, dir, "molecules.tsv", molecules(40))
	write(t, dir, "header.tsv", "chembl_id\tcanonical_smiles\n")
	write(t, dir, "clean.tsv", "chembl_id\tcanonical_smiles\nA\tCCO\n")
	file := write(t, dir, "job.yaml", manifestOf("job"))
	out, rejects := filepath.Join(dir, "out.csv"), filepath.Join(dir, "rejects.csv")

	r := c.run("run", "-f", file, "-o", out, "--rejects", rejects, "-v", "--threads", "2")
	if r.code != ExitOK || r.out != "" || !strings.Contains(r.err, "job/job completed: 5 rows; read 40, scored 31, excluded 5, rejected 4\n") {
		t.Fatalf("%+v", r)
	}
	if !strings.Contains(r.err, "4/4 tasks") || !strings.Contains(r.err, "row 10 rejected") {
		t.Errorf("progress and logs: %s", r.err)
	}
	want := read(t, out)
	if !strings.HasPrefix(want, "rank,chembl_id,canonical_smiles,similarity\r\n1,M16,CCCO,0.") || strings.Count(read(t, rejects), "InvalidSMILES") != 4 {
		t.Errorf("out:\n%s\nrejects:\n%s", want, read(t, rejects))
	}
	if got := c.ok("run", "-f", file, "-o", "-"); got != want {
		t.Errorf("to standard output:\n%s", got)
	}
	c.ok("run", "-f", file, "--input", filepath.Join(dir, "clean.tsv"), "-o", out, "--rejects", rejects)
	if read(t, rejects) != "" {
		t.Errorf("rejects of before are left: %s", read(t, rejects))
	}

	kept := read(t, out)
	for name, tc := range map[string]struct {
		text string
		want string
	}{
		"several faults":      {strings.Replace(manifestOf("x"), "top_k: 5", "top_k: 0, x: 1", 1), "(?s)bad.yaml: spec.parameters.x: unknown field.*bad.yaml: spec.parameters.top_k: .*"},
		"a query that breaks": {strings.Replace(manifestOf("x"), "CCO", "'C(C'", 1), `(?s)bad.yaml: spec.parameters.query_smiles: .*\^.*`},
		"an unknown workload": {strings.Replace(manifestOf("x"), "workload: similarity-search", "workload: docking", 1), `bad.yaml: spec.workload: Unsupported value: "docking": supported values: .*"similarity-search"`},
		"what the planner sees": {
			strings.Replace(manifestOf("x"), "molecules.tsv", "header.tsv", 1),
			"job x: .*",
		},
		"an input elsewhere": {strings.Replace(manifestOf("x"), "path: molecules.tsv", "sha256: '"+digest(1)+"'", 1), "bad.yaml: spec.input: names what a coordinator holds; name a file with --input"},
		"two jobs":           {manifestOf("x") + "---\n" + manifestOf("z"), ".*: one job is expected, and there are 2"},
	} {
		t.Run(name, func(t *testing.T) {
			bad := write(t, dir, "bad.yaml", tc.text)
			got := strings.ReplaceAll(c.fails("run", "-f", bad, "-o", out), dir+"/", "")
			if !matches("(?s)(job/x .*\n)?error: "+tc.want, got) {
				t.Errorf("printed\n%s\nwant\n%s", got, tc.want)
			}
			if read(t, out) != kept {
				t.Error("the file of before is gone")
			}
		})
	}
	t.Run("interrupted", func(t *testing.T) {
		c := newCaller(t, "")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		c.ctx = ctx
		if got := c.fails("run", "-f", file, "-o", out); !strings.HasSuffix(got, "error: interrupted\n") {
			t.Error(got)
		}
	})
	if left, err := filepath.Glob(filepath.Join(dir, "*.part")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

// TestRunChunks computes inputs that lie on a web server.
func TestRunChunks(t *testing.T) {
	dir := t.TempDir()
	var lines strings.Builder
	server := httptest.NewServer(http.FileServer(http.Dir(dir)))
	t.Cleanup(server.Close)
	for i := range 2 {
		text := fmt.Sprintf("chembl_id\tcanonical_smiles\nA%d\tCCO\nB%d\tCCN\n", i, i)
		path := write(t, dir, fmt.Sprintf("%d.tsv", i), text)
		in, err := hashInput(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&lines, "    - {uri: %q, sha256: %s}\n", server.URL+"/"+filepath.Base(path), in.sha256)
	}
	manifest := strings.Replace(manifestOf("web"), "  input: {path: molecules.tsv}\n", "  input:\n    chunks:\n"+lines.String(), 1)
	temp := filepath.Join(dir, "temp")
	if err := os.Mkdir(temp, 0o700); err != nil {
		t.Fatal(err)
	}
	c := newCaller(t, "")
	got := c.ok("run", "-f", write(t, dir, "web.yaml", manifest), "-o", "-", "--temp-dir", temp)
	if !strings.Contains(got, "1,B0,CCN,0.333333\r\n2,B1,CCN,0.333333\r\n") {
		t.Errorf("result:\n%s", got)
	}
	write(t, dir, "1.tsv", "changed")
	if got := c.fails("run", "-f", filepath.Join(dir, "web.yaml"), "-o", "-", "--temp-dir", temp); !strings.Contains(got, "SHA-256") {
		t.Error(got)
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}
