package reconcile

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics are the instruments of all controllers of a process, told apart by
// the label controller. Pass one value to each Controller.
type Metrics struct {
	total       *prometheus.CounterVec
	duration    *prometheus.HistogramVec
	queueWait   *prometheus.HistogramVec
	queueDepth  *prometheus.GaugeVec
	inFlight    *prometheus.GaugeVec
	retries     *prometheus.GaugeVec
	lastSuccess *prometheus.GaugeVec
}

// NewMetrics registers the instruments with reg.
func NewMetrics(reg prometheus.Registerer) (*Metrics, error) {
	m := newMetrics()
	for _, c := range []prometheus.Collector{
		m.total, m.duration, m.queueWait, m.queueDepth, m.inFlight, m.retries, m.lastSuccess,
	} {
		if err := reg.Register(c); err != nil {
			return nil, fmt.Errorf("register reconcile metrics: %w", err)
		}
	}
	return m, nil
}

func newMetrics() *Metrics {
	gauge := func(name, help string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Namespace: "scimesh", Subsystem: "reconcile", Name: name, Help: help,
		}, []string{"controller"})
	}
	// From 1 ms to 4 minutes in steps of four.
	histogram := func(name, help string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: "scimesh", Subsystem: "reconcile", Name: name, Help: help,
			Buckets: prometheus.ExponentialBuckets(0.001, 4, 10),
		}, []string{"controller"})
	}
	return &Metrics{
		total: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: "scimesh", Subsystem: "reconcile", Name: "total",
			Help: "Reconciles ended, by result.",
		}, []string{"controller", "result"}),
		duration:    histogram("duration_seconds", "Time that a reconcile took."),
		queueWait:   histogram("queue_wait_seconds", "Time that a key waited in the queue until a worker took it."),
		queueDepth:  gauge("queue_depth", "Keys in the queue, ready for a worker."),
		inFlight:    gauge("in_flight", "Keys being reconciled."),
		retries:     gauge("retries", "Keys whose last reconcile failed and that will be retried."),
		lastSuccess: gauge("last_success_timestamp_seconds", "Unix time of the last successful reconcile; 0 if there was none."),
	}
}

// counter, gauge and observer are the parts of an instrument that are used.
type (
	counter  interface{ Inc() }
	observer interface{ Observe(float64) }
	gauge    interface {
		Set(float64)
		Inc()
		Dec()
	}
)

// instruments are the metrics of one controller.
type instruments struct {
	total                                      map[outcome]counter
	duration, queueWait                        observer
	queueDepth, inFlight, retries, lastSuccess gauge
}

// of returns the instruments of the controller called name, each at zero
// rather than absent until its first event.
func (m *Metrics) of(name string) *instruments {
	i := &instruments{
		total:       map[outcome]counter{},
		duration:    m.duration.WithLabelValues(name),
		queueWait:   m.queueWait.WithLabelValues(name),
		queueDepth:  m.queueDepth.WithLabelValues(name),
		inFlight:    m.inFlight.WithLabelValues(name),
		retries:     m.retries.WithLabelValues(name),
		lastSuccess: m.lastSuccess.WithLabelValues(name),
	}
	for _, o := range outcomes {
		i.total[o] = m.total.WithLabelValues(name, string(o))
	}
	return i
}
