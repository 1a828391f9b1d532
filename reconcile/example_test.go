package reconcile_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"scimesh.dev/scimesh/reconcile"
)

// A controller for one key, fed by a channel, that stops once its work is done.
func Example() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	keys := make(chan string, 1)
	keys <- "gefitinib-neighbours"

	greet := reconcile.Func(func(_ context.Context, req reconcile.Request) (reconcile.Result, error) {
		fmt.Println("reconcile", req.Key)
		stop()
		return reconcile.Result{}, nil
	})
	c := reconcile.New("greeter", greet, reconcile.Options{
		Sources: []reconcile.Source{reconcile.Channel(keys)},
	})
	fmt.Println("stopped:", c.Start(ctx))
	// Output:
	// reconcile gefitinib-neighbours
	// stopped: <nil>
}

// The whole of a process: a resync that guarantees, notifications that hasten,
// metrics, and a manager that runs it.
func ExampleManager() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	metrics, err := reconcile.NewMetrics(prometheus.NewRegistry())
	if err != nil {
		fmt.Println(err)
		return
	}
	hub := reconcile.NewNotifications(offline{}, reconcile.NotificationsOptions{})
	resync := reconcile.NewPeriodic(reconcile.Keys("job-1", "job-2"), reconcile.PeriodicOptions{Interval: time.Minute})

	left := 2
	planner := reconcile.New("planner", reconcile.Func(func(_ context.Context, req reconcile.Request) (reconcile.Result, error) {
		fmt.Println("plan", req.Key)
		if left--; left == 0 {
			stop()
		}
		return reconcile.Result{}, nil
	}), reconcile.Options{
		Sources: []reconcile.Source{resync, hub.Source("scimesh_jobs", nil, resync.Trigger)},
		Metrics: metrics,
	})

	m := reconcile.NewManager(nil)
	if err := errors.Join(m.AddRunnable("notifications", hub), m.Add(planner)); err != nil {
		fmt.Println(err)
		return
	}
	if err := m.Start(ctx); err != nil {
		fmt.Println(err)
	}
	for _, s := range m.Status() {
		fmt.Println(s.Name, s.Reconciles, "reconciles,", s.Errors, "errors")
	}
	// Output:
	// plan job-1
	// plan job-2
	// planner 2 reconciles, 0 errors
}

// offline is a Listener that cannot connect: the resync does all the work.
type offline struct{}

func (offline) Listen(context.Context, []string, func(), func(channel, payload string)) error {
	return errors.New("connection refused")
}

// An error that only a user can heal is not retried.
func ExampleTerminalError() {
	err := fmt.Errorf("plan job %q: %w", "j", reconcile.TerminalError(errors.New("query_id: no such molecule")))
	fmt.Println(err)
	fmt.Println(reconcile.IsTerminal(err))
	// Output:
	// plan job "j": query_id: no such molecule
	// true
}

// A guarded write that changed no row is a conflict: somebody else was first.
func ExampleConflict() {
	err := reconcile.Conflict(errors.New("job j is not in state created"))
	fmt.Println(reconcile.IsConflict(err), reconcile.IsTerminal(err))
	// Output: true false
}

// A table lists its keys in order, a page at a time.
func ExampleListFunc() {
	jobs := []string{"job-1", "job-2", "job-3"} // SELECT name FROM jobs WHERE name > after ORDER BY name LIMIT limit
	var list reconcile.ListFunc = func(_ context.Context, after string, limit int) ([]string, error) {
		var page []string
		for _, name := range jobs {
			if name > after && len(page) < limit {
				page = append(page, name)
			}
		}
		return page, nil
	}
	page, err := list(context.Background(), "job-1", 10)
	fmt.Println(page, err)
	// Output: [job-2 job-3] <nil>
}
