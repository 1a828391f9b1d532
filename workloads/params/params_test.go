package params

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

var path = field.NewPath("spec", "parameters")

// decodeAll reads every kind of field there is.
func decodeAll(raw string) (*Fields, []any) {
	f := Decode(path, json.RawMessage(raw), "query_id", "top_k", "threshold", "threshold_direction", "max_rows")
	return f, []any{
		f.String("query_id"), f.Int("top_k", 1, 100, 20), f.Int("max_rows", 1, math.MaxInt64, 0),
		f.Number("threshold"), f.Choice("threshold_direction", "greater", "less"),
	}
}

func TestDecode(t *testing.T) {
	defaults := []any{"", int64(20), int64(0), "", "greater"}
	for raw, want := range map[string][]any{
		"":                           defaults,
		"null":                       defaults,
		" {} ":                       defaults,
		`{"query_id":null}`:          defaults,
		`{"query_id":"A\u0022"}`:     {`A"`, int64(20), int64(0), "", "greater"},
		`{"top_k":2e1,"max_rows":5}`: {"", int64(20), int64(5), "", "greater"},
		`{"top_k":7.0,"threshold":0.70,"threshold_direction":"less"}`: {"", int64(7), int64(0), "0.70", "less"},
		`{"threshold":"1e-1"}`: {"", int64(20), int64(0), "1e-1", "greater"},
		`{"threshold":-1}`:     {"", int64(20), int64(0), "-1", "greater"},
	} {
		f, got := decodeAll(raw)
		if len(f.Errors) > 0 {
			t.Errorf("%s: %v", raw, f.Errors)
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("%s: field %d is %#v, want %#v", raw, i, got[i], want[i])
			}
		}
	}
}

func TestDecodeFaults(t *testing.T) {
	long := strings.Repeat("é", 1000)
	for raw, want := range map[string][]string{
		`[1]`:                   {"spec.parameters: Invalid value: must be an object"},
		`{"top_k":1`:            {"spec.parameters: Invalid value: must be valid JSON: EOF"},
		`{"top_k":1}{}`:         {"spec.parameters: Invalid value: must be one object, with nothing after it"},
		`{"topk":1}`:            {"spec.parameters.topk: Forbidden: unknown field; did you mean top_k?"},
		`{"topK":1}`:            {"spec.parameters.topK: Forbidden: unknown field; did you mean top_k?"},
		`{"Query-ID":""}`:       {"spec.parameters.Query-ID: Forbidden: unknown field; did you mean query_id?"},
		`{"treshold":1}`:        {"spec.parameters.treshold: Forbidden: unknown field; did you mean threshold?"},
		`{"radius":2}`:          {"spec.parameters.radius: Forbidden: unknown field"},
		`{"` + long + `":2}`:    {"spec.parameters." + long[:64] + "…: Forbidden: unknown field"},
		`{"top_k":1,"top_k":1}`: {"spec.parameters.top_k: Duplicate value"},
		`{"top_k":0}`:           {"spec.parameters.top_k: Invalid value: 0: must be between 1 and 100"},
		`{"top_k":1e400000000}`: {"spec.parameters.top_k: Invalid value: 1e400000000: must be a whole number"},
		`{"top_k":1e30}`:        {"spec.parameters.top_k: Invalid value: 1e30: must be between 1 and 100"},
		`{"top_k":-1e30}`:       {"spec.parameters.top_k: Invalid value: -1e30: must be between 1 and 100"},
		`{"top_k":1.5}`:         {"spec.parameters.top_k: Invalid value: 1.5: must be a whole number"},
		`{"top_k":"5"}`:         {`spec.parameters.top_k: Invalid value: "5": must be a whole number`},
		`{"max_rows":-3}`:       {"spec.parameters.max_rows: Invalid value: -3: must be at least 1"},
		`{"query_id":5}`:        {"spec.parameters.query_id: Invalid value: 5: must be a string"},
		`{"query_id":""}`:       {`spec.parameters.query_id: Invalid value: "": must not be empty`},
		`{"threshold":true}`:    {"spec.parameters.threshold: Invalid value: true: must be a number, or a string that holds one"},
		`{"threshold_direction":"up","top_k":{},"x":[]}`: {
			"spec.parameters.x: Forbidden: unknown field",
			`spec.parameters.top_k: Invalid value: "{}": must be a whole number`,
			`spec.parameters.threshold_direction: Unsupported value: "up": supported values: "greater", "less"`,
		},
	} {
		f, _ := decodeAll(raw)
		var got []string
		for _, e := range f.Errors {
			got = append(got, e.Error())
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("%.80s:\n%s\nwant\n%s", raw, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

func TestFaultsOfLongValuesAreShort(t *testing.T) {
	for _, raw := range []string{
		`{"query_id":[` + strings.Repeat("1,", 5000) + `1]}`,
		`{"threshold_direction":"` + strings.Repeat("x", 10000) + `"}`,
		`{"top_k":` + strings.Repeat("9", 10000) + `}`,
	} {
		f, _ := decodeAll(raw)
		if len(f.Errors) != 1 || len(f.Errors[0].Error()) > 250 {
			t.Errorf("%.40s…: %v", raw, f.Errors)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(`{"query_id":"A","top_k":2e1,"threshold":"1","threshold_direction":"less","max_rows":5}`)
	f.Add(`{"top_k":1,"top_k":null}x`)
	f.Fuzz(func(t *testing.T, raw string) {
		fields, _ := decodeAll(raw)
		if len(fields.Errors) == 0 && strings.TrimSpace(raw) != "" && !json.Valid([]byte(raw)) {
			t.Errorf("accepted %q", raw)
		}
		for _, e := range fields.Errors {
			if len(e.Error()) > 1000 {
				t.Errorf("long message: %s", e)
			}
		}
	})
}
