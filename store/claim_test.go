package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/store"
	"scimesh.dev/scimesh/store/storetest"
)

func TestConcurrentClaimsNeverShareATask(t *testing.T) {
	url := storetest.NewDatabase(t)
	coordinators := []*store.Store{storetest.Open(t, url), storetest.Open(t, url), storetest.Open(t, url)}
	const tasks, workers = 300, 24
	storetest.MakeRunningJob(t, coordinators[0], "contended-a", tasks/2)
	storetest.MakeRunningJob(t, coordinators[0], "contended-b", tasks/2)

	var mu sync.Mutex
	owner := map[uuid.UUID]uuid.UUID{}
	var g errgroup.Group
	for i := range workers {
		s := coordinators[i%len(coordinators)]
		w := storetest.MakeWorker(t, s, fmt.Sprintf("w%d", i))
		g.Go(func() error {
			for {
				task, ok, err := s.ClaimTask(context.Background(), store.ClaimParams{Worker: w.ID, Capabilities: w.Capabilities})
				if err != nil {
					return err
				}
				if !ok {
					return nil
				}
				mu.Lock()
				other, taken := owner[task.Task]
				owner[task.Task] = w.ID
				mu.Unlock()
				if taken {
					return fmt.Errorf("task %s leased to %s and %s", task.Task, other, w.ID)
				}
			}
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	if len(owner) != tasks {
		t.Errorf("%d tasks were claimed, want all %d", len(owner), tasks)
	}
	verify(t, coordinators[0])
}

// Every job's last tasks end at the same moment, on two coordinators, and each
// job must be announced once: no transaction may take the others' tasks for open.
func TestLastTasksEndAtTheSameMoment(t *testing.T) {
	const jobs, tasksEach, clients = 200, 4, 16
	url := storetest.NewDatabase(t)
	a, b := storetest.Open(t, url), storetest.Open(t, url)
	want := map[string]bool{}
	for i := range jobs {
		want[storetest.MakeRunningJob(t, a, fmt.Sprintf("job-%d", i), tasksEach).ID.String()] = true
	}

	var mu sync.Mutex
	announced := map[string]int{}
	ctx, cancel := context.WithCancel(t.Context())
	listening, marked, done := make(chan struct{}), make(chan struct{}, 2), make(chan error, 1)
	go func() {
		done <- a.Listen(ctx, []string{store.ChannelJobs}, func() { close(listening) }, func(_, payload string) {
			mu.Lock()
			defer mu.Unlock()
			if !want[payload] {
				marked <- struct{}{}
				return
			}
			announced[payload]++
		})
	}()
	<-listening

	var g errgroup.Group
	for i := range clients {
		s := []*store.Store{a, b}[i%2]
		w := storetest.MakeWorker(t, s, fmt.Sprintf("w%d", i))
		g.Go(func() error { return workUntilDry(s, w) })
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	// Notifications come in the order of the commits: after this one there are no more.
	if _, err := a.RequestCancel(t.Context(), storetest.MakeJob(t, b, "marker").Name); err != nil {
		t.Fatal(err)
	}
	select {
	case <-marked:
	case <-time.After(10 * time.Second):
		t.Fatal("the last notification did not come")
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("listening ended with %v", err)
	}
	for job := range want {
		if announced[job] != 1 {
			t.Errorf("job %s was announced %d times, want once", job, announced[job])
		}
	}
	reducible, err := a.JobsToReduce(t.Context(), uuid.Nil, jobs+1)
	if err != nil || len(reducible) != jobs {
		t.Errorf("%d jobs to reduce, %v, want %d", len(reducible), err, jobs)
	}
	verify(t, a)
}

// workUntilDry completes tasks until none is left.
func workUntilDry(s *store.Store, w store.Worker) error {
	ctx := context.Background()
	for {
		task, ok, err := s.ClaimTask(ctx, store.ClaimParams{Worker: w.ID, Capabilities: w.Capabilities})
		if err != nil || !ok {
			return err
		}
		if _, err := s.RenewLease(ctx, store.RenewLeaseParams{Lease: task.Lease}); err != nil {
			return err
		}
		a, err := s.RecordTaskArtifact(ctx, store.RecordTaskArtifactParams{Lease: task.Lease, FileRef: storetest.File("partial.csv", task.Task.String())})
		if err != nil {
			return err
		}
		if _, err := s.CompleteTask(ctx, store.CompleteTaskParams{Lease: task.Lease, ArtifactID: a.ID, SHA256: a.SHA256}); err != nil {
			return err
		}
	}
}

func TestParallelismIsExactUnderConcurrency(t *testing.T) {
	const parallelism, tasks = 3, 60
	url := storetest.NewDatabase(t)
	stores := []*store.Store{storetest.Open(t, url), storetest.Open(t, url)}
	job := storetest.MakeRunningJob(t, stores[0], "narrow", tasks, func(p *store.CreateJobParams) { p.Spec.Parallelism = parallelism })

	var mu sync.Mutex
	held, most, completed := 0, 0, 0
	var g errgroup.Group
	for i := range 12 {
		s := stores[i%2]
		w := storetest.MakeWorker(t, s, fmt.Sprintf("w%d", i))
		g.Go(func() error {
			for {
				task, ok, err := s.ClaimTask(context.Background(), store.ClaimParams{Worker: w.ID, Capabilities: w.Capabilities})
				if err != nil {
					return err
				}
				mu.Lock()
				if ok {
					held++
					most = max(most, held)
				}
				over := completed == tasks
				mu.Unlock()
				if over {
					return nil
				}
				if !ok {
					continue
				}
				mu.Lock()
				held-- // before the release in the database, so that held never exceeds the truth
				completed++
				mu.Unlock()
				storetest.Complete(t, s, task, task.Task.String())
			}
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	if most > parallelism {
		t.Errorf("%d tasks were leased at once, want at most %d", most, parallelism)
	}
	if got := getJob(t, stores[0], job.Name).Tasks.Completed; got != tasks {
		t.Errorf("%d tasks completed, want %d", got, tasks)
	}

	// All at once, with nothing given back: exactly the limit is leased.
	storetest.MakeRunningJob(t, stores[0], "narrow-still", tasks, func(p *store.CreateJobParams) { p.Spec.Parallelism = parallelism })
	leased := claimAll(t, stores, 12)
	if leased != parallelism {
		t.Errorf("%d tasks leased, want exactly %d", leased, parallelism)
	}
	verify(t, stores[0])
}

// claimAll has n new workers claim one task each, at the same moment.
func claimAll(t *testing.T, stores []*store.Store, n int) (leased int) {
	t.Helper()
	var mu sync.Mutex
	var g errgroup.Group
	for i := range n {
		s := stores[i%len(stores)]
		w := storetest.MakeWorker(t, s, fmt.Sprintf("claimer-%d", i))
		g.Go(func() error {
			_, ok, err := s.ClaimTask(context.Background(), store.ClaimParams{Worker: w.ID, Capabilities: w.Capabilities})
			mu.Lock()
			defer mu.Unlock()
			if ok {
				leased++
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	return leased
}

func TestClaimGivesNothing(t *testing.T) {
	other := func(p *store.RegisterWorkerParams) { p.Capabilities = []string{"another-workload"} }
	engine := func(p *store.RegisterWorkerParams) { p.Engine = "another-engine" }
	for name, tc := range map[string]struct {
		worker []func(*store.RegisterWorkerParams)
		job    []func(*store.CreateJobParams)
		change func(t *testing.T, s *store.Store, j store.Job)
		ask    []string
	}{
		"to a worker that did not register the workload it asks for": {worker: []func(*store.RegisterWorkerParams){other}, ask: []string{storetest.Workload}},
		"to a worker that asks for nothing":                          {ask: []string{}},
		"of a suspended job":                                         {job: []func(*store.CreateJobParams){func(p *store.CreateJobParams) { p.Spec.Suspend = true }}},
		"of a job to be cancelled": {change: func(t *testing.T, s *store.Store, j store.Job) {
			if _, err := s.RequestCancel(t.Context(), j.Name); err != nil {
				t.Fatal(err)
			}
		}},
		"of a job to be deleted": {change: func(t *testing.T, s *store.Store, j store.Job) {
			if _, err := s.RequestDelete(t.Context(), j.Name); err != nil {
				t.Fatal(err)
			}
		}},
		"of a job that has failed": {change: func(t *testing.T, s *store.Store, j store.Job) {
			if err := s.EndJob(t.Context(), store.EndJobParams{Job: j.ID, Phase: v1.JobFailed, Failure: store.Failure{Code: "X"}}); err != nil {
				t.Fatal(err)
			}
		}},
		"of a job that another engine computes": {worker: []func(*store.RegisterWorkerParams){engine}, change: func(t *testing.T, s *store.Store, _ store.Job) {
			storetest.Claim(t, s, storetest.MakeWorker(t, s, "first"))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := storetest.New(t)
			j := storetest.MakeRunningJob(t, s, "job", 3, tc.job...)
			w := storetest.MakeWorker(t, s, "w", tc.worker...)
			if tc.change != nil {
				tc.change(t, s, j)
			}
			ask := w.Capabilities
			if tc.ask != nil {
				ask = tc.ask
			}
			task, ok, err := s.ClaimTask(t.Context(), store.ClaimParams{Worker: w.ID, Capabilities: ask})
			if ok || err != nil {
				t.Errorf("claimed %+v, %v", task, err)
			}
		})
	}
}

func TestUnknownOrOfflineWorkerMustRegister(t *testing.T) {
	c := newClock()
	s := storetest.New(t, withClock(c))
	storetest.MakeRunningJob(t, s, "job", 2)
	claim := func(id uuid.UUID) error {
		_, _, err := s.ClaimTask(t.Context(), store.ClaimParams{Worker: id, Capabilities: []string{storetest.Workload}})
		return err
	}
	if err := claim(store.NewID()); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("unknown worker: %v, want ErrNotFound", err)
	}
	w := storetest.MakeWorker(t, s, "w")
	c.advance(time.Minute)
	if changes, err := s.SweepWorkers(t.Context(), 45*time.Second); err != nil || len(changes) != 1 || changes[0].To != v1.WorkerOffline {
		t.Fatalf("sweep: %+v, %v, want the worker offline", changes, err)
	}
	if err := claim(w.ID); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("offline worker: %v, want ErrNotFound", err)
	}
	again := storetest.MakeWorker(t, s, "w", func(p *store.RegisterWorkerParams) { p.ID = w.ID })
	if again.ID != w.ID || again.Phase != v1.WorkerOnline {
		t.Errorf("registered again as %+v, want the same worker online", again)
	}
	if err := claim(w.ID); err != nil {
		t.Error(err)
	}
	if changes, err := s.SweepWorkers(t.Context(), 45*time.Second); err != nil || len(changes) != 1 || changes[0].To != v1.WorkerBusy {
		t.Errorf("sweep: %+v, %v, want the worker busy", changes, err)
	}
}

func TestJobsOfHigherPriorityGoFirstAndEqualOnesTakeTurns(t *testing.T) {
	s := storetest.New(t)
	prio := func(n int32) func(*store.CreateJobParams) {
		return func(p *store.CreateJobParams) { p.Spec.Priority = n }
	}
	storetest.MakeRunningJob(t, s, "low", 2, prio(-1))
	storetest.MakeRunningJob(t, s, "even-a", 3)
	storetest.MakeRunningJob(t, s, "even-b", 3)
	storetest.MakeRunningJob(t, s, "high", 2, prio(5))
	w := storetest.MakeWorker(t, s, "w")
	var got []string
	for range 10 {
		got = append(got, storetest.Claim(t, s, w).JobName)
	}
	if got[0] != "high" || got[1] != "high" || got[8] != "low" || got[9] != "low" {
		t.Errorf("order %v, want high first and low last", got)
	}
	for n := 2; n < 8; n += 2 {
		if got[n] == got[n+1] {
			t.Errorf("order %v, want jobs of equal priority in turn", got)
			break
		}
	}
}

func TestTaskParametersGoOverSharedOnes(t *testing.T) {
	s := storetest.New(t)
	j := storetest.MakeJob(t, s, "job")
	_, token, err := s.AcquireJobStep(t.Context(), store.AcquireStepParams{Job: j.ID, From: []v1.JobPhase{v1.JobCreated}, To: v1.JobPlanning, Owner: store.NewID(), TTL: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	err = s.FinishPlanning(t.Context(), token, store.FinishPlanningParams{
		Shared: json.RawMessage(`{"a":1,"b":{"c":1}}`),
		Tasks:  []store.PlannedTask{{URI: "https://example.org/x", SHA256: storetest.SHA256("x"), Parameters: json.RawMessage(`{"b":2}`)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	task := storetest.Claim(t, s, storetest.MakeWorker(t, s, "w"))
	if string(task.Parameters) != `{"a":1,"b":2}` || task.InputURI != "https://example.org/x" {
		t.Errorf("claimed %+v with %s", task, task.Parameters)
	}
	verify(t, s)
}

func TestWaitingClaimIsWokenByANewJob(t *testing.T) {
	s := storetest.New(t)
	w := storetest.MakeWorker(t, s, "w")
	ctx, cancel := context.WithCancel(t.Context())
	listening, stopped := make(chan struct{}), make(chan struct{}, 2)
	go func() { _ = s.Run(ctx); stopped <- struct{}{} }()
	go func() {
		_ = s.Listen(ctx, []string{store.ChannelJobs}, func() { close(listening) }, func(string, string) {})
		stopped <- struct{}{}
	}()
	<-listening
	t.Cleanup(func() { cancel(); <-stopped; <-stopped })

	type answer struct {
		task store.LeasedTask
		ok   bool
		err  error
	}
	got := make(chan answer, 1)
	go func() {
		task, ok, err := s.ClaimTask(ctx, store.ClaimParams{Worker: w.ID, Capabilities: w.Capabilities, Wait: 30 * time.Second})
		got <- answer{task, ok, err}
	}()
	job := storetest.MakeRunningJob(t, s, "late", 1)
	if a := <-got; a.err != nil || !a.ok || a.task.JobID != job.ID {
		t.Errorf("waiting claim got %+v", a)
	}
	start := time.Now()
	_, ok, err := s.ClaimTask(ctx, store.ClaimParams{Worker: w.ID, Capabilities: w.Capabilities, Wait: 50 * time.Millisecond})
	if ok || err != nil || time.Since(start) < 50*time.Millisecond {
		t.Errorf("claim without a task: %v, %v after %s, want nothing after the wait", ok, err, time.Since(start))
	}
	short, stop := context.WithTimeout(ctx, 20*time.Millisecond)
	defer stop()
	_, _, err = s.ClaimTask(short, store.ClaimParams{Worker: w.ID, Capabilities: w.Capabilities, Wait: time.Minute})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("claim whose caller left: %v", err)
	}
}
