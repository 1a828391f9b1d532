package cli

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestRunWithAFileOfQueries reads the queries beside the manifest.
func TestRunWithAFileOfQueries(t *testing.T) {
	c := newCaller(t, "http://127.0.0.1:1")
	dir := t.TempDir()
	write(t, dir, "molecules.tsv", "chembl_id\tcanonical_smiles\nA\tCCO\nB\tCCN\nC\tCCCO\n")
	write(t, dir, "queries.smi", "CCO ethanol\nCN methylamine\n")
	file := write(t, dir, "job.yaml", strings.NewReplacer("query_smiles: CCO", "queries: {path: queries.smi}", "top_k: 5", "top_k: 1").Replace(manifestOf("job")))
	got := c.ok("run", "-f", file, "-o", "-")
	if want := "query_id,rank,chembl_id,canonical_smiles,similarity\r\nethanol,1,C,CCCO,0.555556\r\nmethylamine,1,B,CCN,0.285714\r\n"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for want, text := range map[string]string{
		"spec.parameters.queries.path: open ":               "queries: {path: nothing.smi}",
		"name a file that a coordinator holds":              "queries: {sha256: " + strings.Repeat("a", 64) + "}",
		"spec.parameters.queries.z: unknown field":          "queries: {path: queries.smi, z: 1}",
		`queries: row 2 ("B"): its SMILES: SMILES syntax: `: "queries: {path: bad.smi}",
	} {
		write(t, dir, "bad.smi", "CC A\nC(C B\n")
		bad := write(t, dir, "bad.yaml", strings.Replace(manifestOf("job"), "query_smiles: CCO", text, 1))
		if got := c.fails("run", "-f", bad, "-o", filepath.Join(dir, "out.csv")); !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}
