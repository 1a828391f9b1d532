package reconcile

import (
	"time"

	"go.uber.org/zap"
	"k8s.io/utils/clock"
)

// Options configure a Controller. The zero value works.
type Options struct {
	// Sources feed the controller's queue.
	Sources []Source

	// Concurrency is the number of keys reconciled at once; 1 by default.
	// One key is never reconciled twice at once, whatever the concurrency.
	Concurrency int

	// BaseDelay is the wait after a key's first failure, 10 ms by default. It
	// doubles with each failure in a row up to MaxDelay, one minute by default.
	BaseDelay, MaxDelay time.Duration

	// Jitter shortens each back-off by a random part of it, up to this
	// fraction; 0.2 by default, negative for none, 1 at most.
	Jitter float64

	// ReconcileTimeout ends the context of a reconcile that takes longer;
	// one minute by default, negative for no limit. It is measured by the
	// real clock, the only one that contexts know.
	ReconcileTimeout time.Duration

	// DrainTimeout is how long running reconciles may go on once the
	// controller is told to stop, before their contexts are cancelled;
	// 20 seconds by default, negative to cancel at once.
	DrainTimeout time.Duration

	// ResyncBacklog bounds the keys of resyncs waiting in the queue; 1000 by
	// default. A resync that has more to add waits for the workers.
	ResyncBacklog int

	// IsConflict recognises further errors as conflicts, beside IsConflict
	// of this package.
	IsConflict func(error) bool

	// Clock is the real one by default.
	Clock clock.WithTicker

	// Logger is silent by default.
	Logger *zap.Logger

	// Metrics are kept but not registered anywhere by default.
	Metrics *Metrics
}

const (
	defaultBaseDelay = 10 * time.Millisecond
	defaultMaxDelay  = time.Minute
	defaultJitter    = 0.2

	defaultReconcileTimeout = time.Minute
	defaultDrainTimeout     = 20 * time.Second
	defaultResyncBacklog    = 1000
)

func (o Options) withDefaults() Options {
	o.Concurrency = orDefault(o.Concurrency, 1)
	o.BaseDelay = orDefault(o.BaseDelay, defaultBaseDelay)
	o.MaxDelay = max(orDefault(o.MaxDelay, defaultMaxDelay), o.BaseDelay)
	o.Jitter = jitterOrDefault(o.Jitter)
	if o.ReconcileTimeout == 0 {
		o.ReconcileTimeout = defaultReconcileTimeout
	}
	if o.DrainTimeout == 0 {
		o.DrainTimeout = defaultDrainTimeout
	}
	o.ResyncBacklog = orDefault(o.ResyncBacklog, defaultResyncBacklog)
	if o.IsConflict == nil {
		o.IsConflict = func(error) bool { return false }
	}
	o.Clock = clockOrReal(o.Clock)
	o.Logger = loggerOrNop(o.Logger)
	if o.Metrics == nil {
		o.Metrics = newMetrics()
	}
	return o
}

// orDefault returns v if it is positive, and def otherwise.
func orDefault[T int | time.Duration](v, def T) T {
	if v > 0 {
		return v
	}
	return def
}

func jitterOrDefault(j float64) float64 {
	if j == 0 {
		return defaultJitter
	}
	return min(max(j, 0), 1)
}

func clockOrReal(c clock.WithTicker) clock.WithTicker {
	if c == nil {
		return clock.RealClock{}
	}
	return c
}

func loggerOrNop(l *zap.Logger) *zap.Logger {
	if l == nil {
		return zap.NewNop()
	}
	return l
}
