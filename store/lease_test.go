package store_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/store"
	"scimesh.dev/scimesh/store/storetest"
)

// Whoever does not hold the lease changes nothing, whatever the operation.
func TestLeaseThatIsNotHeldChangesNothing(t *testing.T) {
	for name, spoil := range map[string]func(c *clock, l *store.Lease, t *testing.T, s *store.Store){
		"foreign worker": func(_ *clock, l *store.Lease, t *testing.T, s *store.Store) {
			l.Worker = storetest.MakeWorker(t, s, "other").ID
		},
		"earlier attempt": func(_ *clock, l *store.Lease, _ *testing.T, _ *store.Store) { l.Attempt-- },
		"later attempt":   func(_ *clock, l *store.Lease, _ *testing.T, _ *store.Store) { l.Attempt++ },
		"unknown task":    func(_ *clock, l *store.Lease, _ *testing.T, _ *store.Store) { l.Task = store.NewID() },
		"expired, though the reaper has not come": func(c *clock, _ *store.Lease, _ *testing.T, s *store.Store) { c.advance(s.LeaseTTL()) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newClock()
			s := storetest.New(t, withClock(c))
			storetest.MakeRunningJob(t, s, "job", 1)
			w := storetest.MakeWorker(t, s, "w")
			first := storetest.Claim(t, s, w)
			if err := s.ReleaseTask(t.Context(), first.Lease); err != nil {
				t.Fatal(err)
			}
			task := storetest.Claim(t, s, w)
			artifact := storetest.Record(t, s, task, "result")
			lease := task.Lease
			spoil(c, &lease, t, s)
			before, err := s.GetTask(t.Context(), task.Task)
			if err != nil {
				t.Fatal(err)
			}

			_, errRenew := s.RenewLease(t.Context(), store.RenewLeaseParams{Lease: lease})
			_, errCheck := s.CheckLease(t.Context(), lease)
			_, errRecord := s.RecordTaskArtifact(t.Context(), store.RecordTaskArtifactParams{Lease: lease, FileRef: storetest.File("x", "other")})
			_, errFail := s.FailTask(t.Context(), store.FailTaskParams{Lease: lease, Code: "X", Retryable: true})
			_, errComplete := s.CompleteTask(t.Context(), store.CompleteTaskParams{Lease: lease, ArtifactID: artifact.ID, SHA256: artifact.SHA256})
			errRelease := s.ReleaseTask(t.Context(), lease)
			for operation, err := range map[string]error{
				"renew": errRenew, "check": errCheck, "record": errRecord, "fail": errFail, "complete": errComplete, "release": errRelease,
			} {
				// A task that does not exist may also be not found.
				if !errors.Is(err, store.ErrLeaseLost) && (name != "unknown task" || !errors.Is(err, store.ErrNotFound)) {
					t.Errorf("%s: %v, want ErrLeaseLost", operation, err)
				}
			}
			after, err := s.GetTask(t.Context(), task.Task)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(before, after); diff != "" {
				t.Errorf("the task has changed:\n%s", diff)
			}
			a, err := s.GetArtifact(t.Context(), artifact.ID)
			if err != nil || a.SHA256 != artifact.SHA256 {
				t.Errorf("the artifact has changed: %+v, %v", a, err)
			}
			verify(t, s)
		})
	}
}

func TestCompletionIsIdempotent(t *testing.T) {
	c := newClock()
	s := storetest.New(t, withClock(c))
	job := storetest.MakeRunningJob(t, s, "job", 2)
	w := storetest.MakeWorker(t, s, "w")
	task, other := storetest.Claim(t, s, w), storetest.Claim(t, s, w)
	artifact := storetest.Record(t, s, task, "result")
	foreign := storetest.Record(t, s, other, "result of the other task")
	p := store.CompleteTaskParams{Lease: task.Lease, ArtifactID: artifact.ID, SHA256: artifact.SHA256, ContentType: artifact.ContentType, Metrics: json.RawMessage(`{"processed_rows":3}`)}

	for what, change := range map[string]func(*store.CompleteTaskParams){
		"another task's artifact": func(p *store.CompleteTaskParams) { p.ArtifactID, p.SHA256 = foreign.ID, foreign.SHA256 },
		"no artifact":             func(p *store.CompleteTaskParams) { p.ArtifactID = store.NewID() },
		"another checksum":        func(p *store.CompleteTaskParams) { p.SHA256 = storetest.SHA256("x") },
		"another content type":    func(p *store.CompleteTaskParams) { p.ContentType = "image/png" },
	} {
		bad := p
		change(&bad)
		if _, err := s.CompleteTask(t.Context(), bad); !errors.Is(err, store.ErrConflict) {
			t.Errorf("%s: %v, want ErrConflict", what, err)
		}
	}
	bad := p
	bad.Metrics = json.RawMessage(`[1]`)
	if _, err := s.CompleteTask(t.Context(), bad); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("metrics that are no object: %v, want ErrInvalid", err)
	}

	if got, err := s.CompleteTask(t.Context(), p); err != nil || got != (store.Completion{JobID: job.ID}) {
		t.Fatalf("completion %+v, %v", got, err)
	}
	c.advance(time.Hour) // long after the lease would have expired
	if got, err := s.CompleteTask(t.Context(), p); err != nil || got != (store.Completion{JobID: job.ID, Repeated: true}) {
		t.Errorf("repeated completion %+v, %v", got, err)
	}
	bad = p
	bad.ArtifactID, bad.SHA256 = foreign.ID, foreign.SHA256
	if _, err := s.CompleteTask(t.Context(), bad); !errors.Is(err, store.ErrConflict) {
		t.Errorf("another result of the same attempt: %v, want ErrConflict", err)
	}
	if got := getJob(t, s, "job").Tasks.Completed; got != 1 {
		t.Errorf("%d tasks completed, want 1", got)
	}
	done, err := s.GetTask(t.Context(), task.Task)
	if err != nil || len(done.Attempts) != 1 || done.Attempts[0].Outcome != v1.AttemptCompleted || string(done.Attempts[0].Metrics) != `{"processed_rows": 3}` {
		t.Errorf("completed task %+v, %v", done, err)
	}
	if _, err := s.RecordTaskArtifact(t.Context(), store.RecordTaskArtifactParams{Lease: task.Lease, FileRef: storetest.File("x", "late")}); !errors.Is(err, store.ErrLeaseLost) {
		t.Errorf("upload after completion: %v, want ErrLeaseLost", err)
	}
	if _, err := s.ExpireLeases(t.Context(), 10); err != nil {
		t.Error(err)
	}
	verify(t, s)
}

func TestRecordedArtifactOfAnAttempt(t *testing.T) {
	s := storetest.New(t)
	storetest.MakeRunningJob(t, s, "job", 1)
	w := storetest.MakeWorker(t, s, "w")
	old := storetest.Claim(t, s, w)
	first := storetest.Record(t, s, old, "one")
	if again := storetest.Record(t, s, old, "one"); again.ID != first.ID {
		t.Errorf("same bytes gave artifact %s, want %s", again.ID, first.ID)
	}
	second := storetest.Record(t, s, old, "two")
	if _, err := s.GetArtifact(t.Context(), first.ID); second.ID == first.ID || !errors.Is(err, store.ErrNotFound) {
		t.Errorf("other bytes did not replace the artifact: %v", err)
	}
	if err := s.ReleaseTask(t.Context(), old.Lease); err != nil {
		t.Fatal(err)
	}
	task := storetest.Claim(t, s, w)
	if task.Attempt != old.Attempt+1 {
		t.Errorf("attempt %d after a release, want %d", task.Attempt, old.Attempt+1)
	}
	if _, err := s.CompleteTask(t.Context(), store.CompleteTaskParams{Lease: task.Lease, ArtifactID: second.ID, SHA256: second.SHA256}); !errors.Is(err, store.ErrConflict) {
		t.Errorf("completion with an earlier attempt's artifact: %v, want ErrConflict", err)
	}
	third := storetest.Record(t, s, task, "two")
	if third.ID == second.ID || third.Attempt != task.Attempt {
		t.Errorf("artifact %+v, want one of the new attempt", third)
	}
	storetest.Complete(t, s, task, "two")
	verify(t, s)
}

func TestReleaseCostsNothing(t *testing.T) {
	s := storetest.New(t)
	storetest.MakeRunningJob(t, s, "job", 1, func(p *store.CreateJobParams) { p.Spec.MaxAttempts = 1 })
	w := storetest.MakeWorker(t, s, "w")
	for range 5 {
		if err := s.ReleaseTask(t.Context(), storetest.Claim(t, s, w).Lease); err != nil {
			t.Fatal(err)
		}
	}
	task := storetest.Claim(t, s, w)
	got, err := s.GetTask(t.Context(), task.Task)
	if err != nil || got.Failures != 0 || got.LostLeases != 0 || got.Attempt != 6 || len(got.Attempts) != 6 || got.Attempts[0].Outcome != v1.AttemptReleased {
		t.Errorf("task %+v, %v", got, err)
	}
	verify(t, s)
}

func TestExpiredLeaseGoesBackOrFails(t *testing.T) {
	c := newClock()
	s := storetest.New(t, withClock(c))
	job := storetest.MakeRunningJob(t, s, "job", 1, func(p *store.CreateJobParams) { p.Spec.MaxAttempts = 2 })
	w := storetest.MakeWorker(t, s, "w")
	task := storetest.Claim(t, s, w)
	c.advance(s.LeaseTTL() - time.Millisecond)
	if got, err := s.ExpireLeases(t.Context(), 10); err != nil || got != (store.Expired{}) {
		t.Errorf("before the expiry: %+v, %v", got, err)
	}
	c.advance(time.Millisecond)
	if got, err := s.ExpireLeases(t.Context(), 10); err != nil || got != (store.Expired{Requeued: 1}) {
		t.Errorf("first expiry: %+v, %v", got, err)
	}
	again := storetest.Claim(t, s, w)
	if again.Task != task.Task || again.Attempt != 2 {
		t.Errorf("claimed %+v, want the second attempt of the same task", again)
	}
	c.advance(s.LeaseTTL())
	if got, err := s.ExpireLeases(t.Context(), 10); err != nil || got != (store.Expired{Failed: 1}) {
		t.Errorf("last expiry: %+v, %v", got, err)
	}
	got, err := s.GetTask(t.Context(), task.Task)
	if err != nil || got.Phase != v1.TaskFailed || got.ErrorCode != store.CodeLeaseExpired || got.LostLeases != 2 || got.Failures != 0 {
		t.Errorf("task %+v, %v", got, err)
	}
	if n := getJob(t, s, job.Name).Tasks.Failed; n != 1 {
		t.Errorf("%d failed tasks, want 1", n)
	}
	verify(t, s)
}

func TestHeartbeatTellsOfCancellation(t *testing.T) {
	s := storetest.New(t)
	job := storetest.MakeRunningJob(t, s, "job", 2)
	w := storetest.MakeWorker(t, s, "w")
	task := storetest.Claim(t, s, w)
	if _, err := s.RequestCancel(t.Context(), "job"); err != nil {
		t.Fatal(err)
	}
	if r, err := s.RenewLease(t.Context(), store.RenewLeaseParams{Lease: task.Lease}); err != nil || !r.Cancel {
		t.Errorf("heartbeat %+v, %v, want cancel", r, err)
	}
	if err := s.EndJob(t.Context(), store.EndJobParams{Job: job.ID, Phase: v1.JobCancelled}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []bool{true, false} {
		if more, err := s.CancelOpenTasks(t.Context(), job.ID, 1); err != nil || more != want {
			t.Errorf("cancelled one task: more %v, %v, want %v", more, err, want)
		}
	}
	if _, err := s.RenewLease(t.Context(), store.RenewLeaseParams{Lease: task.Lease}); !errors.Is(err, store.ErrLeaseLost) {
		t.Errorf("heartbeat of a cancelled task: %v, want ErrLeaseLost", err)
	}
	if err := s.EndJob(t.Context(), store.EndJobParams{Job: job.ID, Phase: v1.JobFailed}); !errors.Is(err, store.ErrConflict) {
		t.Errorf("ending an ended job: %v, want ErrConflict", err)
	}
	if got := getJob(t, s, "job").Tasks; got != (v1.TaskCounts{Total: 2, Cancelled: 2}) {
		t.Errorf("tasks %+v", got)
	}
	verify(t, s)
}

func TestLeasesOutliveAnOutage(t *testing.T) {
	c := newClock()
	url := storetest.NewDatabase(t)
	coordinator := func(cfg *store.Config) { cfg.Now, cfg.Coordinator, cfg.LeaseTTL = c.now, store.NewID(), 20*time.Second }
	s := storetest.Open(t, url, coordinator)
	storetest.MakeRunningJob(t, s, "job", 2)
	w := storetest.MakeWorker(t, s, "w")
	gone := storetest.Claim(t, s, w)
	for range 6 { // 24 s, in which the coordinator serves and the worker says nothing
		c.advance(4 * time.Second)
		if err := s.Beat(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	live := storetest.Claim(t, s, w)
	s.Close()

	c.advance(time.Hour) // nobody serves
	next := storetest.Open(t, url, coordinator)
	if got, err := next.ExpireLeases(t.Context(), 10); err != nil || got != (store.Expired{Requeued: 1}) {
		t.Errorf("after the outage: %+v, %v, want the lease alone expired that had run out before", got, err)
	}
	if _, err := next.RenewLease(t.Context(), store.RenewLeaseParams{Lease: gone.Lease}); !errors.Is(err, store.ErrLeaseLost) {
		t.Errorf("lease that had run out before: %v, want ErrLeaseLost", err)
	}
	if r, err := next.RenewLease(t.Context(), store.RenewLeaseParams{Lease: live.Lease}); err != nil || !r.ExpiresAt.Equal(c.now().Add(20*time.Second)) {
		t.Errorf("lease that lived when the outage began: %+v, %v", r, err)
	}
	c.advance(20 * time.Second)
	third := storetest.Open(t, url, withClock(c))
	if got, err := third.ExpireLeases(t.Context(), 10); err != nil || got.Requeued != 1 {
		t.Errorf("after the extension: %+v, %v, want the lease expired", got, err)
	}
	verify(t, third)
}
