package reconcile_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"scimesh.dev/scimesh/reconcile"
)

type runnable func(context.Context) error

func (r runnable) Start(ctx context.Context) error { return r(ctx) }

// journal is what happened, in order.
type journal struct {
	mu    sync.Mutex
	lines []string
}

func (j *journal) add(line string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, line)
}

// part is a runnable that runs until it is stopped.
func (j *journal) part(name string) runnable {
	return func(ctx context.Context) error {
		<-ctx.Done()
		j.add("stop " + name)
		return nil
	}
}

func add(t *testing.T, m *reconcile.Manager, controllers ...*reconcile.Controller) {
	t.Helper()
	for _, c := range controllers {
		if err := m.Add(c); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAManagerStopsControllersThenRunnablesInReverse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &journal{}
		m := reconcile.NewManager(nil)
		for _, name := range []string{"first", "second"} {
			if err := m.AddRunnable(name, log.part(name)); err != nil {
				t.Fatal(err)
			}
		}
		slow := func(name string, d time.Duration) *reconcile.Controller {
			return reconcile.New(name, reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) {
				pass(d)
				log.add("end " + name)
				return reconcile.Result{}, nil
			}), exact(feed("k")))
		}
		add(t, m, slow("a", 10*time.Second), slow("b", 5*time.Second))
		stop := start(t, m)
		begun := time.Now()
		mustStop(t, stop)
		if got := time.Since(begun); got != 10*time.Second {
			t.Errorf("the stop took %v, want the controllers to drain at the same time", got)
		}
		if diff := cmp.Diff([]string{"end b", "end a", "stop second", "stop first"}, log.lines); diff != "" {
			t.Errorf("order (-want +got):\n%s", diff)
		}
	})
}

func TestAPartThatFailsStopsTheManager(t *testing.T) {
	broken := errors.New("broken")
	failing := reconcile.SourceFunc(func(context.Context, reconcile.Enqueuer) error { return broken })
	tests := map[string]struct {
		controller *reconcile.Controller
		runnable   runnable
		want       string
	}{
		"a controller that cannot start": {
			controller: reconcile.New("planner", nil, reconcile.Options{}),
			want:       `controller "planner" has no reconciler`,
		},
		"a controller whose source fails": {
			controller: reconcile.New("planner", newWorld(nil), exact(failing)),
			want:       `controller "planner": broken`,
		},
		"a runnable that fails": {
			runnable: func(context.Context) error { return broken },
			want:     "notifications: broken",
		},
		"a runnable that panics": {
			runnable: func(context.Context) error { panic("oh") },
			want:     "notifications: panic: oh",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := reconcile.NewManager(nil)
				healthy := reconcile.New("healthy", newWorld(nil), exact(feed()))
				add(t, m, healthy)
				if tc.controller != nil {
					add(t, m, tc.controller)
				}
				if tc.runnable != nil {
					if err := m.AddRunnable("notifications", tc.runnable); err != nil {
						t.Fatal(err)
					}
				}
				err := m.Start(t.Context())
				if err == nil || err.Error() != tc.want {
					t.Errorf("Start returned %v, want %q", err, tc.want)
				}
				if healthy.Status().Running {
					t.Error("the other controller goes on")
				}
			})
		})
	}
}

func TestARunnableMayBeDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := reconcile.NewManager(nil)
		if err := m.AddRunnable("once", runnable(func(context.Context) error { return nil })); err != nil {
			t.Fatal(err)
		}
		w := newWorld(nil)
		keys := make(chan string)
		add(t, m, reconcile.New("c", w, exact(reconcile.Channel(keys))))
		stop := start(t, m)
		pass(time.Second)
		keys <- "k"
		synctest.Wait()
		mustStop(t, stop)
		if diff := cmp.Diff(seconds(1), w.passesOf("k")); diff != "" {
			t.Errorf("reconciles (-want +got):\n%s", diff)
		}
	})
}

func TestAManagerRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := reconcile.NewManager(nil)
		add(t, m, reconcile.New("a", newWorld(nil), reconcile.Options{}))
		check := func(what string, err error, want string) {
			t.Helper()
			if err == nil || err.Error() != want {
				t.Errorf("%s: %v, want %q", what, err, want)
			}
		}
		check("the same name", m.Add(reconcile.New("a", newWorld(nil), reconcile.Options{})), `add controller "a": there is one of that name`)
		stop := start(t, m)
		check("a late controller", m.Add(reconcile.New("b", newWorld(nil), reconcile.Options{})), `add controller "b": the manager has started`)
		check("a late runnable", m.AddRunnable("r", runnable(nil)), "add r: the manager has started")
		check("a second start", m.Start(t.Context()), "the manager was started before")
		mustStop(t, stop)
	})
}

func TestStatusOfAManager(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := reconcile.NewManager(nil)
		begun := time.Now()
		healthy := exact(feed("a", "b"))
		healthy.Concurrency = 4
		add(t, m,
			reconcile.New("planner", newWorld(nil), healthy),
			reconcile.New("reducer", newWorld(map[string][]step{
				"bad": {{err: errors.New("first")}, {err: errors.New("second")}},
			}), exact(feed("bad", "good"))),
			reconcile.New("idle", newWorld(nil), exact()),
		)
		want := []reconcile.Status{{Name: "planner", Concurrency: 4}, {Name: "reducer", Concurrency: 1}, {Name: "idle", Concurrency: 1}}
		if diff := cmp.Diff(want, m.Status()); diff != "" {
			t.Errorf("status before the start (-want +got):\n%s", diff)
		}
		stop := start(t, m)
		pass(2 * time.Second)
		want = []reconcile.Status{
			{Name: "planner", Running: true, Concurrency: 4, Reconciles: 2, LastSuccess: begun},
			{
				Name: "reducer", Running: true, Concurrency: 1, Reconciles: 3, Errors: 2, Retries: 1,
				LastSuccess: begun,
				LastError:   &reconcile.Failure{Time: begun.Add(time.Second), Key: "bad", Message: "second"},
			},
			{Name: "idle", Running: true, Concurrency: 1},
		}
		if diff := cmp.Diff(want, m.Status()); diff != "" {
			t.Errorf("status (-want +got):\n%s", diff)
		}
		mustStop(t, stop)
	})
}

func TestAManagerReportsEveryError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := reconcile.NewManager(nil)
		for i := range 2 {
			err := m.AddRunnable(fmt.Sprintf("part-%d", i), runnable(func(ctx context.Context) error {
				<-ctx.Done()
				return errors.New("did not close")
			}))
			if err != nil {
				t.Fatal(err)
			}
		}
		err := start(t, m)()
		for _, want := range []string{"part-0: did not close", "part-1: did not close"} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("Start returned %v, want %q among it", err, want)
			}
		}
	})
}
