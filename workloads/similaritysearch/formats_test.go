package similaritysearch

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"strings"
	"testing"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/chem"
	"scimesh.dev/scimesh/chem/fps"
	"scimesh.dev/scimesh/workloads"
	"scimesh.dev/scimesh/workloads/workloadtest"
)

// drugs are ids and SMILES, each molecule once.
var drugs = [][2]string{
	{"CHEMBL25", "CC(=O)Oc1ccccc1C(=O)O"}, {"CHEMBL424", "O=C(O)c1ccccc1O"}, {"CHEMBL541", "O=C(O)c1ccccc1"},
	{"CHEMBL545", "CCO"}, {"CHEMBL108545", "COC(=O)c1ccccc1O"}, {"CHEMBL112", "CC(=O)Nc1ccc(O)cc1"}, {"EMPTY", ""},
}

// as writes the drugs in a format.
func as(format string, kind fps.Type) string {
	var b strings.Builder
	b.WriteString(map[string]string{
		"tsv": "canonical_smiles\tchembl_id\n", "csv": "chembl_id,canonical_smiles\r\n", "smi": "",
		"fps": string(fps.Header{Bits: kind.Bits, Type: kind.String(), Software: "RDKit/2022.09.4"}.Append(nil)),
	}[format])
	e := chem.New(engineOptions(kind))
	fp := make([]uint64, e.Words())
	for _, d := range drugs {
		switch format {
		case "tsv":
			fmt.Fprintf(&b, "%s\t%s\n", d[1], d[0])
		case "csv":
			fmt.Fprintf(&b, "\"%s\",%s\r\n", d[0], d[1])
		case "smi":
			if d[1] != "" {
				fmt.Fprintf(&b, "%s %s\n", d[1], d[0])
			}
		case "fps":
			if err := e.Fingerprint(fp, []byte(d[1])); err != nil {
				panic(err)
			}
			b.Write(fps.AppendRecord(nil, fp, kind.Bits, []byte(d[0])))
		}
	}
	return b.String()
}

// result is the final file of a search, without the SMILES and without the row of
// the empty molecule, which not every format can hold.
func result(t *testing.T, in, parameters string, rows int64) string {
	t.Helper()
	j := workloadtest.Start(t, New(), []byte(in), parameters, rows)
	o := j.MustReduce(j.ExecuteAll(nil, 2))
	records, err := csv.NewReader(strings.NewReader(o.ResultBytes)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, r := range records {
		if r[1] != "EMPTY" {
			out = append(out, r[1]+" "+r[3])
		}
	}
	return strings.Join(out, "\n")
}

func TestFormatsGiveTheSameHits(t *testing.T) {
	small := fps.Type{Radius: 1, Bits: 128}
	for _, tc := range []struct {
		parameters string
		kind       fps.Type
	}{
		{`{"query_id":"CHEMBL25"}`, defaultType},
		{`{"query_smiles":"CN(C)C","threshold_direction":"less"}`, defaultType},
		{`{"query_id":"CHEMBL424","threshold":"0.2","measure":"cosine","fingerprint":{"radius":1,"bits":128}}`, small},
	} {
		want := result(t, as("tsv", tc.kind), tc.parameters, 100)
		if strings.Count(want, "\n") < 2 {
			t.Fatalf("%s: hardly anything found: %s", tc.parameters, want)
		}
		for _, format := range []string{"tsv", "csv", "smi", "fps"} {
			for _, rows := range []int64{1, 3, 100} {
				if got := result(t, as(format, tc.kind), tc.parameters, rows); got != want {
					t.Errorf("%s of %s in shards of %d:\n%s\nwant\n%s", tc.parameters, format, rows, got, want)
				}
			}
		}
	}
}

func TestFPSConformance(t *testing.T) {
	in := as("fps", defaultType) + "00\tBAD\n" + as("fps", defaultType)[len(fps.Header{Bits: 2048, Type: defaultType.String(), Software: "RDKit/2022.09.4"}.Append(nil)):] + "xx\n"
	for name, parameters := range map[string]string{
		"by id":         `{"query_id":"CHEMBL25","top_k":4}`,
		"least similar": `{"query_id":"CHEMBL25","threshold_direction":"less","threshold":0.3}`,
	} {
		t.Run(name, func(t *testing.T) {
			workloadtest.Run(t, workloadtest.Config{Workload: New(), Input: []byte(in), Parameters: parameters, Rows: []int64{100, 4}})
		})
	}
}

// Without structures the query is left out by its id alone, and no SMILES are printed.
func TestFPSResult(t *testing.T) {
	in := as("fps", defaultType) + "0\tX\n"
	j := workloadtest.Start(t, New(), []byte(in), `{"query_smiles":"CC(=O)Oc1ccccc1C(=O)O","top_k":2}`, 3)
	o := j.MustReduce(j.ExecuteAll(nil, 1))
	if want := "rank,chembl_id,canonical_smiles,similarity\r\n1,CHEMBL25,,1.000000\r\n2,CHEMBL424,,0.448276\r\n"; o.ResultBytes != want {
		t.Errorf("got %s", o.ResultBytes)
	}
	if o.Ledger.RowsRead != 8 || o.Ledger.Scored != 7 || o.Ledger.Rejected["InvalidFingerprint"] != 1 || len(o.Ledger.Excluded) > 0 {
		t.Errorf("ledger %+v", o.Ledger)
	}
	if want := "row,chembl_id,reason\r\n8,X,InvalidFingerprint\r\n"; o.RejectBytes != want {
		t.Errorf("rejects %s", o.RejectBytes)
	}
}

func TestFingerprintTypes(t *testing.T) {
	zeros := strings.Repeat("00", 256)
	for name, tc := range map[string]struct{ header, want string }{
		"ChEMBL's":       {"#num_bits=2048\n#type=RDKit-Morgan/1 radius=2 fpSize=2048 useFeatures=0 useChirality=0 useBondTypes=1\n#software=RDKit/2022.09.4\n", ""},
		"chemfp 5's":     {"#num_bits=2048\n#type=RDKit-Morgan/2 fpSize=2048 radius=2 useFeatures=0\n", ""},
		"another radius": {"#type=RDKit-Morgan/2 fpSize=2048\n", `the input has 2048 bits of type "RDKit-Morgan/2 fpSize=2048"`},
		"another length": {"#num_bits=1024\n#type=RDKit-Morgan/1 radius=2 fpSize=1024\n", `the input has 1024 bits`},
		"a wrong length": {"#num_bits=1024\n#type=RDKit-Morgan/1 radius=2 fpSize=2048\n", `the input has 1024 bits of type "RDKit-Morgan/1 radius=2 fpSize=2048"`},
		"features":       {"#type=RDKit-Morgan/1 radius=2 fpSize=2048 useFeatures=1\n", `which cannot be compared: fingerprint type: "useFeatures=1" is not supported`},
		"another kind":   {"#type=OpenBabel-FP2/1\n", `the input has "OpenBabel-FP2/1", which cannot be compared`},
		"none":           {"#num_bits=2048\n", `of a type that its header does not tell`},
	} {
		t.Run(name, func(t *testing.T) {
			j := workloadtest.Prepare(t, New(), []byte("#FPS1\n"+tc.header+zeros+"\tA\n"), `{"query_id":"A"}`, 10)
			plan, err := New().Plan(t.Context(), j.Request)
			if tc.want == "" {
				if err != nil || !strings.Contains(plan.Summary, "1 input rows in 1 tasks; input: FPS, fingerprints of 2048 bits, type ") {
					t.Errorf("%v, %s", err, plan.Summary)
				}
				return
			}
			wrong, ok := errors.AsType[*workloads.Error](err)
			if !ok || wrong.Reason != ReasonFingerprintTypeMismatch || !strings.Contains(wrong.Message, tc.want) ||
				!strings.Contains(wrong.Message, `"RDKit-Morgan/1 radius=2 fpSize=2048 useFeatures=0 useChirality=0 useBondTypes=1"`) {
				t.Errorf("got %v, want %s", err, tc.want)
			}
		})
	}
}

// A worker reads a chunk as the Job says, and refuses one of another type.
func TestChunksHaveLayouts(t *testing.T) {
	w := New()
	req := workloads.PlanRequest{
		Parameters: []byte(`{"query_smiles":"CCO","top_k":1,"threshold_direction":"greater"}`), Chunks: make([]v1.InputChunk, 1),
		Layout: v1.InputLayout{Format: "csv", IDColumn: "no", SMILESColumn: "structure"},
	}
	plan, err := w.Plan(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	for in, want := range map[string]string{
		"no,structure\r\n7,CCN\r\n": "hit,,7,CCN,3,9,",
		"id,smiles\r\n7,CCN\r\n":    "InputInvalid: the header has no column no",
	} {
		var out bytes.Buffer
		_, err := w.Execute(t.Context(), workloads.TaskRequest{Input: strings.NewReader(in), Parameters: plan.Shared, Output: &out})
		if got := out.String() + fmt.Sprint(err); !strings.Contains(got, want) {
			t.Errorf("%q: %s", in, got)
		}
	}
	req.Layout = v1.InputLayout{}
	if plan, err = w.Plan(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	_, err = w.Execute(t.Context(), workloads.TaskRequest{Input: strings.NewReader("#FPS1\n#num_bits=64\n"), Parameters: plan.Shared, Output: &bytes.Buffer{}})
	if wrong, ok := errors.AsType[*workloads.Error](err); !ok || wrong.Reason != ReasonFingerprintTypeMismatch {
		t.Errorf("got %v", err)
	}
}
