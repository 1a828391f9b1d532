package v1

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func TestUnmarshalStrictNamesEveryFault(t *testing.T) {
	tests := map[string]struct {
		in   string
		want []string
	}{
		"fits": {in: `{"apiVersion":"scimesh.dev/v1","kind":"Job","metadata":{"name":"a","creationTimestamp":null},"spec":{"workload":"w","input":{}}}`},
		"unknown fields at several depths": {
			in: `{"kinds":"Job","metadata":{"nam":"a"},"spec":{"max_attempts":1,"input":{"chunks":[{"url":"x"}]}}}`,
			want: []string{
				"kinds: unknown field; did you mean kind?",
				"metadata.nam: unknown field; did you mean name?",
				"spec.input.chunks[0].url: unknown field; did you mean uri?",
				"spec.max_attempts: unknown field; did you mean maxAttempts?",
			},
		},
		"nothing alike":  {in: `{"metadata":{"zzzzzz":1}}`, want: []string{"metadata.zzzzzz: unknown field"}},
		"case counts":    {in: `{"Kind":"Job"}`, want: []string{"Kind: unknown field; did you mean kind?"}},
		"a field twice":  {in: `{"kind":"Job","kind":"Job"}`, want: []string{"kind: given more than once"}},
		"wrong types":    {in: `{"spec":{"maxAttempts":"3","suspend":1,"priority":1.5,"sharding":[]}}`, want: []string{`spec.maxAttempts: Invalid value: "3": must be a whole number of at most 32 bits`, `spec.priority: Invalid value: 1.5: must be a whole number of at most 32 bits`, `spec.sharding: Invalid value: must be an object`, `spec.suspend: Invalid value: 1: must be true or false`}},
		"too large":      {in: `{"spec":{"maxAttempts":3000000000}}`, want: []string{`spec.maxAttempts: Invalid value: 3000000000: must be a whole number of at most 32 bits`}},
		"a UUID":         {in: `{"spec":{"input":{"artifact":"abc"}}}`, want: []string{`spec.input.artifact: Invalid value: "abc": must be a valid UUID`}},
		"a time":         {in: `{"metadata":{"creationTimestamp":"yesterday"}}`, want: []string{`metadata.creationTimestamp: Invalid value: "yesterday": must be a time such as 2026-07-23T12:05:00Z`}},
		"not an object":  {in: `[]`, want: []string{`Invalid value: must be an object`}},
		"trailing data":  {in: `{} {}`, want: []string{`invalid JSON at byte 4: invalid character '{' after top-level value`}},
		"cut":            {in: `{"kind":`, want: []string{`invalid JSON at byte 8: unexpected end of JSON input`}},
		"labels of text": {in: `{"metadata":{"labels":{"a":1}}}`, want: []string{`metadata.labels[a]: Invalid value: 1: must be a string`}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			err := UnmarshalStrict([]byte(tc.in), &Job{})
			if invalid, ok := errors.AsType[*InvalidError](err); ok {
				for _, e := range invalid.Errors {
					got = append(got, (&InvalidError{Errors: field.ErrorList{e}}).Error())
				}
			} else if err != nil {
				t.Fatalf("error is a %T: %v", err, err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
		})
	}
}

func TestUnknownField(t *testing.T) {
	path := field.NewPath("spec", "parameters").Child("topk")
	got := AsError(field.ErrorList{UnknownField(path, []string{"query_id", "query_smiles", "top_k", "threshold"})}).Error()
	if want := "spec.parameters.topk: unknown field; did you mean top_k?"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

const one = `apiVersion: scimesh.dev/v1
kind: Job
metadata: {name: NAME}
spec: {workload: w, input: {path: a.tsv}, parameters: {threshold: 0.70}}
`

func named(name string) string { return strings.Replace(one, "NAME", name, 1) }

func TestDecodeJobs(t *testing.T) {
	asJSON := `{"apiVersion":"scimesh.dev/v1","kind":"Job","metadata":{"name":"c"},"spec":{"workload":"w","input":{"path":"a.tsv"}}}`
	tests := map[string]struct {
		in      string
		want    []string
		wantErr string
	}{
		"one":                 {in: named("a"), want: []string{"a"}},
		"byte order mark":     {in: "\xef\xbb\xbf" + named("a"), want: []string{"a"}},
		"CRLF":                {in: strings.ReplaceAll("---\n"+named("a")+"---\n"+named("b"), "\n", "\r\n"), want: []string{"a", "b"}},
		"several, some empty": {in: "# a comment\n---\n" + named("a") + "---\n\n--- # b\n" + named("b") + "---\n" + asJSON + "\n...\n", want: []string{"a", "b", "c"}},
		"JSON":                {in: asJSON, want: []string{"c"}},
		"a list":              {in: "apiVersion: v1\nkind: List\nitems:\n- " + strings.ReplaceAll(strings.TrimSpace(named("a")), "\n", "\n  ") + "\n- " + asJSON + "\n", want: []string{"a", "c"}},
		"a JobList of JSON":   {in: `{"apiVersion":"scimesh.dev/v1","kind":"JobList","metadata":{},"items":[` + asJSON + `]}`, want: []string{"c"}},
		"nothing":             {in: "\n# only a comment\n---\n"},
		"faults in two documents": {
			in:      named("a") + "---\n" + strings.Replace(named("b"), "workload", "worklod", 1) + "---\nkind: [\n",
			wantErr: "document 2 (line 5): spec.worklod: unknown field; did you mean workload?\ndocument 3 (line 10): invalid YAML: line 11: did not find expected node content",
		},
		"a fault in a list": {
			in:      `{"apiVersion":"v1","kind":"List","items":[` + asJSON + `,{"knd":"Job"}]}`,
			wantErr: "item 2: knd: unknown field; did you mean kind?",
		},
		"a key twice": {in: "kind: Job\nkind: Job\n", wantErr: `invalid YAML: line 2: key "kind" already set in map`},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			docs, err := DecodeJobs([]byte(tc.in))
			if got := errorText(err); got != tc.wantErr {
				t.Fatalf("error is %q, want %q", got, tc.wantErr)
			}
			var got []string
			for _, d := range docs {
				got = append(got, d.Job.Metadata.Name)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("jobs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestManifestKeepsFaultsOfForm(t *testing.T) {
	for name, tc := range map[string]struct{ in, workload, faults, err string }{
		"sound":        {in: `{"spec":{"workload":"w"}}`, workload: "w"},
		"an unknown":   {in: `{"spec":{"prioriti":1,"workload":"w"}}`, workload: "w", faults: "spec.prioriti: unknown field; did you mean priority?"},
		"given twice":  {in: `{"kind":"Job","spec":{"workload":"w"},"kind":"Job"}`, workload: "w", faults: "kind: given more than once"},
		"a wrong type": {in: `{"prioriti":1,"spec":{"workload":7}}`, err: "prioriti: unknown field; spec.workload: Invalid value: 7: must be a string"},
		"no JSON":      {in: `{"spec":`, err: "invalid"},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := DecodeManifest([]byte(tc.in))
			if !strings.Contains(errorText(err), tc.err) || (err == nil) != (tc.err == "") {
				t.Errorf("error is %v, want %q", err, tc.err)
			}
			if got := errorText(AsError(m.Faults)); got != tc.faults || m.Job.Spec.Workload != tc.workload {
				t.Errorf("faults %q, workload %q, want %q, %q", got, m.Job.Spec.Workload, tc.faults, tc.workload)
			}
			var direct JobManifest
			if err := json.Unmarshal([]byte(tc.in), &direct); (err == nil) != (tc.err == "") || errorText(AsError(direct.Faults)) != tc.faults {
				t.Errorf("as JSON: %v, faults %v", err, direct.Faults)
			}
		})
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func FuzzDecodeJobs(f *testing.F) {
	f.Add([]byte(named("a") + "---\n" + named("b")))
	f.Add([]byte(`{"kind":"List","items":[{"kind":"Job"},null,3]}`))
	f.Add([]byte(`{"spec":{"input":{"artifact":"x"},"maxAttempts":1e400}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		docs, err := DecodeJobs(data)
		if err != nil {
			var invalid *InvalidError
			if !errors.As(err, &invalid) || err.Error() == "" {
				t.Fatalf("error is %T %v", err, err)
			}
			return
		}
		for _, d := range docs {
			Default(&d.Job)
			Validate(&d.Job, ValidateOptions{})
			if _, err := json.Marshal(d.Job); err != nil {
				t.Fatalf("a decoded job does not print: %v", err)
			}
		}
	})
}
