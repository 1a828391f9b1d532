// Package workloadtest holds what every workload must satisfy, as tests, and a
// harness to plan, compute and reduce Jobs in other tests.
package workloadtest

import (
	"bytes"
	"context"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/workloads"
	"scimesh.dev/scimesh/workloads/local"
)

// Config says what to test a workload with.
type Config struct {
	Workload workloads.Workload
	// Input is a whole input, with rows that are rejected by the planner and by
	// the tasks, and Parameters are such that the result is not empty.
	Input      []byte
	Parameters string
	// Rows are shardings to compare, the coarsest first, which must give one
	// task; the last must give at least three.
	Rows []int64
	// BadInputs are inputs that Plan must refuse, besides those that no workload
	// can use.
	BadInputs map[string][]byte
}

// Run runs the conformance tests.
func Run(t *testing.T, c Config) {
	t.Run("describes itself", func(t *testing.T) { testDescribe(t, c) })
	t.Run("validating twice changes nothing", func(t *testing.T) { testValidate(t, c) })
	t.Run("plans are deterministic", func(t *testing.T) { testPlan(t, c) })
	t.Run("distributed equals local", func(t *testing.T) { testDistributed(t, c) })
	t.Run("a task computed twice gives the same bytes", func(t *testing.T) { testTwice(t, c) })
	t.Run("a corrupt partial result is found", func(t *testing.T) { testCorrupt(t, c) })
	t.Run("partial results must be complete and in order", func(t *testing.T) { testIncomplete(t, c) })
	t.Run("errors are fit for users", func(t *testing.T) { testErrors(t, c) })
	t.Run("faults of the machine are told apart", func(t *testing.T) { testFaults(t, c) })
	t.Run("a cancelled context ends every part", func(t *testing.T) { testCancel(t, c) })
}

func testDescribe(t *testing.T, c Config) {
	spec := c.Workload.Describe()
	var schema struct {
		Type                 string
		AdditionalProperties *bool
		Properties           map[string]struct{ Description string }
	}
	if err := json.Unmarshal(spec.ParametersSchema, &schema); err != nil {
		t.Fatalf("schema: %v", err)
	}
	if schema.Type != "object" || schema.AdditionalProperties == nil || *schema.AdditionalProperties {
		t.Error("the schema must be of an object without other properties")
	}
	for name, p := range schema.Properties {
		if p.Description == "" {
			t.Errorf("parameter %s has no description", name)
		}
	}
	if c.Workload.Name() == "" || spec.Version == "" || spec.Description == "" || len(spec.Inputs) == 0 || len(spec.Outputs) == 0 {
		t.Errorf("name, version, description, inputs or outputs are missing: %+v", spec)
	}
	valid, _ := c.Workload.Validate(nil, json.RawMessage(c.Parameters))
	var given map[string]json.RawMessage
	if err := json.Unmarshal(valid, &given); err != nil {
		t.Fatal(err)
	}
	for name := range given {
		if _, ok := schema.Properties[name]; !ok {
			t.Errorf("parameter %s is not in the schema", name)
		}
	}
}

func testValidate(t *testing.T, c Config) {
	path := field.NewPath("spec", "parameters")
	once, errs := c.Workload.Validate(path, json.RawMessage(c.Parameters))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	twice, errs := c.Workload.Validate(path, once)
	if len(errs) > 0 || !bytes.Equal(once, twice) {
		t.Errorf("%s became %s, %v", once, twice, errs)
	}
	_, errs = c.Workload.Validate(path, json.RawMessage(`{"no_such_parameter":1,"nor_this":{}}`))
	text := errs.ToAggregate().Error()
	if !strings.Contains(text, "spec.parameters.no_such_parameter: ") || !strings.Contains(text, "spec.parameters.nor_this: ") {
		t.Errorf("unknown fields: %s", text)
	}
	for _, raw := range []string{`[]`, `"x"`, `{`, `{}x`, `1`} {
		if _, errs := c.Workload.Validate(path, json.RawMessage(raw)); len(errs) == 0 {
			t.Errorf("accepted %s", raw)
		}
	}
}

func testPlan(t *testing.T, c Config) {
	for _, rows := range c.Rows {
		a := Start(t, c.Workload, c.Input, c.Parameters, rows)
		b := Start(t, c.Workload, c.Input, c.Parameters, rows)
		if d := cmp.Diff(a.Plan, b.Plan); d != "" {
			t.Errorf("%d rows a shard: plans differ:\n%s", rows, d)
		}
	}
	if n := len(Start(t, c.Workload, c.Input, c.Parameters, c.Rows[0]).Plan.Tasks); n != 1 {
		t.Errorf("%d rows a shard give %d tasks, want 1", c.Rows[0], n)
	}
	if n := len(Start(t, c.Workload, c.Input, c.Parameters, c.Rows[len(c.Rows)-1]).Plan.Tasks); n < 3 {
		t.Errorf("%d rows a shard give %d tasks, want 3 or more", c.Rows[len(c.Rows)-1], n)
	}
}

func testDistributed(t *testing.T, c Config) {
	var want Outcome
	for i, rows := range c.Rows {
		j := Start(t, c.Workload, c.Input, c.Parameters, rows)
		shuffled := func(n int) []int { return rand.New(rand.NewPCG(1, uint64(n))).Perm(n) }
		for k, order := range []func(int) []int{nil, descending, shuffled} {
			got := j.MustReduce(j.ExecuteAll(order, 1))
			if i == 0 && k == 0 {
				want = got
				checkOutcome(t, j, want)
			}
			sameOutcome(t, got, want)
		}
		sameOutcome(t, j.MustReduce(j.ExecuteAll(nil, 4)), want)
		sameAsLocal(t, j, want)
	}
}

func descending(n int) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = n - 1 - i
	}
	return order
}

// checkOutcome checks that there is something to compare at all.
func checkOutcome(t *testing.T, j *Job, o Outcome) {
	t.Helper()
	if o.Rows == 0 || o.RejectRows == 0 {
		t.Errorf("%d rows and %d rejects: the input tests too little", o.Rows, o.RejectRows)
	}
	if sum := ledgerSum(o.Ledger); sum != o.Ledger.RowsRead || sum != j.Plan.RowsRead {
		t.Errorf("ledger %+v adds up to %d, the planner read %d", o.Ledger, sum, j.Plan.RowsRead)
	}
	if n := strings.Count(o.RejectBytes, "\r\n"); int64(n) != o.RejectRows+1 {
		t.Errorf("%d lines of rejects, want %d and a header", n, o.RejectRows)
	}
}

func ledgerSum(l v1.Ledger) int64 {
	n := l.Scored
	for _, m := range []map[string]int64{l.Excluded, l.Rejected} {
		for _, v := range m {
			n += v
		}
	}
	return n
}

func sameOutcome(t *testing.T, got, want Outcome) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("the outcome differs:\n%s", d)
	}
}

func sameAsLocal(t *testing.T, j *Job, want Outcome) {
	t.Helper()
	var result, rejects bytes.Buffer
	_, err := local.Run(t.Context(), local.Request{
		Workload: j.workload, Plan: j.Request, TempDir: t.TempDir(), Threads: 2,
		Output: &result, Rejects: &rejects, Order: descending,
	})
	if err != nil || result.String() != want.ResultBytes || rejects.String() != want.RejectBytes {
		t.Errorf("local run: %v, %d and %d bytes; want %d and %d",
			err, result.Len(), rejects.Len(), len(want.ResultBytes), len(want.RejectBytes))
	}
}

func testTwice(t *testing.T, c Config) {
	j := Start(t, c.Workload, c.Input, c.Parameters, c.Rows[len(c.Rows)-1])
	first := j.ExecuteAll(nil, 1)
	for _, threads := range []int{1, 2, 3, 8} {
		for i, again := range j.ExecuteAll(descending, threads) {
			if !bytes.Equal(first[i], again) {
				t.Errorf("task %d differs with %d threads", i, threads)
			}
		}
	}
}

// cancelled returns a context that has ended.
func cancelled(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}
