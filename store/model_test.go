package store_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/store"
	"scimesh.dev/scimesh/store/storetest"
)

// modelTask is what the documentation says of one task's life.
type modelTask struct {
	phase               v1.TaskPhase
	attempt             int32
	failures, lost, max int32
	worker              int // index of the lease's owner
	expires             time.Time
	notBefore           time.Time
	recorded            int32 // attempt of the recorded artifact, 0 if none
}

func (m *modelTask) open() bool { return m.phase == v1.TaskLeased || m.phase == v1.TaskRunning }

// held reports whether a worker's lease of that attempt counts now.
func (m *modelTask) held(worker int, attempt int32, now time.Time) bool {
	return m.open() && m.worker == worker && m.attempt == attempt && m.expires.After(now)
}

// TestTaskAgainstModel drives one task through random operations, by workers
// with right and wrong leases, and compares each answer and the row with the model.
func TestTaskAgainstModel(t *testing.T) {
	c := newClock()
	s := storetest.New(t, withClock(c))
	runs := 0
	rapid.Check(t, func(rt *rapid.T) {
		runs++
		job := storetest.MakeRunningJob(t, s, fmt.Sprintf("model-%d", runs), 1, func(p *store.CreateJobParams) {
			p.Spec.MaxAttempts = rapid.Int32Range(1, 3).Draw(rt, "max attempts")
		})
		r := &modelRun{t: rt, tb: t, s: s, c: c, m: modelTask{phase: v1.TaskPending, max: job.Spec.MaxAttempts}}
		for i := range 2 {
			// New workers for each run: a quarantine is another test's matter.
			r.workers = append(r.workers, storetest.MakeWorker(t, s, fmt.Sprintf("w-%d-%d", runs, i)))
		}
		list, err := s.ListTasks(t.Context(), store.TaskFilter{Job: job.ID}, store.Page{})
		if err != nil || len(list.Items) != 1 {
			rt.Fatalf("tasks: %v, %v", list, err)
		}
		r.id = list.Items[0]
		rt.Repeat(map[string]func(*rapid.T){
			"claim": r.claim, "renew": r.renew, "record": r.record, "complete": r.complete,
			"fail": r.fail, "release": r.release, "expire": r.expire, "time passes": r.pass, "": r.check,
		})
		if err := s.EndJob(t.Context(), store.EndJobParams{Job: job.ID, Phase: v1.JobCancelled}); err != nil {
			rt.Fatal(err)
		}
		if _, err := s.CancelOpenTasks(t.Context(), job.ID, 10); err != nil {
			rt.Fatal(err)
		}
	})
	verify(t, s)
}

type modelRun struct {
	t       *rapid.T
	tb      *testing.T
	s       *store.Store
	c       *clock
	workers []store.Worker
	id      store.Task
	m       modelTask
}

// lease draws a lease that may be right, foreign or stale.
func (r *modelRun) lease(t *rapid.T) (int, store.Lease) {
	w := rapid.IntRange(0, 1).Draw(t, "worker")
	attempt := max(1, r.m.attempt-rapid.Int32Range(0, 1).Draw(t, "behind"))
	return w, store.Lease{Task: r.id.ID, Worker: r.workers[w].ID, Attempt: attempt}
}

// expect compares an answer with what the model says of the lease.
func (r *modelRun) expect(t *rapid.T, held bool, err error) bool {
	switch {
	case held && err != nil:
		t.Fatalf("a lease that is held: %v; model %+v", err, r.m)
	case !held && !errors.Is(err, store.ErrLeaseLost):
		t.Fatalf("a lease that is not held: %v, want ErrLeaseLost; model %+v", err, r.m)
	}
	return held
}

func (r *modelRun) claim(t *rapid.T) {
	w := rapid.IntRange(0, 1).Draw(t, "worker")
	store.RefreshDispatch(r.tb, r.s)
	task, ok := storetest.TryClaim(r.tb, r.s, r.workers[w])
	// Which of two workers may have a failed task soonest is another test's matter.
	may := r.m.phase == v1.TaskPending && !r.m.notBefore.After(r.c.now())
	if ok && !may {
		t.Fatalf("claimed %+v; model %+v", task, r.m)
	}
	if !ok {
		if may && r.m.failures == 0 {
			t.Fatalf("nothing claimed; model %+v", r.m)
		}
		return
	}
	r.m.phase, r.m.attempt, r.m.worker, r.m.expires = v1.TaskLeased, r.m.attempt+1, w, r.c.now().Add(r.s.LeaseTTL())
	if task.Task != r.id.ID || task.Attempt != r.m.attempt || !task.ExpiresAt.Equal(r.m.expires) {
		t.Fatalf("claimed %+v; model %+v", task, r.m)
	}
}

func (r *modelRun) renew(t *rapid.T) {
	w, l := r.lease(t)
	_, err := r.s.RenewLease(r.tb.Context(), store.RenewLeaseParams{Lease: l})
	if r.expect(t, r.m.held(w, l.Attempt, r.c.now()), err) {
		r.m.phase, r.m.expires = v1.TaskRunning, r.c.now().Add(r.s.LeaseTTL())
	}
}

func (r *modelRun) record(t *rapid.T) {
	w, l := r.lease(t)
	_, err := r.s.RecordTaskArtifact(r.tb.Context(), store.RecordTaskArtifactParams{Lease: l, FileRef: storetest.File("partial.csv", fmt.Sprint("attempt ", l.Attempt))})
	if r.expect(t, r.m.held(w, l.Attempt, r.c.now()), err) {
		r.m.recorded = l.Attempt
	}
}

func (r *modelRun) complete(t *rapid.T) {
	w, l := r.lease(t)
	artifacts, err := r.s.ListArtifacts(r.tb.Context(), store.ArtifactFilter{Task: r.id.ID, Kinds: []v1.ArtifactKind{v1.ArtifactPartial}}, store.Page{})
	if err != nil {
		t.Fatal(err)
	}
	p := store.CompleteTaskParams{Lease: l, ArtifactID: store.NewID(), SHA256: storetest.SHA256("nothing")}
	if len(artifacts.Items) == 1 {
		p.ArtifactID, p.SHA256 = artifacts.Items[0].ID, artifacts.Items[0].SHA256
	}
	got, err := r.s.CompleteTask(r.tb.Context(), p)
	switch {
	case r.m.phase == v1.TaskCompleted && r.m.worker == w && r.m.attempt == l.Attempt:
		if err != nil || !got.Repeated {
			t.Fatalf("repeated completion: %+v, %v", got, err)
		}
	case r.m.held(w, l.Attempt, r.c.now()) && r.m.recorded != l.Attempt:
		if !errors.Is(err, store.ErrConflict) {
			t.Fatalf("completion without an artifact of the attempt: %v", err)
		}
	default:
		if r.expect(t, r.m.held(w, l.Attempt, r.c.now()), err) {
			r.m.phase = v1.TaskCompleted
		}
	}
}

func (r *modelRun) fail(t *rapid.T) {
	w, l := r.lease(t)
	retryable := rapid.Bool().Draw(t, "retryable")
	got, err := r.s.FailTask(r.tb.Context(), store.FailTaskParams{Lease: l, Code: "X", Retryable: retryable})
	if !r.expect(t, r.m.held(w, l.Attempt, r.c.now()), err) {
		return
	}
	r.m.failures++
	r.m.phase, r.m.notBefore = v1.TaskPending, got.NotBefore
	if !retryable || r.m.failures >= r.m.max {
		r.m.phase = v1.TaskFailed
	}
	if got.Phase != r.m.phase {
		t.Fatalf("failure gave %+v; model %+v", got, r.m)
	}
}

func (r *modelRun) release(t *rapid.T) {
	w, l := r.lease(t)
	if r.expect(t, r.m.held(w, l.Attempt, r.c.now()), r.s.ReleaseTask(r.tb.Context(), l)) {
		r.m.phase = v1.TaskPending
	}
}

func (r *modelRun) expire(t *rapid.T) {
	got, err := r.s.ExpireLeases(r.tb.Context(), 10)
	if err != nil {
		t.Fatal(err)
	}
	want := store.Expired{}
	if r.m.open() && !r.m.expires.After(r.c.now()) {
		r.m.lost++
		r.m.phase, want = v1.TaskPending, store.Expired{Requeued: 1}
		if r.m.lost >= r.m.max {
			r.m.phase, want = v1.TaskFailed, store.Expired{Failed: 1}
		}
	}
	if got != want {
		t.Fatalf("expired %+v, want %+v; model %+v", got, want, r.m)
	}
}

func (r *modelRun) pass(t *rapid.T) {
	r.c.advance(time.Duration(rapid.Int64Range(1, int64(r.s.LeaseTTL())).Draw(t, "time")).Round(time.Microsecond))
}

func (r *modelRun) check(t *rapid.T) {
	got, err := r.s.GetTask(r.tb.Context(), r.id.ID)
	if err != nil {
		t.Fatal(err)
	}
	if got.Phase != r.m.phase || got.Attempt != r.m.attempt || got.Failures != r.m.failures || got.LostLeases != r.m.lost {
		t.Fatalf("task %+v; model %+v", got, r.m)
	}
	if r.m.open() && (got.LeaseOwner != r.workers[r.m.worker].ID || !got.LeaseExpiresAt.Equal(r.m.expires)) {
		t.Fatalf("lease of %s until %s; model %+v", got.LeaseOwner, got.LeaseExpiresAt, r.m)
	}
}
