package reconcile_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"scimesh.dev/scimesh/reconcile"
)

func observedLogs() (*observer.ObservedLogs, *zap.Logger) {
	core, logs := observer.New(zap.DebugLevel)
	return logs, zap.New(core)
}

// totals is the text of scimesh_reconcile_total with the given counts.
func totals(controller string, counts map[string]int) string {
	var b strings.Builder
	b.WriteString("# HELP scimesh_reconcile_total Reconciles ended, by result.\n# TYPE scimesh_reconcile_total counter\n")
	for _, result := range []string{"conflict", "error", "interrupted", "panic", "requeue_after", "success", "terminal"} {
		fmt.Fprintf(&b, "scimesh_reconcile_total{controller=%q,result=%q} %d\n", controller, result, counts[result])
	}
	return b.String()
}

func TestMetricsStartAtZero(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	m, err := reconcile.NewMetrics(reg)
	if err != nil {
		t.Fatal(err)
	}
	reconcile.New("planner", newWorld(nil), reconcile.Options{Metrics: m})
	if err := testutil.GatherAndCompare(reg, strings.NewReader(totals("planner", nil)), "scimesh_reconcile_total"); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"queue_depth", "in_flight", "retries", "last_success_timestamp_seconds", "duration_seconds", "queue_wait_seconds"} {
		if n, err := testutil.GatherAndCount(reg, "scimesh_reconcile_"+name); n != 1 || err != nil {
			t.Errorf("scimesh_reconcile_%s has %d series (%v), want 1", name, n, err)
		}
	}
	if problems, err := testutil.GatherAndLint(reg); err != nil || len(problems) > 0 {
		t.Errorf("lint: %v, %v", problems, err)
	}
}

func TestMetricsAreRegisteredOnce(t *testing.T) {
	reg := prometheus.NewRegistry()
	if _, err := reconcile.NewMetrics(reg); err != nil {
		t.Fatal(err)
	}
	_, err := reconcile.NewMetrics(reg)
	if !errors.As(err, &prometheus.AlreadyRegisteredError{}) {
		t.Errorf("second registration returned %v, want AlreadyRegisteredError", err)
	}
}

func TestOutcomesInMetricsStatusAndLogs(t *testing.T) {
	foreign := errors.New("row changed")
	tests := map[string]struct {
		err        error
		result     reconcile.Result
		wantTotal  string
		wantLog    string // level and message; empty for none
		wantErrors uint64
		wantLast   bool // a last error
	}{
		"success":       {wantTotal: "success"},
		"requeue after": {result: reconcile.Result{RequeueAfter: time.Hour}, wantTotal: "requeue_after"},
		"error": {
			err: errors.New("broken"), wantTotal: "error", wantErrors: 1, wantLast: true,
			wantLog: "error: reconcile failed, will retry",
		},
		"terminal": {
			err: reconcile.TerminalError(errors.New("broken")), wantTotal: "terminal", wantErrors: 1, wantLast: true,
			wantLog: "error: reconcile failed for good",
		},
		"conflict": {
			err: fmt.Errorf("update job: %w", reconcile.Conflict(errors.New("raced"))), wantTotal: "conflict",
			wantLog: "info: reconcile met a conflict, will retry",
		},
		"conflict of another package": {
			err: foreignConflict{}, wantTotal: "conflict",
			wantLog: "info: reconcile met a conflict, will retry",
		},
		"conflict by option": {
			err: fmt.Errorf("update job: %w", foreign), wantTotal: "conflict",
			wantLog: "info: reconcile met a conflict, will retry",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				reg := prometheus.NewRegistry()
				m, err := reconcile.NewMetrics(reg)
				if err != nil {
					t.Fatal(err)
				}
				logs, logger := observedLogs()
				opts := exact(feed("k"))
				opts.Metrics, opts.Logger = m, logger
				opts.IsConflict = func(err error) bool { return errors.Is(err, foreign) }
				c := reconcile.New("c", reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) {
					return tc.result, tc.err
				}), opts)
				stop := start(t, c)

				if err := testutil.GatherAndCompare(reg, strings.NewReader(totals("c", map[string]int{tc.wantTotal: 1})), "scimesh_reconcile_total"); err != nil {
					t.Error(err)
				}
				got := c.Status()
				if got.Errors != tc.wantErrors || (got.LastError != nil) != tc.wantLast {
					t.Errorf("status %+v", got)
				}
				if wantSuccess := tc.err == nil; got.LastSuccess.Equal(time.Now()) != wantSuccess {
					t.Errorf("last success %v", got.LastSuccess)
				}
				var lines []string
				for _, entry := range logs.All() {
					if fields := entry.ContextMap(); fields["key"] == "k" && fields["controller"] == "c" {
						lines = append(lines, entry.Level.String()+": "+entry.Message)
					}
				}
				if diff := cmp.Diff(tc.wantLog, strings.Join(lines, "\n")); diff != "" {
					t.Errorf("log (-want +got):\n%s", diff)
				}
				mustStop(t, stop)
			})
		})
	}
}

type foreignConflict struct{}

func (foreignConflict) Error() string  { return "version 3 is not 4" }
func (foreignConflict) Conflict() bool { return true }

func TestGaugesFollowTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg := prometheus.NewRegistry()
		m, err := reconcile.NewMetrics(reg)
		if err != nil {
			t.Fatal(err)
		}
		opts := exact(feed("a", "b", "c"))
		opts.Metrics = m
		failed := map[string]bool{}
		c := reconcile.New("c", reconcile.Func(func(_ context.Context, req reconcile.Request) (reconcile.Result, error) {
			pass(100 * time.Millisecond)
			if !failed[req.Key] {
				failed[req.Key] = true
				return reconcile.Result{}, errors.New("broken")
			}
			return reconcile.Result{}, nil
		}), opts)
		check := func(depth, inFlight, retries int) {
			t.Helper()
			synctest.Wait()
			want := fmt.Sprintf(`# HELP scimesh_reconcile_in_flight Keys being reconciled.
# TYPE scimesh_reconcile_in_flight gauge
scimesh_reconcile_in_flight{controller="c"} %d
# HELP scimesh_reconcile_queue_depth Keys in the queue, ready for a worker.
# TYPE scimesh_reconcile_queue_depth gauge
scimesh_reconcile_queue_depth{controller="c"} %d
# HELP scimesh_reconcile_retries Keys whose last reconcile failed and that will be retried.
# TYPE scimesh_reconcile_retries gauge
scimesh_reconcile_retries{controller="c"} %d
`, inFlight, depth, retries)
			if err := testutil.GatherAndCompare(reg, strings.NewReader(want), "scimesh_reconcile_queue_depth",
				"scimesh_reconcile_in_flight", "scimesh_reconcile_retries"); err != nil {
				t.Error(err)
			}
			if s := c.Status(); s.QueueDepth != depth || s.InFlight != inFlight || s.Retries != retries {
				t.Errorf("status %+v; want depth %d, in flight %d, retries %d", s, depth, inFlight, retries)
			}
		}
		stop := start(t, c)
		check(2, 1, 0)
		pass(150 * time.Millisecond)
		check(1, 1, 1)
		pass(500 * time.Millisecond)
		check(0, 0, 3)
		pass(time.Minute)
		check(0, 0, 0)
		mustStop(t, stop)
	})
}
