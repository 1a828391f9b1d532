package store_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/store"
	"scimesh.dev/scimesh/store/storetest"
)

// clock is a time that a test moves.
type clock struct{ t time.Time }

func newClock() *clock { return &clock{time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)} }

func (c *clock) now() time.Time          { return c.t }
func (c *clock) advance(d time.Duration) { c.t = c.t.Add(d) }

func withClock(c *clock) func(*store.Config) {
	return func(cfg *store.Config) { cfg.Now = c.now }
}

// verify fails the test if an invariant is broken.
func verify(t *testing.T, s *store.Store) {
	t.Helper()
	violations, err := s.Verify(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range violations {
		t.Errorf("invariant %s: %s: %s", v.Invariant, v.Object, v.Detail)
	}
}

func getJob(t *testing.T, s *store.Store, ref string) store.Job {
	t.Helper()
	j, err := s.GetJob(t.Context(), ref)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func reduce(t *testing.T, s *store.Store, j store.Job) {
	t.Helper()
	_, token, err := s.AcquireJobStep(t.Context(), store.AcquireStepParams{
		Job: j.ID, From: []v1.JobPhase{v1.JobRunning, v1.JobReducing}, To: v1.JobReducing, Owner: store.NewID(), TTL: time.Minute,
	})
	if err != nil {
		t.Fatal(err)
	}
	rejects := storetest.File("rejects.csv", "rejects")
	err = s.FinishReduce(t.Context(), token, store.FinishReduceParams{
		Result: storetest.File("result.csv", "result of "+j.Name), Rows: 5, Ledger: v1.Ledger{RowsRead: 2, Scored: 2},
		Rejects: &rejects, RejectRows: 1,
		Conditions: []v1.Condition{{Type: v1.JobConditionComplete, Status: v1.ConditionTrue, Reason: "Reduced"}},
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestJobFromCreationToDeletion(t *testing.T) {
	s := storetest.New(t)
	j := storetest.MakeRunningJob(t, s, "whole-life", 2)
	if want := (v1.TaskCounts{Total: 2, Pending: 2}); j.Tasks != want || j.Phase != v1.JobRunning {
		t.Fatalf("planned job: phase %s, tasks %+v, want running, %+v", j.Phase, j.Tasks, want)
	}
	w := storetest.MakeWorker(t, s, "w")

	first := storetest.Claim(t, s, w)
	if first.Attempt != 1 || first.ChunkIndex != 0 || first.JobName != "whole-life" || first.InputSHA256 == "" {
		t.Errorf("claimed %+v", first)
	}
	var params map[string]string
	if err := json.Unmarshal(first.Parameters, &params); err != nil || params["query_smiles"] != "CCO" {
		t.Errorf("parameters %s, want those that the plan shares", first.Parameters)
	}
	half := 0.5
	r, err := s.RenewLease(t.Context(), store.RenewLeaseParams{Lease: first.Lease, Progress: &half})
	if err != nil || r.Cancel || r.ExpiresAt.Before(first.ExpiresAt) {
		t.Fatalf("renewal %+v, %v", r, err)
	}
	second := storetest.Claim(t, s, w)
	if got, want := getJob(t, s, "whole-life").Tasks, (v1.TaskCounts{Total: 2, Leased: 1, Running: 1}); got != want {
		t.Errorf("tasks %+v, want %+v", got, want)
	}
	task, err := s.GetTask(t.Context(), first.Task)
	if err != nil || task.Phase != v1.TaskRunning || *task.Progress != 0.5 || task.WorkerName != "w" {
		t.Errorf("running task %+v, %v", task, err)
	}
	if len(task.Attempts) != 1 || task.Attempts[0].Outcome != v1.AttemptActive {
		t.Errorf("attempts %+v, want one active", task.Attempts)
	}
	in, err := s.GetTaskInput(t.Context(), first.Task)
	if err != nil || in.Artifact == nil || in.Artifact.SHA256 != first.InputSHA256 || first.InputBytes == 0 || in.Artifact.SizeBytes != first.InputBytes || in.JobID != j.ID {
		t.Errorf("input %+v, %v", in, err)
	}

	storetest.Complete(t, s, first, "one")
	storetest.Complete(t, s, second, "two")
	verify(t, s)
	reducible, err := s.JobsToReduce(t.Context(), uuid.Nil, 10)
	if err != nil || !cmp.Equal(reducible, []uuid.UUID{j.ID}) {
		t.Errorf("jobs to reduce %v, %v", reducible, err)
	}
	results, err := s.ListCompletedResults(t.Context(), j.ID, -1, 10)
	if err != nil || len(results) != 2 || results[0].ChunkIndex != 0 || results[1].Artifact.SHA256 != storetest.SHA256("two") {
		t.Errorf("results %+v, %v", results, err)
	}

	reduce(t, s, j)
	j = getJob(t, s, "whole-life")
	if j.Phase != v1.JobCompleted || j.Result == nil || j.Result.Rows != 5 || j.Rejects.Rows != 1 || j.Ledger.RowsRead != 2 || j.Plan.RowsRead != 2 {
		t.Errorf("completed job %+v", j)
	}
	if c := v1.FindCondition(j.Conditions, v1.JobConditionComplete); c == nil || c.LastTransitionTime.IsZero() || c.ObservedGeneration != 1 {
		t.Errorf("condition %+v", c)
	}
	verify(t, s)

	if _, err := s.RequestDelete(t.Context(), "whole-life"); err != nil {
		t.Fatal(err)
	}
	for gone := false; !gone; {
		if gone, err = s.DeleteJob(t.Context(), j.ID, 1); err != nil {
			t.Fatal(err)
		}
		verify(t, s)
	}
	if _, err := s.GetJob(t.Context(), "whole-life"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("deleted job: %v, want ErrNotFound", err)
	}
	left, err := s.ListArtifacts(t.Context(), store.ArtifactFilter{}, store.Page{})
	if err != nil || len(left.Items) != 1 || left.Items[0].Kind != v1.ArtifactInput {
		t.Errorf("artifacts left %+v, %v, want the input alone", left.Items, err)
	}
}
