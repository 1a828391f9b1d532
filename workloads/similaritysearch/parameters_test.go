package similaritysearch

import (
	"encoding/json"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

var path = field.NewPath("spec", "parameters")

func TestValidate(t *testing.T) {
	for raw, want := range map[string]string{
		`{"query_id":"CHEMBL25"}`: `{"query_id":"CHEMBL25","top_k":20,"threshold_direction":"greater"}`,
		`{"query_smiles":"CCO","query_id":null,"threshold":0.70,"threshold_direction":"less","max_rows":1e3,"top_k":1000000}`: `{"query_smiles":"CCO","top_k":1000000,"threshold":"0.7","threshold_direction":"less","max_rows":1000}`,
		`{"query_smiles":"CCO","threshold":"1e-1"}`:             `{"query_smiles":"CCO","top_k":20,"threshold":"0.1","threshold_direction":"greater"}`,
		`{"query_smiles":"CCO","threshold":0}`:                  `{"query_smiles":"CCO","top_k":20,"threshold":"0","threshold_direction":"greater"}`,
		`{"query_smiles":"` + strings.Repeat("C", 10000) + `"}`: `{"query_smiles":"` + strings.Repeat("C", 10000) + `","top_k":20,"threshold_direction":"greater"}`,
	} {
		got, errs := New().Validate(path, json.RawMessage(raw))
		if len(errs) > 0 || string(got) != want {
			t.Errorf("%.100s: got %.200s, %v; want %.200s", raw, got, errs, want)
		}
	}
}

func TestValidateRefuses(t *testing.T) {
	for raw, want := range map[string][]string{
		``:                                    {"spec.parameters: Required value: one of query_id, query_smiles and queries must be set"},
		`null`:                                {"spec.parameters: Required value: one of query_id, query_smiles and queries must be set"},
		`{"query_id":"A","query_smiles":"C"}`: {"spec.parameters.query_smiles: Forbidden: must not be set together with query_id"},
		`{"query_id":"A","topk":1}`:           {"spec.parameters.topk: Forbidden: unknown field; did you mean top_k?"},
		`{"query_smile":"C"}`:                 {"spec.parameters.query_smile: Forbidden: unknown field; did you mean query_smiles?"},
		`{"query_id":""}`:                     {`spec.parameters.query_id: Invalid value: "": must not be empty`},
		`{"query_smiles":""}`:                 {`spec.parameters.query_smiles: Invalid value: "": must not be empty`},
		`{"query_id":"A\tB"}`:                 {`spec.parameters.query_id: Invalid value: "A\tB": must not contain a tab, a line feed or NUL`},
		`{"query_smiles":"C\u0000"}`:          {`spec.parameters.query_smiles: Invalid value: "C\x00": must not contain NUL`},
		`{"query_id":"` + strings.Repeat("x", 1001) + `"}`: {
			`spec.parameters.query_id: Invalid value: "` + strings.Repeat("x", 64) + `…": must have at most 1000 bytes`},
		`{"query_id":"A","threshold":1.01}`:  {`spec.parameters.threshold: Invalid value: 1.01: must be between 0 and 1`},
		`{"query_id":"A","threshold":"-1"}`:  {`spec.parameters.threshold: Invalid value: "-1": must be between 0 and 1`},
		`{"query_id":"A","threshold":"70%"}`: {`spec.parameters.threshold: Invalid value: "70%": must be a decimal number`},
		`{"query_id":"A","threshold":""}`:    {`spec.parameters.threshold: Invalid value: "": must be a decimal number`},
		`{"query_id":"A","threshold":0.1234567890123456789}`: {
			`spec.parameters.threshold: Invalid value: 0.1234567890123456789: must have at most 18 digits after the decimal point`},
		`{"query_smiles":"CC(C","top_k":0,"threshold":true,"threshold_direction":"up","max_rows":0,"k":1}`: {
			"spec.parameters.k: Forbidden: unknown field",
			"spec.parameters.query_smiles: Invalid value: \"CC(C\": SMILES syntax: branch is never closed at byte 2\n    CC(C\n      ^",
			"spec.parameters.top_k: Invalid value: 0: must be between 1 and 1000000",
			"spec.parameters.threshold: Invalid value: true: must be a number, or a string that holds one",
			`spec.parameters.threshold_direction: Unsupported value: "up": supported values: "greater", "less"`,
			"spec.parameters.max_rows: Invalid value: 0: must be at least 1",
		},
		`{"query_smiles":"CC(C)(C)(C)C"}`: {`spec.parameters.query_smiles: Invalid value: "CC(C)(C)(C)C": valence: `},
	} {
		got, errs := New().Validate(path, json.RawMessage(raw))
		if got != nil || len(errs) != len(want) {
			t.Errorf("%.100s: got %s and %v; want %q", raw, got, errs, want)
			continue
		}
		for i, e := range errs {
			if !strings.HasPrefix(e.Error(), want[i]) {
				t.Errorf("%.100s:\ngot  %q\nwant %q", raw, e.Error(), want[i])
			}
		}
	}
}

func TestCaretInALongQuery(t *testing.T) {
	_, errs := New().Validate(path, json.RawMessage(`{"query_smiles":"`+strings.Repeat("C", 9000)+"!"+strings.Repeat("C", 999)+`"}`))
	if len(errs) != 1 {
		t.Fatal(errs)
	}
	lines := strings.Split(errs[0].Error(), "\n")
	if len(lines) != 3 || !strings.Contains(lines[0], "at byte 9000") || lines[1][strings.Index(lines[2], "^")] != '!' {
		t.Errorf("the caret does not point at the fault:\n%s", errs[0])
	}
	if len(errs[0].Error()) > 500 {
		t.Errorf("a message of %d bytes", len(errs[0].Error()))
	}
}

func TestTaskParametersAreChecked(t *testing.T) {
	good := `{"query_smiles":"C","top_k":1,"threshold_direction":"less","threshold":"0.5"}`
	if _, err := decodeSearch(json.RawMessage(good)); err != nil {
		t.Fatal(err)
	}
	for _, raw := range []string{
		strings.Replace(good, `"top_k"`, `"query_fingerprint":"00","top_k"`, 1), strings.Replace(good, `"top_k"`, `"measure":"x","top_k"`, 1),
		strings.Replace(good, `"top_k"`, `"measure":"tversky","alpha":"0","beta":"0","top_k"`, 1), strings.Replace(good, `"top_k"`, `"alpha":"1","top_k"`, 1),
		strings.Replace(good, `"top_k"`, `"fingerprint":{"radius":2,"bits":65},"top_k"`, 1), strings.Replace(good, `"top_k"`, `"fingerprint":{"radius":5,"bits":64},"top_k"`, 1),
		`{}`, `[]`, ``, `{"query_smiles":"C","top_k":1}`, `{"query_smiles":"C","threshold_direction":"less"}`,
		`{"top_k":1,"threshold_direction":"less"}`, strings.Replace(good, "0.5", "1.5", 1), strings.Replace(good, `:1`, `:1000001`, 1),
		strings.Replace(good, `"top_k"`, `"radius":3,"top_k"`, 1),
	} {
		if _, err := decodeSearch(json.RawMessage(raw)); err == nil {
			t.Errorf("accepted %s", raw)
		}
	}
}
