package reconcile_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"scimesh.dev/scimesh/reconcile"
)

// start runs c until the returned function is called, which returns the error
// of Start. It is for synctest bubbles.
func start(t *testing.T, c reconcile.Runnable) (stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- c.Start(ctx) }()
	synctest.Wait()
	return func() error {
		cancel()
		return <-done
	}
}

// mustStop fails the test if stop returns an error.
func mustStop(t *testing.T, stop func() error) {
	t.Helper()
	if err := stop(); err != nil {
		t.Errorf("Start returned %v, want nil", err)
	}
}

// pass lets d of a bubble's time pass.
func pass(d time.Duration) { <-time.After(d) }

// elapse lets d pass, and then everything that was due happen.
func elapse(d time.Duration) {
	pass(d)
	synctest.Wait()
}

// world is a Reconciler that notes when each key was reconciled, and answers
// with the next of the key's scripted outcomes, then with success.
type world struct {
	mu     sync.Mutex
	begun  time.Time
	passes map[string][]time.Duration
	script map[string][]step
}

type step struct {
	result reconcile.Result
	err    error
}

func newWorld(script map[string][]step) *world {
	return &world{begun: time.Now(), passes: map[string][]time.Duration{}, script: script}
}

func (w *world) Reconcile(_ context.Context, req reconcile.Request) (reconcile.Result, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.passes[req.Key] = append(w.passes[req.Key], time.Since(w.begun))
	steps := w.script[req.Key]
	if len(steps) == 0 {
		return reconcile.Result{}, nil
	}
	w.script[req.Key] = steps[1:]
	return steps[0].result, steps[0].err
}

func (w *world) passesOf(key string) []time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.passes[key])
}

func seconds(s ...float64) []time.Duration {
	d := make([]time.Duration, len(s))
	for i := range s {
		d[i] = time.Duration(s[i] * float64(time.Second))
	}
	return d
}

// exact are options without jitter, so that tests can tell times.
func exact(sources ...reconcile.Source) reconcile.Options {
	return reconcile.Options{Sources: sources, BaseDelay: time.Second, MaxDelay: 4 * time.Second, Jitter: -1}
}

func TestWhenAKeyComesAgain(t *testing.T) {
	broken := step{err: errors.New("broken")}
	tests := map[string]struct {
		steps []step
		want  []time.Duration
	}{
		"success waits for the next event": {
			steps: []step{{}},
			want:  seconds(0),
		},
		"errors back off exponentially up to the maximum": {
			steps: []step{broken, broken, broken, broken, broken},
			want:  seconds(0, 1, 3, 7, 11, 15),
		},
		"conflicts back off like errors": {
			steps: []step{{err: reconcile.Conflict(errors.New("raced"))}, broken},
			want:  seconds(0, 1, 3),
		},
		"a known time is kept": {
			steps: []step{{result: reconcile.Result{RequeueAfter: 90 * time.Second}}},
			want:  seconds(0, 90),
		},
		"a known time ends the row of failures": {
			steps: []step{broken, broken, {result: reconcile.Result{RequeueAfter: 10 * time.Second}}, broken},
			want:  seconds(0, 1, 3, 13, 14),
		},
		"success ends the row of failures": {
			steps: []step{broken, broken, {}},
			want:  seconds(0, 1, 3),
		},
		"the result beside an error is ignored": {
			steps: []step{{result: reconcile.Result{RequeueAfter: time.Millisecond}, err: broken.err}},
			want:  seconds(0, 1),
		},
		"a terminal error is not retried": {
			steps: []step{{err: fmt.Errorf("job j: %w", reconcile.TerminalError(broken.err))}},
			want:  seconds(0),
		},
		"a negative time is no time": {
			steps: []step{{result: reconcile.Result{RequeueAfter: -time.Second}}},
			want:  seconds(0),
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				keys := make(chan string, 1)
				keys <- "k"
				w := newWorld(map[string][]step{"k": tc.steps})
				stop := start(t, reconcile.New("test", w, exact(reconcile.Channel(keys))))
				pass(time.Hour)
				mustStop(t, stop)
				if diff := cmp.Diff(tc.want, w.passesOf("k")); diff != "" {
					t.Errorf("times of the reconciles (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestAnEventEndsBackOffAndRevivesATerminalKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		keys := make(chan string)
		w := newWorld(map[string][]step{
			"slow": {{err: errors.New("a")}, {err: errors.New("b")}, {err: errors.New("c")}},
			"dead": {{err: reconcile.TerminalError(errors.New("user must act"))}},
		})
		stop := start(t, reconcile.New("test", w, exact(reconcile.Channel(keys))))
		keys <- "slow"
		keys <- "dead"
		pass(5 * time.Second) // slow failed at 0, 1 and 3 and waits for 7
		keys <- "slow"
		keys <- "dead"
		pass(time.Second)
		mustStop(t, stop)
		if diff := cmp.Diff(seconds(0, 1, 3, 5), w.passesOf("slow")); diff != "" {
			t.Errorf("slow (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(seconds(0, 5), w.passesOf("dead")); diff != "" {
			t.Errorf("dead (-want +got):\n%s", diff)
		}
	})
}

func TestBackOffIsJittered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		keys := make(chan string, 100)
		script := map[string][]step{}
		for i := range 100 {
			key := fmt.Sprint(i)
			script[key] = []step{{err: errors.New("broken")}}
			keys <- key
		}
		w := newWorld(script)
		opts := exact(reconcile.Channel(keys))
		opts.Jitter = 0.5
		stop := start(t, reconcile.New("test", w, opts))
		pass(time.Minute)
		mustStop(t, stop)
		times := map[time.Duration]bool{}
		for key := range script {
			retry := w.passesOf(key)[1]
			if retry < 500*time.Millisecond || retry > time.Second {
				t.Errorf("key %s was retried after %v, want 0.5 s to 1 s", key, retry)
			}
			times[retry] = true
		}
		if len(times) < 90 {
			t.Errorf("100 keys that failed together were retried at %d times, want them apart", len(times))
		}
	})
}

func TestAPanicIsContained(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		keys := make(chan string, 2)
		keys <- "bad"
		keys <- "good"
		w := newWorld(nil)
		panics := 0
		logs, logger := observedLogs()
		opts := exact(reconcile.Channel(keys))
		opts.Logger = logger
		c := reconcile.New("test", reconcile.Func(func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
			res, err := w.Reconcile(ctx, req)
			if req.Key == "bad" && panics == 0 {
				panics++
				panic("out of cheese")
			}
			return res, err
		}), opts)
		stop := start(t, c)
		pass(time.Minute)
		mustStop(t, stop)
		if diff := cmp.Diff(map[string][]time.Duration{"bad": seconds(0, 1), "good": seconds(0)}, w.passes); diff != "" {
			t.Errorf("reconciles (-want +got):\n%s", diff)
		}
		if got := c.Status().LastError; got == nil || got.Message != "panic: out of cheese" || got.Key != "bad" {
			t.Errorf("last error %+v, want the panic of key bad", got)
		}
		var stacks int
		for _, entry := range logs.All() {
			if stack, ok := entry.ContextMap()["stack"].(string); ok {
				stacks++
				if !strings.Contains(stack, "TestAPanicIsContained") {
					t.Errorf("the stack does not name the function that panicked:\n%s", stack)
				}
			}
		}
		if stacks != 1 {
			t.Errorf("%d stacks logged, want 1", stacks)
		}
	})
}

func TestATimeoutEndsAReconcile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		keys := make(chan string, 1)
		keys <- "k"
		passes := 0
		opts := exact(reconcile.Channel(keys))
		opts.ReconcileTimeout = 10 * time.Second
		c := reconcile.New("test", reconcile.Func(func(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
			if passes++; passes > 1 {
				return reconcile.Result{}, nil
			}
			<-ctx.Done()
			return reconcile.Result{}, ctx.Err()
		}), opts)
		begun := time.Now()
		stop := start(t, c)
		pass(time.Minute)
		mustStop(t, stop)
		if passes != 2 {
			t.Errorf("%d reconciles, want the one that timed out and a retry", passes)
		}
		got := c.Status().LastError
		if got == nil || got.Message != context.DeadlineExceeded.Error() || got.Time.Sub(begun) != 10*time.Second {
			t.Errorf("last error %+v, want a deadline exceeded after 10 s", got)
		}
	})
}

func TestConcurrencyIsReachedAndKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		keys := make(chan string, 10)
		for i := range 10 {
			keys <- fmt.Sprint(i)
		}
		opts := exact(reconcile.Channel(keys))
		opts.Concurrency = 3
		c := reconcile.New("test", reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) {
			pass(time.Second)
			return reconcile.Result{}, nil
		}), opts)
		stop := start(t, c)
		pass(1500 * time.Millisecond)
		got := c.Status()
		if got.InFlight != 3 || got.QueueDepth != 4 || got.Reconciles != 3 || got.LongestRunning != 500*time.Millisecond {
			t.Errorf("status after one and a half rounds: %+v; want 3 in flight for 500 ms, 4 queued, 3 done", got)
		}
		pass(time.Minute)
		if got := c.Status(); got.Reconciles != 10 || got.InFlight != 0 {
			t.Errorf("status at rest: %+v, want 10 reconciles", got)
		}
		mustStop(t, stop)
	})
}

func TestEventsDuringAReconcileAreOneMoreReconcile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		keys := make(chan string)
		w := newWorld(nil)
		running := 0
		opts := exact(reconcile.Channel(keys))
		opts.Concurrency = 4
		stop := start(t, reconcile.New("test", reconcile.Func(func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
			if running++; running > 1 {
				t.Error("one key is reconciled twice at once")
			}
			defer func() { running-- }()
			res, err := w.Reconcile(ctx, req)
			pass(10 * time.Second)
			return res, err
		}), opts))
		for range 5 {
			keys <- "k"
			pass(time.Second)
		}
		pass(time.Minute)
		mustStop(t, stop)
		if diff := cmp.Diff(seconds(0, 10), w.passesOf("k")); diff != "" {
			t.Errorf("reconciles (-want +got):\n%s", diff)
		}
	})
}

func TestAControllerThatCannotStart(t *testing.T) {
	nothing := reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) {
		return reconcile.Result{}, nil
	})
	tests := map[string]struct {
		controller *reconcile.Controller
		want       string
	}{
		"no name": {
			controller: reconcile.New("", nothing, reconcile.Options{}),
			want:       "controller has no name",
		},
		"no reconciler": {
			controller: reconcile.New("planner", nil, reconcile.Options{}),
			want:       `controller "planner" has no reconciler`,
		},
		"a source that fails": {
			controller: reconcile.New("planner", nothing, reconcile.Options{Sources: []reconcile.Source{
				reconcile.SourceFunc(func(context.Context, reconcile.Enqueuer) error { return errors.New("no such channel") }),
				reconcile.Channel(make(chan string)),
			}}),
			want: `controller "planner": no such channel`,
		},
		"a source that panics": {
			controller: reconcile.New("planner", nothing, reconcile.Options{Sources: []reconcile.Source{
				reconcile.SourceFunc(func(context.Context, reconcile.Enqueuer) error { panic("no such channel") }),
			}}),
			want: `controller "planner": panic: no such channel`,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			err := tc.controller.Start(t.Context())
			if err == nil || err.Error() != tc.want {
				t.Errorf("Start returned %v, want %q", err, tc.want)
			}
			if tc.controller.Status().Running {
				t.Error("the controller counts as running")
			}
		})
	}
}

func TestAControllerStartsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := reconcile.New("planner", newWorld(nil), reconcile.Options{})
		stop := start(t, c)
		if err := c.Start(t.Context()); err == nil || err.Error() != `controller "planner" was started before` {
			t.Errorf("second Start returned %v", err)
		}
		if !c.Status().Running {
			t.Error("the controller does not count as running")
		}
		mustStop(t, stop)
		if c.Status().Running {
			t.Error("the controller counts as running after its stop")
		}
	})
}
