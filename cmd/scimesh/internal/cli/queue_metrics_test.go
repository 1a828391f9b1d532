package cli

import (
	"context"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.uber.org/zap"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/store"
)

type fixedStats struct {
	stats store.QueueStats
	err   error
}

func (f fixedStats) QueueStats(context.Context) (store.QueueStats, error) { return f.stats, f.err }

func scrape(t *testing.T, s queueStats) string {
	t.Helper()
	r := prometheus.NewRegistry()
	r.MustRegister(NewQueueMetrics(s, time.Second, zap.NewNop()))
	w := httptest.NewRecorder()
	promhttp.HandlerFor(r, promhttp.HandlerOpts{}).ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if w.Code != 200 {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
	return w.Body.String()
}

func TestQueueMetrics(t *testing.T) {
	got := scrape(t, fixedStats{stats: store.QueueStats{
		JobsByPhase: map[v1.JobPhase]int64{v1.JobRunning: 2}, Workers: map[v1.WorkerPhase]int64{v1.WorkerBusy: 3},
		Tasks: v1.TaskCounts{Pending: 7, Completed: 11}, OldestPendingAge: 90 * time.Second,
	}})
	for _, want := range []string{
		`scimesh_queue_jobs{phase="running"} 2`, `scimesh_queue_jobs{phase="failed"} 0`, `scimesh_queue_tasks{phase="pending"} 7`,
		`scimesh_queue_tasks{phase="completed"} 11`, `scimesh_queue_workers{phase="busy"} 3`, `scimesh_queue_oldest_pending_seconds 90`,
		`scimesh_queue_oldest_snapshot_seconds 0`,
	} {
		if !strings.Contains(got, want+"\n") {
			t.Errorf("no line %s in\n%s", want, got)
		}
	}
	if got := scrape(t, fixedStats{err: errors.New("away")}); strings.Contains(got, "scimesh_queue") {
		t.Errorf("gauges without a database: %s", got)
	}
}
