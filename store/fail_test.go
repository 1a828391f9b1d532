package store_test

import (
	"fmt"
	"testing"
	"time"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/store"
	"scimesh.dev/scimesh/store/storetest"
)

func fail(t *testing.T, s *store.Store, task store.LeasedTask, retryable bool) store.FailedTask {
	t.Helper()
	f, err := s.FailTask(t.Context(), store.FailTaskParams{Lease: task.Lease, Code: "RunnerError", Message: "it broke", Retryable: retryable})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestFailedTaskWaitsAndThenFails(t *testing.T) {
	c := newClock()
	s := storetest.New(t, withClock(c))
	job := storetest.MakeRunningJob(t, s, "job", 1, func(p *store.CreateJobParams) { p.Spec.MaxAttempts = 3 })
	w := storetest.MakeWorker(t, s, "w")
	for n, longest := range []time.Duration{2 * time.Second, 4 * time.Second} {
		f := fail(t, s, storetest.Claim(t, s, w), true)
		wait := f.NotBefore.Sub(c.now())
		if f.Phase != v1.TaskPending || wait < longest/2 || wait > longest {
			t.Errorf("failure %d: %+v, waits %s, want between %s and %s", n+1, f, wait, longest/2, longest)
		}
		c.advance(wait - time.Millisecond)
		if task, ok := storetest.TryClaim(t, s, w); ok {
			t.Fatalf("claimed %+v before its time", task)
		}
		c.advance(time.Millisecond)
		refresh(t, s)
	}
	if f := fail(t, s, storetest.Claim(t, s, w), true); f.Phase != v1.TaskFailed {
		t.Errorf("third failure: %+v, want failed", f)
	}
	if got := getJob(t, s, job.Name).Tasks; got != (v1.TaskCounts{Total: 1, Failed: 1}) {
		t.Errorf("tasks %+v", got)
	}
	worker, err := s.GetWorker(t.Context(), w.ID)
	if err != nil || !worker.QuarantinedUntil.IsZero() {
		t.Errorf("worker %+v, %v: one task that fails again and again must not quarantine it", worker, err)
	}
	verify(t, s)
}

// refresh has the list of claimable jobs read again, as happens every second.
func refresh(t *testing.T, s *store.Store) {
	t.Helper()
	store.RefreshDispatch(t, s)
}

func TestFailureThatCannotBeRetriedFailsTheTaskAtOnce(t *testing.T) {
	s := storetest.New(t)
	job := storetest.MakeRunningJob(t, s, "job", 5)
	w := storetest.MakeWorker(t, s, "w")
	for range 4 {
		task, ok := storetest.TryClaim(t, s, w)
		if !ok {
			break // a failed task decides the job: nothing more is handed out
		}
		if f := fail(t, s, task, false); f.Phase != v1.TaskFailed || f.Quarantined {
			t.Errorf("%+v, want failed and no quarantine", f)
		}
		refresh(t, s)
	}
	if got := getJob(t, s, job.Name).Tasks; got.Failed != 1 || got.Pending != 4 {
		t.Errorf("tasks %+v, want 1 failed, 4 pending", got)
	}
	verify(t, s)
}

// A machine that fails everything in a second must not use up a job's attempts.
func TestWorkerThatFailsEverythingIsQuarantined(t *testing.T) {
	c := newClock()
	s := storetest.New(t, withClock(c))
	storetest.MakeRunningJob(t, s, "job", 12, func(p *store.CreateJobParams) { p.Spec.MaxAttempts = 2 })
	bad := storetest.MakeWorker(t, s, "bad")
	storetest.MakeWorker(t, s, "good")
	for n, wantUntil := range []time.Duration{30 * time.Second, time.Minute} {
		for i := range 3 {
			f := fail(t, s, storetest.Claim(t, s, bad), true)
			if want := i == 2; f.Quarantined != want || f.Phase != v1.TaskPending {
				t.Fatalf("quarantine %d, failure %d: %+v", n+1, i+1, f)
			}
		}
		w, err := s.GetWorker(t.Context(), bad.ID)
		if err != nil || !w.QuarantinedUntil.Equal(c.now().Add(wantUntil)) || w.QuarantineReason == "" {
			t.Fatalf("worker %+v, %v, want quarantine for %s", w, err, wantUntil)
		}
		if cond := v1.FindCondition(w.Resource().Status.Conditions, v1.WorkerConditionQuarantined); cond == nil || cond.Status != v1.ConditionTrue {
			t.Errorf("conditions %+v", w.Resource().Status.Conditions)
		}
		if task, ok := storetest.TryClaim(t, s, bad); ok {
			t.Fatalf("worker in quarantine got %+v", task)
		}
		c.advance(wantUntil)
		registerAgain(t, s, bad) // its row is read again
	}
	tasks, err := s.ListTasks(t.Context(), store.TaskFilter{}, store.Page{})
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks.Items {
		if task.Failures != 0 || task.Phase != v1.TaskPending {
			t.Errorf("task %d has %d failures and is %s, want them given back", task.ChunkIndex, task.Failures, task.Phase)
		}
	}
	verify(t, s)

	storetest.Complete(t, s, storetest.Claim(t, s, bad), "it works again")
	w, err := s.GetWorker(t.Context(), bad.ID)
	if err != nil || w.Quarantines != 0 || w.ConsecutiveFailures != 0 {
		t.Errorf("worker after a success: %+v, %v, want a clean slate", w, err)
	}

}

func registerAgain(t *testing.T, s *store.Store, w store.Worker) {
	t.Helper()
	storetest.MakeWorker(t, s, w.Name, func(p *store.RegisterWorkerParams) { p.ID = w.ID })
}

func TestTaskIsKeptFromTheWorkerThatFailedItWhileThereIsAnother(t *testing.T) {
	c := newClock()
	s := storetest.New(t, withClock(c))
	storetest.MakeRunningJob(t, s, "job", 1, func(p *store.CreateJobParams) { p.Spec.MaxAttempts = 9 })
	bad, other := storetest.MakeWorker(t, s, "bad"), storetest.MakeWorker(t, s, "other")
	due := fail(t, s, storetest.Claim(t, s, bad), true).NotBefore.Sub(c.now())
	c.advance(due)
	refresh(t, s)
	if task, ok := storetest.TryClaim(t, s, bad); ok {
		t.Errorf("the worker that failed it got %+v back", task)
	}
	refresh(t, s)
	task := storetest.Claim(t, s, other)

	// With nobody else, it may have it.
	for range 2 { // the first sweep writes the signs of life, the second finds them old
		if _, err := s.SweepWorkers(t.Context(), 10*time.Second); err != nil {
			t.Fatal(err)
		}
		c.advance(15 * time.Second)
	}
	registerAgain(t, s, other)
	c.advance(fail(t, s, task, true).NotBefore.Sub(c.now()))
	refresh(t, s)
	task = storetest.Claim(t, s, other)

	// And also long enough after its back-off.
	registerAgain(t, s, bad)
	c.advance(fail(t, s, task, true).NotBefore.Sub(c.now()) + 30*time.Second)
	refresh(t, s)
	storetest.Claim(t, s, other)
	verify(t, s)
}

func TestConcurrentFailuresKeepTheCounters(t *testing.T) {
	s := storetest.New(t)
	job := storetest.MakeRunningJob(t, s, "job", 8, func(p *store.CreateJobParams) { p.Spec.MaxAttempts = 1 })
	var tasks []store.LeasedTask
	for i := range 8 {
		tasks = append(tasks, storetest.Claim(t, s, storetest.MakeWorker(t, s, fmt.Sprint("w", i))))
	}
	done := make(chan error)
	for _, task := range tasks {
		go func() {
			_, err := s.FailTask(t.Context(), store.FailTaskParams{Lease: task.Lease, Code: "X", Retryable: true})
			done <- err
		}()
	}
	for range tasks {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if got := getJob(t, s, job.Name).Tasks.Failed; got != 8 {
		t.Errorf("%d failed tasks, want 8", got)
	}
	verify(t, s)
}
