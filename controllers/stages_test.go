package controllers_test

import (
	"testing"
	"time"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/controllers/controllerstest"
	"scimesh.dev/scimesh/store"
)

// staged is a Job whose first stage is done.
func staged(t *testing.T, n int) (*fixture, store.Job, store.Worker) {
	f := newFixture(t)
	f.Lines.Staged = true
	job := f.MakeJob("staged", n)
	f.run(f.planner, job.ID)
	f.run(f.planner, job.ID) // too early for the second stage
	if f.Lines.Extensions.Load() != 0 {
		t.Fatal("the second stage was planned before the first was done")
	}
	w := f.Worker("w")
	if done := f.WorkAll(w); done != n {
		t.Fatalf("%d tasks in the first stage, want %d", done, n)
	}
	return f, job, w
}

func TestASecondStageFollowsTheFirst(t *testing.T) {
	f, job, w := staged(t, 3)
	f.run(f.reducer, job.ID) // not yet
	f.wantPhase(job.ID, v1.JobRunning)
	ids, err := f.Store.JobsToPlan(t.Context(), store.NewID(), 10)
	if err != nil || len(ids) != 0 {
		t.Errorf("jobs after all ids: %v, %v", ids, err)
	}
	ids, err = f.Store.JobsToPlan(t.Context(), [16]byte{}, 10)
	if err != nil || len(ids) != 1 || ids[0] != job.ID {
		t.Errorf("jobs that wait for the planner: %v, %v", ids, err)
	}
	f.run(f.planner, job.ID)
	got := f.wantPhase(job.ID, v1.JobRunning)
	if got.Tasks.Total != 6 || got.Tasks.Pending != 3 || got.Plan.More || string(got.Plan.Notes) == "" {
		t.Fatalf("tasks %+v, plan %+v", got.Tasks, got.Plan)
	}
	task, ok, err := f.Store.ClaimTask(t.Context(), store.ClaimParams{Worker: w.ID, Capabilities: w.Capabilities})
	if err != nil || !ok || task.ChunkIndex != 3 || len(task.Inputs) != 1 || task.Inputs[0].SHA256 != task.InputSHA256 {
		t.Fatalf("claimed %+v, %v, %v", task, ok, err)
	}
	if file, err := f.Store.GetTaskFile(t.Context(), task.Task, 0); err != nil || file != task.Inputs[0] {
		t.Errorf("its file %+v, %v, want %+v", file, err, task.Inputs[0])
	}
	if _, err := f.Store.GetTaskFile(t.Context(), task.Task, 1); err == nil {
		t.Error("a task of two files has a third")
	}
	if err := f.Store.ReleaseTask(t.Context(), task.Lease); err != nil {
		t.Fatal(err)
	}
	f.run(f.reducer, job.ID)
	f.wantPhase(job.ID, v1.JobRunning)
	if n := f.WorkAll(w); n != 3 {
		t.Fatalf("%d tasks in the second stage, want 3", n)
	}
	f.run(f.planner, job.ID) // nothing more to plan
	f.run(f.reducer, job.ID)
	got = f.wantPhase(job.ID, v1.JobCompleted)
	if text, want := f.Read(got.Result.ArtifactRef), controllerstest.WantResult("staged", 3); text != want {
		t.Errorf("result %q, want %q", text, want)
	}
	if f.Lines.Plans.Load() != 1 || f.Lines.Extensions.Load() != 1 || f.Lines.Reductions.Load() != 1 {
		t.Error("a step was done twice")
	}
	violations, err := f.Store.Verify(t.Context())
	if err != nil || len(violations) > 0 {
		t.Errorf("verify: %v, %v", violations, err)
	}
}

func TestAResultThatTheSecondStageCannotReadIsComputedAgain(t *testing.T) {
	f, job, w := staged(t, 3)
	results, err := f.Store.ListCompletedResults(t.Context(), job.ID, -1, 10)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Blobs.Delete(t.Context(), results[1].Artifact.SHA256); err != nil {
		t.Fatal(err)
	}
	f.run(f.planner, job.ID)
	got := f.wantPhase(job.ID, v1.JobRunning)
	if got.Tasks.Total != 3 || got.Tasks.Pending != 1 || !got.Plan.More {
		t.Fatalf("tasks %+v, want one to be done again", got.Tasks)
	}
	deadline := time.Now().Add(time.Minute)
	for f.WorkAll(w) == 0 {
		if time.Now().After(deadline) {
			t.Fatal("the task is never given out again")
		}
		time.Sleep(50 * time.Millisecond)
	}
	f.run(f.planner, job.ID)
	f.WorkAll(w)
	f.run(f.reducer, job.ID)
	got = f.wantPhase(job.ID, v1.JobCompleted)
	if text, want := f.Read(got.Result.ArtifactRef), controllerstest.WantResult("staged", 3); text != want {
		t.Errorf("result %q, want %q", text, want)
	}
}

func TestAJobThatWaitsForItsSecondStageCanBeCancelled(t *testing.T) {
	f, job, _ := staged(t, 2)
	if _, err := f.Store.RequestCancel(t.Context(), job.Name); err != nil {
		t.Fatal(err)
	}
	f.run(f.planner, job.ID)
	f.run(f.canceller, job.ID)
	got := f.wantPhase(job.ID, v1.JobCancelled)
	if got.Tasks.Completed != 2 || f.Lines.Extensions.Load() != 0 {
		t.Errorf("tasks %+v, %d extensions", got.Tasks, f.Lines.Extensions.Load())
	}
}
