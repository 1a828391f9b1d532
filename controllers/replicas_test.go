package controllers_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/controllers"
	"scimesh.dev/scimesh/controllers/controllerstest"
	"scimesh.dev/scimesh/controllers/jobstep"
	"scimesh.dev/scimesh/store"
	"scimesh.dev/scimesh/store/storetest"
)

// replica starts the controllers of one more coordinator on the world's
// database, and returns its store and the function that stops it.
func replica(t *testing.T, w *controllerstest.World) (*store.Store, func()) {
	t.Helper()
	owner := uuid.New()
	s := storetest.Open(t, w.URL, func(c *store.Config) { c.Coordinator, c.MaxConns = owner, 8 })
	manager, err := controllers.NewManager(controllers.Options{
		Store: s, Artifacts: w.Blobs, Workloads: w.Registry, Owner: owner, Log: zap.NewNop(), Resync: 2 * time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := s.Run(ctx); err != nil && ctx.Err() == nil {
			t.Error(err)
		}
	})
	running.Go(func() {
		if err := manager.Start(ctx); err != nil {
			t.Error(err)
		}
	})
	stop := sync.OnceFunc(func() { cancel(); running.Wait() })
	t.Cleanup(stop)
	return s, stop
}

// workers keep n workers a store at work until ctx ends. As real ones they go on
// after a database that took too long to answer.
func workers(ctx context.Context, t *testing.T, w *controllerstest.World, stores []*store.Store, n int) *sync.WaitGroup {
	t.Helper()
	var all sync.WaitGroup
	for i, s := range stores {
		for j := range n {
			worker := w.Worker(fmt.Sprintf("w-%d-%d", i, j))
			all.Go(func() {
				for ctx.Err() == nil {
					_, err := w.WorkOne(ctx, s, worker, time.Second)
					if err != nil && ctx.Err() == nil && !errors.Is(err, store.ErrUnavailable) {
						t.Error(err)
						return
					}
				}
			})
		}
	}
	return &all
}

// longest is how long a busy machine may take to bring all Jobs of a test to their end.
const longest = 10 * time.Minute

// wantStepsOnce checks that each Job was planned once and reduced once, as the events of
// the steps' own transactions tell. A step may have been begun more often if its
// lease ran out on a busy machine and another coordinator took it over; but not in
// a test that took less time than a lease lasts.
func wantStepsOnce(t *testing.T, w *controllerstest.World, ids []uuid.UUID, took time.Duration) {
	t.Helper()
	for _, id := range ids {
		events, err := w.Store.ListEvents(t.Context(), store.EventFilter{Job: id}, store.Page{Limit: 1000})
		if err != nil {
			t.Fatal(err)
		}
		count := map[string]int{}
		for _, e := range events.Items {
			count[e.Reason]++
		}
		if count["JobPlanned"] != 1 || count["JobCompleted"] != 1 {
			t.Errorf("job %s: events %v, want one JobPlanned and one JobCompleted", id, count)
		}
	}
	n := int64(len(ids))
	most := 2 * n
	if took < jobstep.TTL {
		most = n
	}
	if p, r := w.Lines.Plans.Load(), w.Lines.Reductions.Load(); p < n || r < n || p > most || r > most {
		t.Errorf("%d plans and %d reductions were begun for %d jobs within %v, want %d to %d", p, r, n, took, n, most)
	}
}

// awaitPhase waits until every Job is in the phase.
func awaitPhase(t *testing.T, w *controllerstest.World, want v1.JobPhase, within time.Duration, ids ...uuid.UUID) {
	t.Helper()
	deadline := time.Now().Add(within)
	for _, id := range ids {
		for {
			job := w.Job(id)
			if job.Phase == want {
				break
			}
			if job.Phase.Final() || time.Now().After(deadline) {
				t.Fatalf("job %s is %s (%s), want %s", job.Name, job.Phase, job.ErrorMessage, want)
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
}

func TestThreeCoordinatorsDoEachStepOnce(t *testing.T) {
	const jobs, tasks = 60, 4
	w := controllerstest.New(t)
	var stores []*store.Store
	for range 3 {
		s, _ := replica(t, w)
		stores = append(stores, s)
	}
	ctx, cancel := context.WithCancel(t.Context())
	working := workers(ctx, t, w, stores, 4)

	begin := time.Now()
	var ids []uuid.UUID
	for i := range jobs {
		ids = append(ids, w.MakeJob(fmt.Sprintf("job-%d", i), tasks).ID)
	}
	awaitPhase(t, w, v1.JobCompleted, longest, ids...)
	cancel()
	took := time.Since(begin)
	working.Wait()
	wantStepsOnce(t, w, ids, took)
	for i, id := range ids {
		job := w.Job(id)
		if got, want := w.Read(job.Result.ArtifactRef), controllerstest.WantResult(fmt.Sprintf("job-%d", i), tasks); got != want {
			t.Errorf("%s: result %q, want %q", job.Name, got, want)
		}
	}
	wantSound(t, w)
}

// The last tasks of a Job end at the same moment, each in a transaction that
// may see the other's as open.
func TestTheLastTasksOfAJobMayEndAtTheSameMoment(t *testing.T) {
	const jobs, tasks, clients = 200, 4, 16
	w := controllerstest.New(t)
	s, _ := replica(t, w)
	begin := time.Now()
	var ids []uuid.UUID
	for i := range jobs {
		ids = append(ids, w.MakeJob(fmt.Sprintf("job-%d", i), tasks).ID)
	}
	ctx, cancel := context.WithCancel(t.Context())
	working := workers(ctx, t, w, []*store.Store{s}, clients)
	awaitPhase(t, w, v1.JobCompleted, longest, ids...)
	cancel()
	took := time.Since(begin)
	working.Wait()
	wantStepsOnce(t, w, ids, took)
	wantSound(t, w)
}

func TestACoordinatorThatStopsLeavesItsWorkToTheOthers(t *testing.T) {
	w := controllerstest.New(t)
	blocked, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	w.Lines.OnPlan = func(ctx context.Context) error {
		var err error
		once.Do(func() {
			close(blocked)
			select {
			case <-release:
			case <-ctx.Done():
				err = ctx.Err()
			}
		})
		return err
	}
	_, stop := replica(t, w)
	job := w.MakeJob("handed-over", 2)
	<-blocked
	other, _ := replica(t, w)
	go stop() // drains: the planner is given up when the drain ends
	close(release)
	ctx, cancel := context.WithCancel(t.Context())
	working := workers(ctx, t, w, []*store.Store{other}, 1)
	awaitPhase(t, w, v1.JobCompleted, time.Minute, job.ID)
	cancel()
	working.Wait()
	wantSound(t, w)
}

// wantSound checks the invariants of the whole database.
func wantSound(t *testing.T, w *controllerstest.World) {
	t.Helper()
	violations, err := w.Store.Verify(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range violations {
		t.Errorf("invariant %s broken by %s: %s", v.Invariant, v.Object, v.Detail)
	}
}
