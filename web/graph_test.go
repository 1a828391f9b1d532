package web_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/store"
)

// graphOf is a Job whose result are these edges, over a table that holds the molecules.
func (h *harness) graphOf(name, table string, edges ...string) store.Job {
	h.t.Helper()
	b := h.blob(table)
	a, err := h.store.CreateArtifact(h.t.Context(), store.FileRef{Filename: "m.tsv", ContentType: "text/tab-separated-values", SHA256: b.SHA256, SizeBytes: b.SizeBytes})
	if err != nil {
		h.t.Fatal(err)
	}
	csv := "source_id,target_id,similarity\r\n" + strings.Join(edges, "\r\n") + "\r\n"
	return h.completed(name, csv, func(p *store.CreateJobParams) { p.Spec.Input = v1.JobInput{Artifact: &a.ID} })
}

func TestGraphsAreStudied(t *testing.T) {
	h := newHarness(t)
	h.graphOf("g", "chembl_id\tcanonical_smiles\nA\tCCO\nB\tCCN\nC\tCCC\nD\tCCF\nX\tCO\nY\tCN\n",
		"A,B,0.900000", "A,C,0.910000", "A,D,0.550000", "B,C,1.000000", "X,Y,0.700000")
	p := h.operator()
	body := p.page("/ui/jobs/g/result",
		"5 edges between 6 molecules", "2 components", "0.95 to 1.00", "0.55 to 0.60", "2 to 3", `value="A"`,
		`data-smiles="CCO"`, `data-smiles="CCF"`, "A and its 3 neighbours", `href="?molecule=X#around"`)
	if n := strings.Count(body, `class="inner"`); n != 3 {
		t.Errorf("%d lines from the middle, want 3", n)
	}
	if n := strings.Count(body, `class="outer"`); n != 1 {
		t.Errorf("%d lines between neighbours, want that of B and C", n)
	}
	body = p.page("/ui/jobs/g/result?molecule=Y", "Y and its 1 neighbour", `data-smiles="CN"`, "0.700000")
	if strings.Contains(body, `class="outer"`) {
		t.Error("a line between neighbours that are not there")
	}
	p.page("/ui/jobs/g/result?molecule=nobody", "nobody has no edge")
	h.completed("none", "source_id,target_id,similarity\r\n")
	p.page("/ui/jobs/none/result", "Nothing was found")
}

// A chain joins its molecules one after the other: components come from all
// edges, in whatever order, and the drawing shows the nearest neighbours alone.
func TestLargeGraphsAreBounded(t *testing.T) {
	h := newHarness(t)
	var edges []string
	for i := range 3000 {
		edges = append(edges, fmt.Sprintf("M%d,M%d,0.5", i, i+1))
	}
	for i := range 300 {
		edges = append(edges, fmt.Sprintf("HUB,N%d,0.%03d", i, 600+i))
	}
	h.graphOf("g", "chembl_id\tcanonical_smiles\nA\tC\n", edges...)
	body := h.operator().page("/ui/jobs/g/result", "2 components", "3,001", "HUB and its 200 neighbours", "100 more neighbours", "the first 500 rows are shown")
	if n := strings.Count(body, "<circle"); n != 25 {
		t.Errorf("%d molecules are drawn, want 24 and the one in the middle", n)
	}
	if r := h.operator().get("/ui/jobs/g/result?molecule=" + "%00"); r.status != http.StatusBadRequest {
		t.Errorf("a molecule that cannot be: %d", r.status)
	}
}
