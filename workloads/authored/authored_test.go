package authored

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/workloads"
	"scimesh.dev/scimesh/workloads/local"
)

const testSchema = `{"type":"object","additionalProperties":false,"required":["n"],"properties":{
	"n":{"type":"integer","minimum":1,"maximum":9},"mode":{"type":"string","enum":["a","b"],"default":"a"},
	"names":{"type":"array","items":{"type":"string","maxLength":3}},"x":{"type":"number"},"on":{"type":"boolean"}}}`

func spec(schema string) v1.WorkloadSpec {
	return v1.WorkloadSpec{Version: "1", Description: "test", ParametersSchema: json.RawMessage(schema), Inputs: []string{"text"}, Outputs: []string{"text"}}
}

func newWorkload(t *testing.T) *Workload {
	t.Helper()
	w, err := New("test", spec(testSchema))
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestDescriptionsAreChecked(t *testing.T) {
	for name, schema := range map[string]string{
		"no JSON":                `{`,
		"no object":              `{"type":"string"}`,
		"an open object":         `{"type":"object"}`,
		"an unchecked keyword":   `{"type":"object","additionalProperties":false,"patternProperties":{}}`,
		"an unknown type":        `{"type":"object","additionalProperties":false,"properties":{"a":{"type":"date"}}}`,
		"a property of no type":  `{"type":"object","additionalProperties":false,"properties":{"a":{}}}`,
		"items of unknown types": `{"type":"object","additionalProperties":false,"properties":{"a":{"type":"array","items":{"type":"x"}}}}`,
	} {
		if _, err := New("test", spec(schema)); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
	if _, err := New("No Name", spec(testSchema)); err == nil {
		t.Error("a name that no Job could have was accepted")
	}
}

func TestParametersAreCheckedByTheSchema(t *testing.T) {
	w := newWorkload(t)
	got, errs := w.Validate(field.NewPath("spec", "parameters"), json.RawMessage(`{"n":2,"names":["abc"],"x":0.5,"on":true}`))
	if want := `{"mode":"a","n":2,"names":["abc"],"on":true,"x":0.5}`; len(errs) > 0 || string(got) != want {
		t.Errorf("%s, %v; want %s", got, errs, want)
	}
	for raw, want := range map[string]string{
		`{}`:                        "spec.parameters.n: Required",
		`{"n":0}`:                   "spec.parameters.n: ",
		`{"n":1.5}`:                 "must be of type integer",
		`{"n":1,"m":1}`:             "spec.parameters.m: ",
		`{"n":1,"mode":"c"}`:        "spec.parameters.mode: ",
		`{"n":1,"names":["abcd"]}`:  "spec.parameters.names[0]: ",
		`{"n":1,"names":["a",2]}`:   "spec.parameters.names[1]: ",
		`{"n":1,"on":"yes"}`:        "must be of type boolean",
		`[1]`:                       "must be a JSON object",
		`{"n":1,"n":2}`:             "must be a JSON object",
		`{"n":1,"x":"y","names":1}`: "spec.parameters.x: ",
	} {
		_, errs := w.Validate(field.NewPath("spec", "parameters"), json.RawMessage(raw))
		if text := fmt.Sprint(errs.ToAggregate()); !strings.Contains(text, want) {
			t.Errorf("%s: %s; want %s", raw, text, want)
		}
	}
}

// bundleOf packs pairs of names and texts.
func bundleOf(t *testing.T, entries ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	for i := 0; i < len(entries); i += 2 {
		if err := writeEntry(&b, entries[i], int64(len(entries[i+1])), strings.NewReader(entries[i+1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := writeHeader(&b, header{End: true}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

func partial(chunk int32, b []byte) workloads.Partial {
	return workloads.Partial{ChunkIndex: chunk, File: workloads.File{SizeBytes: int64(len(b))}, Open: func(context.Context) (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(b)), nil
	}}
}

// extend asks for the tasks that follow from partial results.
func extend(t *testing.T, notes string, results ...[]byte) (workloads.Extension, *local.Dir, error) {
	t.Helper()
	dir := local.NewDir(t.TempDir())
	e, err := newWorkload(t).Extend(t.Context(), workloads.ExtendRequest{
		Parameters: json.RawMessage(`{"n":1}`), Notes: json.RawMessage(notes), Tasks: len(results), Files: dir,
		Partials: func(yield func(workloads.Partial, error) bool) {
			for i, b := range results {
				if !yield(partial(int32(i), b), nil) {
					return
				}
			}
		},
	})
	return e, dir, err
}

func TestAPlanBecomesTasksInOrder(t *testing.T) {
	plan := fmt.Sprintf(`{"tasks":[{"chunk_index":1,"input":{"sha256":"%s"},"parameters":{"smiles":"F/C=C/F"}},{"chunk_index":0,"input":{"sha256":"%s"}}]}`, digest("b"), digest("a"))
	e, _, err := extend(t, `{}`, bundleOf(t, "plan", plan, digest("a"), "a", digest("b"), "b"))
	if err != nil || len(e.Tasks) != 2 || !e.More {
		t.Fatalf("%+v, %v", e, err)
	}
	if e.Tasks[0].Input.SHA256 != digest("a") || e.Tasks[1].Input.SHA256 != digest("b") ||
		string(e.Tasks[1].Parameters) != `{"step":"task","chunk_index":1,"parameters":{"smiles":"F/C=C/F"}}` {
		t.Errorf("tasks %+v", e.Tasks)
	}
	e, dir, err := extend(t, string(e.Notes), []byte("the plan"), []byte("first"), []byte("second"))
	if err != nil || len(e.Tasks) != 1 || e.More {
		t.Fatalf("%+v, %v", e, err)
	}
	f, err := dir.Open(e.Tasks[0].Input.SHA256)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if b, err := io.ReadAll(f); err != nil || !bytes.Equal(b, bundleOf(t, "0", "first", "1", "second")) {
		t.Errorf("the reducer's input is %q, %v", b, err)
	}
}

func TestPlansAreRefusedWhole(t *testing.T) {
	task := func(fields string) string {
		return fmt.Sprintf(`{"tasks":[{"chunk_index":0,"input":{"sha256":"%s"}%s}]}`, digest("a"), fields)
	}
	for name, plan := range map[string]string{
		"a path in a parameter":         task(`,"parameters":{"file":"/etc/passwd"}`),
		"a path deep in parameters":     task(`,"parameters":{"a":[{"b":"../x"}]}`),
		"a Windows path":                task(`,"parameters":{"a":"C:\\temp\\x"}`),
		"a local URI":                   task(`,"parameters":{"a":"file:///tmp/x"}`),
		"a worker's URI":                task(`,"parameters":{"a":"worker://here/x"}`),
		"a shell command":               task(`,"parameters":{"command":"rm -rf ."}`),
		"an unknown field":              task(`,"command":["sh"]`),
		"a path as input":               `{"tasks":[{"chunk_index":0,"input":"/tmp/a"}]}`,
		"a URI as input":                `{"tasks":[{"chunk_index":0,"input":{"uri":"http://x"}}]}`,
		"a path as digest":              `{"tasks":[{"chunk_index":0,"input":{"sha256":"/tmp/a"}}]}`,
		"an input that is not there":    `{"tasks":[{"chunk_index":0,"input":{"sha256":"` + digest("other") + `"}}]}`,
		"parameters that are a list":    task(`,"parameters":[1]`),
		"too many parameters":           task(`,"parameters":{"a":"` + strings.Repeat("x", maxParameters) + `"}`),
		"NUL in a parameter":            task(`,"parameters":{"a":"\u0000"}`),
		"no task":                       `{"tasks":[]}`,
		"a second chunk 0":              `{"tasks":[{"chunk_index":0,"input":{"sha256":"` + digest("a") + `"}},{"chunk_index":0,"input":{"sha256":"` + digest("a") + `"}}]}`,
		"a chunk that is missing":       `{"tasks":[{"chunk_index":1,"input":{"sha256":"` + digest("a") + `"}}]}`,
		"a negative chunk":              `{"tasks":[{"chunk_index":-1,"input":{"sha256":"` + digest("a") + `"}}]}`,
		"something after the document":  task("") + "{}",
		"no JSON":                       `tasks: []`,
		"a digest that is not of bytes": `{"tasks":[{"chunk_index":0,"input":{"sha256":"` + strings.ToUpper(digest("a")) + `"}}]}`,
	} {
		_, _, err := extend(t, `{}`, bundleOf(t, "plan", plan, digest("a"), "a"))
		var user *workloads.Error
		if !errors.As(err, &user) || user.Reason != ReasonPlanInvalid {
			t.Errorf("%s: got %v, want %s", name, err, ReasonPlanInvalid)
		}
	}
	_, _, err := extend(t, `{}`, bundleOf(t, "plan", task(""), digest("a"), "other bytes"))
	var user *workloads.Error
	if !errors.As(err, &user) || user.Reason != ReasonPlanInvalid {
		t.Errorf("a shard under another's digest: got %v", err)
	}
}

// A bundle that was cut, at whatever byte, costs its task an attempt.
func TestCutBundlesAreComputedAgain(t *testing.T) {
	plan := bundleOf(t, "plan", `{"tasks":[{"chunk_index":0,"input":{"sha256":"`+digest("a")+`"}}]}`, digest("a"), "a")
	final := bundleOf(t, "final", `{"filename":"x.csv","content_type":"text/csv","rows":1,"rows_read":1}`, "result", "x\r\n")
	for cut := range plan {
		_, _, err := extend(t, `{}`, plan[:cut])
		if p := (*workloads.PartialError)(nil); !errors.As(err, &p) || p.ChunkIndex != 0 {
			t.Errorf("a plan cut at byte %d: got %v", cut, err)
		}
	}
	for cut := range final {
		_, err := reduce(t, final[:cut])
		if p := (*workloads.PartialError)(nil); !errors.As(err, &p) || p.ChunkIndex != 2 {
			t.Errorf("a result cut at byte %d: got %v", cut, err)
		}
	}
	if _, err := reduce(t, append(bytes.Clone(final), '\n')); err == nil {
		t.Error("a byte after the end was not seen")
	}
}

// reduce takes the final file from the third partial result.
func reduce(t *testing.T, last []byte) (workloads.ReduceResult, error) {
	t.Helper()
	return newWorkload(t).Reduce(t.Context(), workloads.ReduceRequest{
		Tasks: 3, Files: local.NewDir(t.TempDir()), RowsRead: -1,
		Partials: func(yield func(workloads.Partial, error) bool) {
			_ = yield(partial(0, nil), nil) && yield(partial(1, nil), nil) && yield(partial(2, last), nil)
		},
	})
}

func TestTheLedgerOfAResultMustAddUp(t *testing.T) {
	good, err := reduce(t, bundleOf(t, "final", `{"filename":"x.csv","content_type":"text/csv","rows":4,"rows_read":9,"excluded":{"Own":2},"rejected":{"Bad":3}}`, "result", "x\r\n"))
	if err != nil || good.Rows != 4 || good.Ledger.Scored != 4 || good.Result.SHA256 != digest("x\r\n") || good.Result.Name != "x.csv" {
		t.Errorf("%+v, %v", good, err)
	}
	for name, said := range map[string]string{
		"more rejected than read": `{"filename":"x","content_type":"t","rows":0,"rows_read":1,"rejected":{"Bad":2}}`,
		"fewer than none":         `{"filename":"x","content_type":"t","rows":0,"rows_read":1,"rejected":{"Bad":-1}}`,
		"an unknown field":        `{"filename":"x","content_type":"t","rows":0,"rows_read":1,"path":"/tmp/x"}`,
	} {
		if _, err := reduce(t, bundleOf(t, "final", said, "result", "x")); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}
