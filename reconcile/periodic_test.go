package reconcile_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"scimesh.dev/scimesh/reconcile"
)

// table is a sorted list of keys that is listed page by page.
type table struct {
	mu    sync.Mutex
	keys  []string
	calls []string // what each page was listed after
	fail  func(call int) error
}

func newTable(n int) *table {
	t := &table{}
	for i := range n {
		t.keys = append(t.keys, fmt.Sprintf("job-%05d", i))
	}
	return t
}

func (t *table) list(_ context.Context, after string, limit int) ([]string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.calls = append(t.calls, after)
	if t.fail != nil {
		if err := t.fail(len(t.calls)); err != nil {
			return nil, err
		}
	}
	from, found := slices.BinarySearch(t.keys, after)
	if found {
		from++
	}
	return slices.Clone(t.keys[from:min(from+limit, len(t.keys))]), nil
}

func (t *table) listed() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.calls)
}

func TestPeriodicVisitsAllKeysAtTheStartAndAtEachInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tab := newTable(5)
		p := reconcile.NewPeriodic(tab.list, reconcile.PeriodicOptions{Interval: 30 * time.Second, Jitter: -1, PageSize: 2})
		w := newWorld(nil)
		stop := start(t, reconcile.New("test", w, exact(p)))
		pass(65 * time.Second)
		mustStop(t, stop)
		for _, key := range tab.keys {
			if diff := cmp.Diff(seconds(0, 30, 60), w.passesOf(key)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", key, diff)
			}
		}
		round := []string{"", "job-00001", "job-00003"}
		if diff := cmp.Diff(slices.Concat(round, round, round), tab.listed()); diff != "" {
			t.Errorf("pages (-want +got):\n%s", diff)
		}
	})
}

func TestPeriodicJittersItsInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := reconcile.NewPeriodic(reconcile.Keys("k"), reconcile.PeriodicOptions{Interval: 30 * time.Second, Jitter: 0.5})
		w := newWorld(nil)
		stop := start(t, reconcile.New("test", w, exact(p)))
		pass(time.Hour)
		mustStop(t, stop)
		passes := w.passesOf("k")
		gaps := map[time.Duration]bool{}
		for i := 1; i < len(passes); i++ {
			gap := passes[i] - passes[i-1]
			if gap < 15*time.Second || gap > 30*time.Second {
				t.Errorf("interval of %v, want 15 s to 30 s", gap)
			}
			gaps[gap] = true
		}
		if len(passes) < 120 || len(gaps) < 100 {
			t.Errorf("%d resyncs in an hour with %d different intervals, want over 120 and most different", len(passes), len(gaps))
		}
	})
}

func TestPeriodicGoesOnFromThePageThatFailed(t *testing.T) {
	tests := map[string]func() error{
		"error": func() error { return errors.New("connection refused") },
		"panic": func() error { panic("connection refused") },
	}
	for name, fail := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tab := newTable(5)
				tab.fail = func(call int) error {
					if call == 2 || call == 3 || call == 5 {
						return fail()
					}
					return nil
				}
				logs, logger := observedLogs()
				p := reconcile.NewPeriodic(tab.list, reconcile.PeriodicOptions{
					Interval: time.Minute, Jitter: -1, PageSize: 2, Logger: logger,
				})
				w := newWorld(nil)
				stop := start(t, reconcile.New("test", w, exact(p)))
				pass(30 * time.Second)
				mustStop(t, stop)
				want := map[string][]time.Duration{
					"job-00000": seconds(0), "job-00001": seconds(0),
					"job-00002": seconds(1.5), "job-00003": seconds(1.5), // after 0.5 s and 1 s
					"job-00004": seconds(2), // the page between ended the row
				}
				if diff := cmp.Diff(want, w.passes); diff != "" {
					t.Errorf("reconciles (-want +got):\n%s", diff)
				}
				if n := logs.FilterMessage("resync stopped, will go on").Len(); n != 3 {
					t.Errorf("%d errors logged, want 3", n)
				}
			})
		})
	}
}

func TestPeriodicRefusesAListThatDoesNotAdvance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		p := reconcile.NewPeriodic(func(context.Context, string, int) ([]string, error) {
			calls++
			return []string{"a", "b"}, nil
		}, reconcile.PeriodicOptions{PageSize: 2, Jitter: -1})
		stop := start(t, reconcile.New("test", newWorld(nil), exact(p)))
		pass(time.Minute)
		mustStop(t, stop)
		if calls > 20 {
			t.Errorf("%d pages listed in a minute, want few", calls)
		}
	})
}

func TestTriggerResyncsAtOnceAndAgainAfterTheOneUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p *reconcile.Periodic
		tab := newTable(1)
		tab.fail = func(call int) error {
			if call == 2 { // while the resync asked for below lists its page
				for range 10 {
					p.Trigger()
				}
			}
			return nil
		}
		p = reconcile.NewPeriodic(tab.list, reconcile.PeriodicOptions{Interval: time.Hour, MinInterval: time.Second, Jitter: -1})
		w := newWorld(nil)
		stop := start(t, reconcile.New("test", w, exact(p)))
		pass(10 * time.Second)
		p.Trigger()
		pass(time.Minute)
		mustStop(t, stop)
		if diff := cmp.Diff(seconds(0, 10, 11), w.passesOf("job-00000")); diff != "" {
			t.Errorf("resyncs (-want +got):\n%s", diff)
		}
	})
}

func TestAResyncNeitherStarvesNorIsStarved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tab := newTable(2000)
		edges := make(chan string)
		p := reconcile.NewPeriodic(tab.list, reconcile.PeriodicOptions{Interval: time.Hour, PageSize: 100})
		w := newWorld(nil)
		opts := exact(p, reconcile.Channel(edges))
		opts.ResyncBacklog = 200
		c := reconcile.New("test", reconcile.Func(func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
			res, err := w.Reconcile(ctx, req)
			pass(10 * time.Millisecond)
			return res, err
		}), opts)
		stop := start(t, c)

		// Quiet: an edge overtakes the backlog.
		pass(95 * time.Millisecond)
		if depth := c.Status().QueueDepth; depth != 200 {
			t.Errorf("%d keys wait, want the backlog of 200", depth)
		}
		edges <- "edge"
		pass(20 * time.Millisecond)
		if diff := cmp.Diff(seconds(0.1), w.passesOf("edge")); diff != "" {
			t.Errorf("the edge (-want +got):\n%s", diff)
		}

		// Flood: as many edges as the worker can do, and two more, for ever.
		go func() {
			for i := 0; ; i++ {
				select {
				case edges <- fmt.Sprintf("flood-%d", i):
				case <-t.Context().Done():
					return
				}
				pass(5 * time.Millisecond)
			}
		}()
		pass(2000 * 5 * 10 * time.Millisecond) // every fifth turn
		for _, key := range tab.keys {
			if len(w.passesOf(key)) != 1 {
				t.Fatalf("%s was reconciled %d times, want once", key, len(w.passesOf(key)))
			}
		}
		mustStop(t, stop)
	})
}

func TestAResyncThatWaitsForRoomStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		opts := exact(reconcile.NewPeriodic(newTable(100).list, reconcile.PeriodicOptions{PageSize: 10}))
		opts.ResyncBacklog = 5
		c := reconcile.New("test", reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) {
			pass(time.Second)
			return reconcile.Result{}, nil
		}), opts)
		stop := start(t, c)
		if depth := c.Status().QueueDepth; depth != 5 {
			t.Errorf("%d keys wait, want 5", depth)
		}
		mustStop(t, stop)
	})
}

func TestKeys(t *testing.T) {
	list := reconcile.Keys("a", "b", "c")
	for _, tc := range []struct {
		after string
		limit int
		want  []string
	}{
		{"", 10, []string{"a", "b", "c"}},
		{"", 2, []string{"a", "b"}},
		{"b", 2, []string{"c"}},
		{"c", 2, []string{}},
	} {
		got, err := list(t.Context(), tc.after, tc.limit)
		if diff := cmp.Diff(tc.want, got); diff != "" || err != nil {
			t.Errorf("after %q, limit %d: error %v (-want +got):\n%s", tc.after, tc.limit, err, diff)
		}
	}
}
