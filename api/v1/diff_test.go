package v1

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDiffMutable(t *testing.T) {
	tests := map[string]struct {
		edit          func(*Job)
		want          Operation
		wantImmutable []string
	}{
		"the same":                       {want: OperationUnchanged},
		"parameters written differently": {edit: func(j *Job) { j.Spec.Parameters = json.RawMessage(`{"top_k":20,"query_id":"CHEMBL939"}`) }, want: OperationUnchanged},
		"labels":                         {edit: func(j *Job) { j.Metadata.Labels = nil }, want: OperationConfigured},
		"annotations":                    {edit: func(j *Job) { j.Metadata.Annotations = map[string]string{"a": "b"} }, want: OperationConfigured},
		"priority":                       {edit: func(j *Job) { j.Spec.Priority = 5 }, want: OperationConfigured},
		"parallelism":                    {edit: func(j *Job) { j.Spec.Parallelism = 5 }, want: OperationConfigured},
		"suspend":                        {edit: func(j *Job) { j.Spec.Suspend = true }, want: OperationConfigured},
		"deadline":                       {edit: func(j *Job) { j.Spec.ActiveDeadlineSeconds = 5 }, want: OperationConfigured},
		"time to live":                   {edit: func(j *Job) { j.Spec.TTLSecondsAfterFinished = 5 }, want: OperationConfigured},
		"everything fixed, and one that is not": {
			edit: func(j *Job) {
				j.Spec = JobSpec{Workload: "w", Input: JobInput{Chunks: []InputChunk{{URI: "u"}}}, MaxAttempts: 7, Priority: 1,
					Parameters: json.RawMessage(`{"top_k": 21, "threshold": "0.7"}`), Sharding: Sharding{Rows: 1}}
			},
			wantImmutable: []string{
				"spec.workload", "spec.input",
				"spec.parameters.query_id", "spec.parameters.threshold", "spec.parameters.top_k",
				"spec.sharding.rows", "spec.maxAttempts",
			},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			op, immutable := DiffMutable(makeJob(nil), makeJob(tc.edit))
			if op != tc.want {
				t.Errorf("operation %q, want %q", op, tc.want)
			}
			if diff := cmp.Diff(tc.wantImmutable, immutable); diff != "" {
				t.Errorf("immutable (-want +got):\n%s", diff)
			}
		})
	}
	if op, _ := DiffMutable(nil, makeJob(nil)); op != OperationCreated {
		t.Errorf("without a stored job the operation is %q", op)
	}
}

func TestParameterDiffComparesNumbersByValue(t *testing.T) {
	tests := map[string]struct {
		a, b string
		same bool
	}{
		"whole and decimal":    {`{"x":20}`, `{"x":20.0}`, true},
		"trailing zeros":       {`{"x":0.7}`, `{"x":0.70}`, true},
		"large whole numbers":  {`{"x":9007199254740993}`, `{"x":9007199254740992}`, false},
		"number and text":      {`{"x":1}`, `{"x":"1"}`, false},
		"nested":               {`{"x":[{"y":1.0}]}`, `{"x":[{"y":1}]}`, true},
		"null and absent":      {`{"x":null}`, `{}`, false},
		"not an object at all": {`3`, `4`, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := len(parameterDiff(json.RawMessage(tc.a), json.RawMessage(tc.b))) == 0; got != tc.same {
				t.Errorf("same = %v, want %v", got, tc.same)
			}
		})
	}
}
