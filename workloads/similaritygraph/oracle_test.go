package similaritygraph_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/workloads"
	"scimesh.dev/scimesh/workloads/local"
	"scimesh.dev/scimesh/workloads/similaritygraph"
)

// oracle makes graphs of one table with the reference program.
const oracle = `
import io, json, pathlib, sys
root, table = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
sys.path.insert(0, str(root / "hack" / "oracle"))
import reference as ref
import reference_graph as graph
from rdkit import Chem, DataStructs, RDConfig, rdBase
from rdkit.ML.Cluster import Butina
rdBase.DisableLog("rdApp.*")

lines = (pathlib.Path(RDConfig.RDDataDir) / "NCI" / "first_5K.smi").read_text().split("\n")[:2000]
with table.open("w", newline="") as out:
    out.write("source\tcanonical_smiles\tchembl_id\r\n")
    for i, line in enumerate(lines):
        smiles, _, name = line.partition("\t")
        out.write(f"x\t{smiles}\tNCI{name}\r\n")
        if i % 97 == 0:
            out.write(f"short\r\nx\tnot SMILES\tNCI{name}\r\n")
answers = []
for p in json.load(sys.stdin):
    p["threshold"] = ref.parse_decimal(p["threshold"])
    out = io.BytesIO()
    ledger = graph.graph(table.read_bytes(), graph.Parameters(**p), out)
    answers.append({"csv": out.getvalue().decode(), "ledger": vars(ledger)})

def clusters(threshold, max_rows):
    rows = [(r.id, Chem.MolFromSmiles(r.smiles)) for r in list(ref.read_table(table.read_bytes()))[:max_rows] if r.smiles]
    ids = [i for i, mol in rows if mol]
    fps = [graph.MORGAN.GetFingerprint(mol) for _, mol in rows if mol]
    distances = []
    for i in range(1, len(fps)):
        distances.extend(1 - s for s in DataStructs.BulkTanimotoSimilarity(fps[i], fps[:i]))
    return [[ids[i] for i in c] for c in Butina.ClusterData(distances, len(fps), 1 - threshold, isDistData=True)]

json.dump({"graphs": answers, "clusters": clusters(0.3501, 700)}, sys.stdout)
`

// combinations are the graphs to compare.
var combinations = []string{
	`{"threshold":"0.7"}`,
	`{"threshold":"0.35"}`,
	`{"threshold":"1"}`,
	`{"threshold":"0.333333333333333334"}`,
	`{"threshold":"0","max_rows":700}`,
	`{"threshold":"0","threshold_direction":"less","max_rows":700}`,
	`{"threshold":"0.05","threshold_direction":"less"}`,
	`{"threshold":"1","threshold_direction":"less","max_rows":300}`,
}

type answer struct {
	CSV    string
	Ledger struct{ Read, Molecules, Rejected, Pairs, Edges int64 }
}

// findPython returns the repository's root and a Python that has RDKit.
func findPython(t *testing.T) (root, python string) {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	python = os.Getenv("ORACLE_PYTHON")
	if python == "" {
		python = filepath.Join(root, ".cache", "venv", "bin", "python")
	}
	if out, err := exec.Command(python, "-c", "import rdkit, zstandard").CombinedOutput(); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("no Python with RDKit (run hack/bootstrap python): %v\n%s", err, out)
		}
		t.Skip("no Python with RDKit; hack/bootstrap python installs it")
	}
	return root, python
}

func TestAgreesWithTheReferenceInPython(t *testing.T) {
	if testing.Short() {
		t.Skip("compares 2,000 molecules with RDKit, pair by pair")
	}
	root, python := findPython(t)
	table := filepath.Join(t.TempDir(), "molecules.tsv")
	cmd := exec.CommandContext(t.Context(), python, "-c", oracle, root, table)
	cmd.Stdin = strings.NewReader("[" + strings.Join(combinations, ",") + "]")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Graphs   []answer
		Clusters [][]string
	}
	if err := json.Unmarshal(out, &got); err != nil || len(got.Graphs) != len(combinations) {
		t.Fatalf("%d answers, %v", len(got.Graphs), err)
	}
	answers := got.Graphs
	in, err := os.ReadFile(table)
	if err != nil {
		t.Fatal(err)
	}
	for i, parameters := range combinations {
		t.Run(parameters, func(t *testing.T) {
			compare(t, in, parameters, []int64{100_000, 1000, 170}[i%3], answers[i])
		})
	}
	t.Run("Butina clusters", func(t *testing.T) { compareClusters(t, in, got.Clusters) })
}

// compareClusters compares with RDKit's clusters of the first 700 rows, at a
// threshold that no similarity equals. RDKit lists the centroid first.
func compareClusters(t *testing.T, in []byte, want [][]string) {
	t.Helper()
	w := similaritygraph.New(similaritygraph.Options{})
	valid, errs := w.Validate(field.NewPath("p"), json.RawMessage(`{"threshold":"0.3501","max_rows":700}`))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	var clusters bytes.Buffer
	_, err := local.Run(t.Context(), local.Request{
		Workload: w, TempDir: t.TempDir(), Threads: 2, Output: io.Discard,
		Formats: []string{"clusters"}, Outputs: map[string]io.Writer{"clusters": &clusters},
		Plan: workloads.PlanRequest{
			Open:       func(context.Context) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(in)), nil },
			Parameters: valid, Sharding: v1.Sharding{Rows: 200},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	place := map[string]int{} // in the input
	for i, line := range strings.Split(string(in), "\r\n") {
		if f := strings.Split(line, "\t"); len(f) == 3 && place[f[2]] == 0 {
			place[f[2]] = i
		}
	}
	text := "cluster,size,id,centroid\r\n"
	large := 0
	for i, members := range want {
		slices.SortFunc(members[1:], func(a, b string) int { return cmp.Compare(place[a], place[b]) })
		for k, id := range members {
			text += fmt.Sprintf("%d,%d,%s,%t\r\n", i+1, len(members), id, k == 0)
		}
		if len(members) > 3 {
			large++
		}
	}
	if clusters.String() != text || large < 10 {
		t.Errorf("%d large clusters; the file differs from RDKit's %s", large, firstDifference(clusters.String(), text))
	}
}

func compare(t *testing.T, in []byte, parameters string, rows int64, want answer) {
	t.Helper()
	w := similaritygraph.New(similaritygraph.Options{})
	valid, errs := w.Validate(field.NewPath("spec", "parameters"), json.RawMessage(parameters))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	var csv bytes.Buffer
	r, err := local.Run(t.Context(), local.Request{
		Workload: w, TempDir: t.TempDir(), Threads: 2, Output: &csv,
		Plan: workloads.PlanRequest{
			Open:       func(context.Context) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(in)), nil },
			Parameters: valid, Sharding: v1.Sharding{Rows: rows},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if csv.String() != want.CSV {
		t.Errorf("differs from the reference %s", firstDifference(csv.String(), want.CSV))
	}
	var rejected int64
	for _, n := range r.Ledger.Rejected {
		rejected += n
	}
	got := answer{}.Ledger
	got.Read, got.Molecules, got.Rejected = r.Ledger.RowsRead, r.Ledger.Scored, rejected
	got.Pairs, got.Edges = r.Ledger.PairsChecked, r.Rows
	if got != want.Ledger || got.Edges == 0 {
		t.Errorf("ledger %+v, the reference has %+v", got, want.Ledger)
	}
}

func firstDifference(a, b string) string {
	linesA, linesB := strings.Split(a, "\r\n"), strings.Split(b, "\r\n")
	for i := range min(len(linesA), len(linesB)) {
		if linesA[i] != linesB[i] {
			return fmt.Sprintf("in line %d: %q, want %q", i+1, linesA[i], linesB[i])
		}
	}
	return fmt.Sprintf("in the number of lines: %d, want %d", len(linesA), len(linesB))
}
