package similaritygraph_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
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
from rdkit import RDConfig, rdBase
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
json.dump(answers, sys.stdout)
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
	var answers []answer
	if err := json.Unmarshal(out, &answers); err != nil || len(answers) != len(combinations) {
		t.Fatalf("%d answers, %v", len(answers), err)
	}
	in, err := os.ReadFile(table)
	if err != nil {
		t.Fatal(err)
	}
	for i, parameters := range combinations {
		t.Run(parameters, func(t *testing.T) {
			compare(t, in, parameters, []int64{100_000, 1000, 170}[i%3], answers[i])
		})
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
