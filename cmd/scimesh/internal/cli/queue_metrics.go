package cli

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/store"
)

// queueStats reads the queue as a whole.
type queueStats interface {
	QueueStats(ctx context.Context) (store.QueueStats, error)
}

// queueMetrics are gauges over the queue, read from the database when they are
// asked for. Every coordinator shows the same. Their labels are phases alone,
// so there are as many of them however many jobs there are.
type queueMetrics struct {
	store   queueStats
	timeout time.Duration
	log     *zap.Logger

	jobs, tasks, workers, pendingAge, snapshotAge *prometheus.Desc
}

var _ prometheus.Collector = (*queueMetrics)(nil)

// NewQueueMetrics returns the gauges over a queue. Each reading of them takes at most timeout.
func NewQueueMetrics(s queueStats, timeout time.Duration, log *zap.Logger) prometheus.Collector {
	return &queueMetrics{
		store: s, timeout: timeout, log: log,
		jobs:        prometheus.NewDesc("scimesh_queue_jobs", "Jobs by phase.", []string{"phase"}, nil),
		tasks:       prometheus.NewDesc("scimesh_queue_tasks", "Tasks of jobs that have not ended, by phase.", []string{"phase"}, nil),
		workers:     prometheus.NewDesc("scimesh_queue_workers", "Workers by phase.", []string{"phase"}, nil),
		pendingAge:  prometheus.NewDesc("scimesh_queue_oldest_pending_seconds", "Age of the oldest task that waits for its first attempt.", nil, nil),
		snapshotAge: prometheus.NewDesc("scimesh_queue_oldest_snapshot_seconds", "Age of the oldest transaction in the database; while it grows, claims get slower.", nil, nil),
	}
}

// Describe implements prometheus.Collector.
func (m *queueMetrics) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{m.jobs, m.tasks, m.workers, m.pendingAge, m.snapshotAge} {
		ch <- d
	}
}

// Collect implements prometheus.Collector. While the database is away there
// are no gauges of it, and all other metrics are shown.
func (m *queueMetrics) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), m.timeout)
	defer cancel()
	st, err := m.store.QueueStats(ctx)
	if err != nil {
		m.log.Warn("queue metrics are left out", zap.String("operation", "metrics"), zap.Error(err))
		return
	}
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	for _, phase := range []v1.JobPhase{v1.JobCreated, v1.JobPlanning, v1.JobRunning, v1.JobReducing, v1.JobCompleted, v1.JobFailed, v1.JobCancelled} {
		gauge(m.jobs, float64(st.JobsByPhase[phase]), string(phase))
	}
	t := st.Tasks
	for phase, n := range map[v1.TaskPhase]int64{
		v1.TaskPending: t.Pending, v1.TaskLeased: t.Leased, v1.TaskRunning: t.Running,
		v1.TaskCompleted: t.Completed, v1.TaskFailed: t.Failed, v1.TaskCancelled: t.Cancelled,
	} {
		gauge(m.tasks, float64(n), string(phase))
	}
	for _, phase := range []v1.WorkerPhase{v1.WorkerOnline, v1.WorkerBusy, v1.WorkerOffline} {
		gauge(m.workers, float64(st.Workers[phase]), string(phase))
	}
	gauge(m.pendingAge, st.OldestPendingAge.Seconds())
	gauge(m.snapshotAge, st.OldestSnapshotAge.Seconds())
}
