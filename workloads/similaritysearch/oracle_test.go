package similaritysearch_test

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
	"scimesh.dev/scimesh/workloads/similaritysearch"
)

// oracle answers a list of searches over one table with the reference program,
// in one process that reads each molecule once.
const oracle = `
import functools, io, json, pathlib, sys
root, table = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
sys.path.insert(0, str(root / "hack" / "oracle"))
import reference as ref
from rdkit import RDConfig, rdBase
rdBase.DisableLog("rdApp.*")

def molecules():
    data = pathlib.Path(RDConfig.RDDataDir)
    for line in (data / "NCI" / "first_5K.smi").read_text().split("\n"):
        if line:
            smiles, _, name = line.partition("\t")
            yield "NCI" + name, smiles
    for line in (data / "Pains" / "test_data" / "wehi_mols.csv").read_text().split("\n"):
        if line:
            smiles, name = line.strip('"').split('","')
            yield name, smiles

rows = list(molecules())
with table.open("w", newline="") as out:
    out.write("\ufeffsource\tcanonical_smiles\tchembl_id\tnote\r\n")
    for i, (name, smiles) in enumerate(rows):
        out.write(f"x\t{smiles}\t{name}\t\"\r\n")
        if i % 997 == 0:
            out.write("\r\nshort\r\n" + f"x\t{smiles}\tagain, {name}\r\nx\tnot SMILES\tbad {i}\r\nx\t\tempty {i}\r\n")
ref.read_molecule = functools.cache(ref.read_molecule)
answers = []
for p in json.load(sys.stdin):
    if "threshold" in p:
        p["threshold"] = ref.parse_decimal(str(p["threshold"]))
    p |= {name: ref.parse_decimal(str(p[name])) for name in ("alpha", "beta") if name in p}
    p |= p.pop("fingerprint", {})
    p["queries"] = tuple((q["id"], q["smiles"]) for q in p.get("queries", ()))
    out = io.BytesIO()
    ledger = ref.search(table.read_bytes(), ref.Parameters(**p), out)
    answers.append({"csv": out.getvalue().decode(), "ledger": vars(ledger)})
json.dump(answers, sys.stdout)
`

// manyQueries are enough to search by an index.
const manyQueries = `{"id":"a","smiles":"CC(=O)Oc1ccccc1C(=O)O"},{"id":"b","smiles":"c1ccccc1"},{"id":"c","smiles":"CCO"},` +
	`{"id":"d","smiles":"CC1=CC(=O)C=CC1=O"},{"id":"e","smiles":"CN1C=NC2=C1C(=O)N(C(=O)N2C)C"},{"id":"f","smiles":"OC(=O)c1ccccc1O"},` +
	`{"id":"g","smiles":"CCCCCCCC"},{"id":"NCI2","smiles":"C1CCCCC1"},{"id":"i","smiles":"c1ccc2ccccc2c1"},{"id":"j","smiles":"NCC(=O)O"}`

// combinations are the searches to compare. The molecules are those that the
// demo searches.
var combinations = []string{
	`{"query_id":"NCI1"}`,
	`{"query_id":"WEHI-0016994","top_k":50}`,
	`{"query_id":"NCI5065","top_k":1}`,
	`{"query_smiles":"CC(=O)Oc1ccccc1C(=O)O"}`,
	`{"query_smiles":"CC(=O)Oc1ccccc1C(=O)O","threshold":"0.5","top_k":1000}`,
	`{"query_smiles":"CC(=O)Oc1ccccc1C(=O)O","threshold":"0.25","threshold_direction":"less","top_k":300}`,
	`{"query_smiles":"c1ccccc1","threshold_direction":"less","top_k":200}`,
	`{"query_smiles":"c1ccccc1","threshold":"0.1","threshold_direction":"less","top_k":20000}`,
	`{"query_smiles":"c1ccccc1","top_k":100000}`,
	`{"query_smiles":"CCO","threshold":"0.333333333333333333","top_k":500}`,
	`{"query_smiles":"CCO","threshold":"0.333333333333333334","top_k":500}`,
	`{"query_smiles":"CCO","threshold":"0.1","top_k":5000,"max_rows":4000}`,
	`{"query_id":"WEHI-0060240","max_rows":100,"top_k":1000}`,
	`{"query_id":"NCI2","threshold":"1","top_k":100}`,
	`{"query_id":"NCI2","measure":"dice","threshold":"0.4","top_k":500}`,
	`{"query_smiles":"CC(=O)Oc1ccccc1C(=O)O","measure":"cosine","threshold":"0.5","top_k":5000,"fingerprint":{"radius":1}}`,
	`{"query_smiles":"CC(=O)Oc1ccccc1C(=O)O","measure":"tversky","alpha":"0.9","beta":"0.1","top_k":5000,"fingerprint":{"bits":512}}`,
	`{"queries":[{"id":"NCI1","smiles":"CC1=CC(=O)C=CC1=O"},{"id":"aspirin","smiles":"CC(=O)Oc1ccccc1C(=O)O"}],"top_k":40,"measure":"cosine","max_rows":3000}`,
	`{"queries":[` + manyQueries + `],"top_k":25,"threshold":"0.3","max_rows":2000}`,
	`{"queries":[` + manyQueries + `],"top_k":15,"threshold_direction":"less","max_rows":2000}`,
	`{"query_smiles":"CCO","measure":"tversky","alpha":0,"beta":"1","threshold":"0.25","threshold_direction":"less","top_k":5000}`,
	`{"query_id":"NCI2","threshold":"0","threshold_direction":"less","top_k":100}`,
}

type answer struct {
	CSV    string
	Ledger struct{ Read, Scored, Excluded, Rejected int64 }
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
		t.Skip("reads 15,000 molecules with RDKit")
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
			rows := []int64{100_000, 4000, 1001}[i%3]
			compare(t, in, parameters, rows, answers[i])
		})
	}
}

func compare(t *testing.T, in []byte, parameters string, rows int64, want answer) {
	t.Helper()
	w := similaritysearch.New()
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
	if strings.Count(want.CSV, "\r\n") < 2 && !strings.Contains(parameters, `"threshold":"1"`) {
		t.Error("no hit to compare")
	}
	var excluded, rejected int64
	for _, n := range r.Ledger.Excluded {
		excluded += n
	}
	for _, n := range r.Ledger.Rejected {
		rejected += n
	}
	got := answer{}.Ledger
	got.Read, got.Scored, got.Excluded, got.Rejected = r.Ledger.RowsRead, r.Ledger.Scored, excluded, rejected
	if got != want.Ledger {
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
