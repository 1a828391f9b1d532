package similaritygraph

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/workloads"
	"scimesh.dev/scimesh/workloads/local"
)

// runWithFormats runs a Job in this process and returns its result and its files by format.
func runWithFormats(t *testing.T, table, parameters string) (string, map[string]string) {
	t.Helper()
	w := New(Options{})
	valid, errs := w.Validate(field.NewPath("p"), json.RawMessage(parameters))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	var result bytes.Buffer
	req := local.Request{
		Workload: w, TempDir: t.TempDir(), Threads: 2, Output: &result, Outputs: map[string]io.Writer{},
		Plan: workloads.PlanRequest{
			Open:       func(context.Context) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(table)), nil },
			Parameters: valid, Sharding: v1.Sharding{Rows: 100},
		},
	}
	for _, f := range formats {
		req.Formats = append(req.Formats, f.Name)
		req.Outputs[f.Name] = &bytes.Buffer{}
	}
	if _, err := local.Run(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for name, w := range req.Outputs {
		files[name] = w.(*bytes.Buffer).String()
	}
	return result.String(), files
}

func lines(s ...string) string { return strings.Join(s, "\r\n") + "\r\n" }

func TestFormats(t *testing.T) {
	// Ethanol twice, propanol similar to them; benzene and pyridine apart; methane alone.
	table := "chembl_id\tcanonical_smiles\n" +
		"pyridine\tc1ccncc1\n" + "ethanol\tCCO\n" + "bad\tC1\n" + "propanol\tCCCO\n" + "\"ethanol\" & <again>\tOCC\n" + "methane\tC\n" + "benzene\tc1ccccc1\n"
	for _, size := range []int{1, 3, 100} {
		result, files := runWithFormats(t, table, fmt.Sprintf(`{"threshold":"0.4","block_size":%d}`, size))
		if want := lines("source_id,target_id,similarity",
			`ethanol,"""ethanol"" & <again>",1.000000`,
			"ethanol,propanol,0.555556",
			`propanol,"""ethanol"" & <again>",0.555556`); result != want {
			t.Fatalf("result\n%s", result)
		}
		want := map[string]string{
			"nodes": lines("id,smiles,degree,component", "pyridine,c1ccncc1,0,2", "ethanol,CCO,2,1", "propanol,CCCO,2,1",
				`"""ethanol"" & <again>",OCC,2,1`, "methane,C,0,3", "benzene,c1ccccc1,0,4"),
			"components": lines("component,size,id", "1,3,ethanol", "1,3,propanol", `1,3,"""ethanol"" & <again>"`,
				"2,1,pyridine", "3,1,methane", "4,1,benzene"),
			"clusters": lines("cluster,size,id,centroid", `1,3,"""ethanol"" & <again>",true`, "1,3,ethanol,false", "1,3,propanol,false",
				"2,1,benzene,true", "3,1,methane,true", "4,1,pyridine,true"),
		}
		for name, text := range want {
			if d := cmp.Diff(text, files[name]); d != "" {
				t.Errorf("block size %d, %s:\n%s", size, name, d)
			}
		}
		var graph struct {
			Graph struct {
				Node []struct {
					ID   string `xml:"id,attr"`
					Data string `xml:"data"`
				} `xml:"node"`
				Edge []struct {
					Source string `xml:"source,attr"`
					Target string `xml:"target,attr"`
					Data   string `xml:"data"`
				} `xml:"edge"`
			} `xml:"graph"`
		}
		if err := xml.Unmarshal([]byte(files["graphml"]), &graph); err != nil {
			t.Fatal(err)
		}
		g := graph.Graph
		if len(g.Node) != 6 || g.Node[3].ID != `"ethanol" & <again>` || g.Node[3].Data != "OCC" ||
			len(g.Edge) != 3 || g.Edge[2].Source != "propanol" || g.Edge[2].Data != "0.555556" {
			t.Errorf("GraphML %+v", g)
		}
	}
}

// Butina's clusters by the definition: no index, no order but that of the neighbours.
func TestClustersAreThoseOfTheDefinition(t *testing.T) {
	table, ids, smiles := someMolecules(90)
	result, files := runWithFormats(t, table, `{"threshold":"0.35","block_size":25}`)
	neighbours := map[string]map[string]bool{}
	for line := range strings.SplitSeq(result, "\r\n") {
		if f := strings.Split(line, ","); len(f) == 3 && f[2] != "similarity" {
			for _, p := range [][2]string{{f[0], f[1]}, {f[1], f[0]}} {
				if neighbours[p[0]] == nil {
					neighbours[p[0]] = map[string]bool{}
				}
				neighbours[p[0]][p[1]] = true
			}
		}
	}
	taken := map[string]bool{}
	want := []string{"cluster,size,id,centroid"}
	for cluster := 1; len(taken) < len(ids); cluster++ {
		centroid := ""
		for _, id := range ids {
			if !taken[id] && (centroid == "" || len(neighbours[id]) >= len(neighbours[centroid])) {
				centroid = id
			}
		}
		members := []string{centroid}
		for _, id := range ids {
			if neighbours[centroid][id] && !taken[id] {
				members = append(members, id)
			}
		}
		for i, id := range members {
			taken[id] = true
			want = append(want, fmt.Sprintf("%d,%d,%s,%t", cluster, len(members), id, i == 0))
		}
	}
	if d := cmp.Diff(lines(want...), files["clusters"]); d != "" || len(smiles) < 50 {
		t.Errorf("clusters of %d molecules:\n%s", len(smiles), d)
	}
}
