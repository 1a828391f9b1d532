package controllers_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/controllers/canceller"
	"scimesh.dev/scimesh/controllers/controllerstest"
	"scimesh.dev/scimesh/controllers/jobstep"
	"scimesh.dev/scimesh/controllers/planner"
	"scimesh.dev/scimesh/controllers/reducer"
	"scimesh.dev/scimesh/reconcile"
	"scimesh.dev/scimesh/store"
	"scimesh.dev/scimesh/workloads"
)

// fixture is a world with one of each controller of Jobs.
type fixture struct {
	*controllerstest.World
	planner, reducer, canceller reconcile.Reconciler
}

func newFixture(t *testing.T, options ...func(*store.Config)) *fixture {
	w := controllerstest.New(t, options...)
	env := w.Env()
	return &fixture{World: w,
		planner:   planner.New(w.Store, w.Blobs, w.Registry, env),
		reducer:   reducer.New(w.Store, w.Blobs, w.Registry, env),
		canceller: &canceller.Reconciler{Store: w.Store, Log: env.Log},
	}
}

// run reconciles the Job once and fails the test on an error.
func (f *fixture) run(r reconcile.Reconciler, id uuid.UUID) reconcile.Result {
	f.T.Helper()
	result, err := r.Reconcile(f.T.Context(), reconcile.Request{Key: id.String()})
	if err != nil {
		f.T.Fatal(err)
	}
	return result
}

func (f *fixture) wantPhase(id uuid.UUID, want v1.JobPhase) store.Job {
	f.T.Helper()
	job := f.Job(id)
	if job.Phase != want {
		f.T.Fatalf("phase %s (%s: %s), want %s", job.Phase, job.ErrorCode, job.ErrorMessage, want)
	}
	return job
}

func wantCondition(t *testing.T, job store.Job, conditionType string, status v1.ConditionStatus, reason string) {
	t.Helper()
	c := v1.FindCondition(job.Conditions, conditionType)
	if c == nil {
		t.Fatalf("no condition %s in %+v", conditionType, job.Conditions)
	}
	if c.Status != status || c.Reason != reason {
		t.Errorf("condition %s is %s (%s), want %s (%s)", conditionType, c.Status, c.Reason, status, reason)
	}
}

func TestAJobGoesFromCreatedToCompleted(t *testing.T) {
	f := newFixture(t)
	job := f.MakeJob("whole", 3)
	f.run(f.planner, job.ID)
	job = f.wantPhase(job.ID, v1.JobRunning)
	wantCondition(t, job, v1.JobConditionPlanned, v1.ConditionTrue, v1.ReasonPlanned)
	f.run(f.reducer, job.ID) // too early: nothing may happen
	f.wantPhase(job.ID, v1.JobRunning)

	if n := f.WorkAll(f.Worker("w")); n != 3 {
		t.Fatalf("%d tasks, want 3", n)
	}
	f.run(f.reducer, job.ID)
	job = f.wantPhase(job.ID, v1.JobCompleted)
	wantCondition(t, job, v1.JobConditionComplete, v1.ConditionTrue, v1.ReasonReduced)
	if got, want := f.Read(job.Result.ArtifactRef), controllerstest.WantResult("whole", 3); got != want {
		t.Errorf("result %q, want %q", got, want)
	}
	f.run(f.planner, job.ID) // once more changes nothing
	f.run(f.reducer, job.ID)
	if f.Lines.Plans.Load() != 1 || f.Lines.Reductions.Load() != 1 {
		t.Errorf("%d plans and %d reductions, want one of each", f.Lines.Plans.Load(), f.Lines.Reductions.Load())
	}
}

func TestAPlanThatTheUserMustMendFailsTheJobWithoutATask(t *testing.T) {
	f := newFixture(t)
	f.Lines.OnPlan = func(context.Context) error { return workloads.Errorf("QueryNotFound", "no row has the id X") }
	job := f.MakeJob("bad", 3)
	f.run(f.planner, job.ID)
	job = f.wantPhase(job.ID, v1.JobFailed)
	wantCondition(t, job, v1.JobConditionPlanned, v1.ConditionFalse, "QueryNotFound")
	if job.Tasks.Total != 0 || job.Result != nil || !strings.Contains(job.ErrorMessage, "no row has the id X") {
		t.Errorf("job %+v", job)
	}
}

func TestAFaultOfTheMachineIsTriedAgainAndAtLastGivenUp(t *testing.T) {
	f := newFixture(t)
	broken := errors.New("disk on fire")
	f.Lines.OnPlan = func(context.Context) error { return broken }
	job := f.MakeJob("unlucky", 1)
	for i := range jobstep.MaxFailures - 1 {
		_, err := f.planner.Reconcile(t.Context(), reconcile.Request{Key: job.ID.String()})
		if !errors.Is(err, broken) {
			t.Fatalf("attempt %d: error %v, want the fault", i+1, err)
		}
	}
	f.wantPhase(job.ID, v1.JobPlanning)
	f.run(f.planner, job.ID)
	job = f.wantPhase(job.ID, v1.JobFailed)
	wantCondition(t, job, v1.JobConditionPlanned, v1.ConditionFalse, v1.ReasonPlanningFailed)
	if strings.Contains(job.ErrorMessage, "fire") {
		t.Errorf("the message %q shows an internal error", job.ErrorMessage)
	}
}

func TestTheStepOfADeadCoordinatorIsTakenOver(t *testing.T) {
	f := newFixture(t)
	job := f.MakeJob("orphan", 2)
	f.run(f.planner, job.ID)
	f.WorkAll(f.Worker("w"))
	// A coordinator that took the reduction and was killed: it renews no more.
	const left = 300 * time.Millisecond
	_, _, err := f.Store.AcquireJobStep(t.Context(), store.AcquireStepParams{
		Job: job.ID, From: []v1.JobPhase{v1.JobRunning}, To: v1.JobReducing, Owner: uuid.New(), TTL: left,
	})
	if err != nil {
		t.Fatal(err)
	}
	again := f.run(f.reducer, job.ID).RequeueAfter
	if f.Lines.Reductions.Load() != 0 || again <= 0 || again > left+jobstep.Slack {
		t.Fatalf("%d reductions, look again in %v; want none while the lease lives", f.Lines.Reductions.Load(), again)
	}
	time.Sleep(again)
	f.run(f.reducer, job.ID)
	f.wantPhase(job.ID, v1.JobCompleted)
}

func TestAJobThatIsReducingCanBeCancelled(t *testing.T) {
	f := newFixture(t)
	job := f.MakeJob("cancelled", 2)
	f.run(f.planner, job.ID)
	f.WorkAll(f.Worker("w"))
	f.Lines.OnReduce = func(context.Context) error {
		if _, err := f.Store.RequestCancel(t.Context(), job.Name); err != nil {
			t.Error(err)
		}
		f.run(f.canceller, job.ID)
		return nil
	}
	_, err := f.reducer.Reconcile(t.Context(), reconcile.Request{Key: job.ID.String()})
	if !reconcile.IsConflict(err) {
		t.Errorf("error %v, want a conflict", err)
	}
	got := f.wantPhase(job.ID, v1.JobCancelled)
	wantCondition(t, got, v1.JobConditionCancelled, v1.ConditionTrue, v1.ReasonCancelRequested)
	if got.Result != nil {
		t.Error("a cancelled job has a result")
	}
}

func TestAPartialResultThatCannotBeReadIsComputedAgain(t *testing.T) {
	for name, damage := range map[string]func(t *testing.T, f *fixture, sha256 string){
		"gone": func(t *testing.T, f *fixture, sha256 string) {
			if err := f.Blobs.Delete(t.Context(), sha256); err != nil {
				t.Fatal(err)
			}
		},
		"damaged": func(t *testing.T, f *fixture, sha256 string) {
			path := filepath.Join(f.BlobDir, "sha256", sha256[:2], sha256)
			if err := os.Chmod(path, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte("rubbish!"), 0o600); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			job := f.MakeJob("partial", 3)
			f.run(f.planner, job.ID)
			w := f.Worker("w")
			f.WorkAll(w)
			results, err := f.Store.ListCompletedResults(t.Context(), job.ID, -1, 10)
			if err != nil {
				t.Fatal(err)
			}
			damage(t, f, results[1].Artifact.SHA256)
			f.run(f.reducer, job.ID)
			got := f.wantPhase(job.ID, v1.JobRunning)
			if got.Tasks.Pending != 1 || got.Tasks.Completed != 2 {
				t.Fatalf("tasks %+v, want one to be done again", got.Tasks)
			}
			// The task waits for its retry, and may be done by the same worker: there is no other.
			deadline := time.Now().Add(time.Minute)
			for f.WorkAll(w) == 0 {
				if time.Now().After(deadline) {
					t.Fatal("the task is never given out again")
				}
				time.Sleep(50 * time.Millisecond)
			}
			f.run(f.reducer, job.ID)
			got = f.wantPhase(job.ID, v1.JobCompleted)
			if text, want := f.Read(got.Result.ArtifactRef), controllerstest.WantResult("partial", 3); text != want {
				t.Errorf("result %q, want %q", text, want)
			}
		})
	}
}

func TestATaskThatFailedForGoodFailsTheJobAndCancelsTheRest(t *testing.T) {
	f := newFixture(t)
	job := f.MakeJob("doomed", 3)
	f.run(f.planner, job.ID)
	w := f.Worker("w")
	task, ok, err := f.Store.ClaimTask(t.Context(), store.ClaimParams{Worker: w.ID, Capabilities: w.Capabilities})
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	if _, err := f.Store.FailTask(t.Context(), store.FailTaskParams{Lease: task.Lease, Code: "BadInput", Message: "cannot be read"}); err != nil {
		t.Fatal(err)
	}
	f.run(f.reducer, job.ID)
	got := f.wantPhase(job.ID, v1.JobFailed)
	wantCondition(t, got, v1.JobConditionFailed, v1.ConditionTrue, v1.ReasonTaskFailed)
	if want := "task 0 failed: BadInput: cannot be read"; got.ErrorMessage != want {
		t.Errorf("message %q, want %q", got.ErrorMessage, want)
	}
	f.run(f.canceller, job.ID)
	if got := f.Job(job.ID).Tasks; got.Failed != 1 || got.Cancelled != 2 {
		t.Errorf("tasks %+v, want one failed and two cancelled", got)
	}
}

func TestTheDeadlineFailsTheJobAndIsAwaitedExactly(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	f := newFixture(t, func(c *store.Config) { c.Now = func() time.Time { return now } })
	job := f.MakeJob("late", 2, func(s *v1.JobSpec) { s.ActiveDeadlineSeconds = 100 })
	f.run(f.planner, job.ID)
	now = now.Add(40 * time.Second)
	if again := f.run(f.canceller, job.ID).RequeueAfter; again != 60*time.Second {
		t.Errorf("look again in %v, want 60s", again)
	}
	now = now.Add(60 * time.Second)
	f.run(f.canceller, job.ID)
	got := f.wantPhase(job.ID, v1.JobFailed)
	wantCondition(t, got, v1.JobConditionFailed, v1.ConditionTrue, v1.ReasonDeadlineExceeded)
	if got.Tasks.Cancelled != 2 {
		t.Errorf("tasks %+v, want both cancelled", got.Tasks)
	}
}

func TestADamagedJobGetsAConditionAndHarmsNobody(t *testing.T) {
	f := newFixture(t)
	bad, good := f.MakeJob("bad", 1), f.MakeJob("good", 1)
	f.Exec(`UPDATE jobs SET spec = '{"workload": 7}' WHERE id = $1`, bad.ID)
	for _, r := range []reconcile.Reconciler{f.planner, f.reducer} {
		f.run(r, bad.ID)
	}
	_, err := f.canceller.Reconcile(t.Context(), reconcile.Request{Key: bad.ID.String()})
	if !reconcile.IsTerminal(err) {
		t.Errorf("error %v, want a terminal one", err)
	}
	got, err := f.Store.GetJobByID(t.Context(), bad.ID)
	if !errors.Is(err, store.ErrDamaged) {
		t.Fatalf("error %v, want ErrDamaged", err)
	}
	wantCondition(t, got, v1.JobConditionDamaged, v1.ConditionTrue, v1.ReasonDamaged)

	f.run(f.planner, good.ID)
	f.WorkAll(f.Worker("w"))
	f.run(f.reducer, good.ID)
	f.wantPhase(good.ID, v1.JobCompleted)
}

func TestADamagedJobCanBeCancelledAndDeleted(t *testing.T) {
	f := newFixture(t)
	for name, damage := range map[string]string{
		"spec":       `UPDATE jobs SET spec = '[]' WHERE id = $1`,
		"conditions": `UPDATE jobs SET conditions = '[1]' WHERE id = $1`,
	} {
		job := f.MakeJob(name, 2)
		f.run(f.planner, job.ID)
		f.Exec(damage, job.ID)
		if _, err := f.Store.RequestDelete(t.Context(), name); err != nil {
			t.Fatal(err)
		}
		_, err := f.canceller.Reconcile(t.Context(), reconcile.Request{Key: job.ID.String()})
		if err != nil && !reconcile.IsTerminal(err) {
			t.Fatal(err)
		}
		got, _ := f.Store.GetJobByID(t.Context(), job.ID)
		if got.Phase != v1.JobCancelled || got.Tasks.Cancelled != 2 {
			t.Errorf("%s damaged: phase %s, tasks %+v, want all cancelled", name, got.Phase, got.Tasks)
		}
		for gone := false; !gone; {
			if gone, err = f.Store.DeleteJob(t.Context(), job.ID, 10); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestAKeyThatIsNoJobIsTerminal(t *testing.T) {
	f := newFixture(t)
	for _, r := range []reconcile.Reconciler{f.planner, f.reducer, f.canceller} {
		if _, err := r.Reconcile(t.Context(), reconcile.Request{Key: "x"}); !reconcile.IsTerminal(err) {
			t.Errorf("error %v, want a terminal one", err)
		}
		f.run(r, uuid.New()) // a job that is gone
	}
}
