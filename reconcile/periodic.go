package reconcile

import (
	"context"
	"fmt"
	"time"

	"go.uber.org/zap"
	"k8s.io/utils/clock"
)

// ListFunc returns one page of the keys that a resync visits: those after the
// key after, of which it returns limit at most, in an order that the calls of
// one resync agree on. The first call has an empty after. A page shorter than
// limit is the last one.
type ListFunc func(ctx context.Context, after string, limit int) ([]string, error)

// Keys is the ListFunc of a few distinct keys that never change: those of a
// controller that looks after one thing rather than after rows.
func Keys(keys ...string) ListFunc {
	return func(_ context.Context, after string, limit int) ([]string, error) {
		rest := keys
		for i, key := range keys {
			if after != "" && key == after {
				rest = keys[i+1:]
				break
			}
		}
		return rest[:min(limit, len(rest))], nil
	}
}

// PeriodicOptions configure a Periodic. The zero value works.
type PeriodicOptions struct {
	// Interval is the time from the end of one resync to the start of the
	// next; 45 seconds by default.
	Interval time.Duration
	// MinInterval is the same for a resync that Trigger asks for, which is not
	// delayed otherwise; 200 ms by default. It bounds what a storm of triggers
	// can cost.
	MinInterval time.Duration
	// Jitter shortens each interval and each wait after an error by a random
	// part, up to this fraction; 0.2 by default, negative for none.
	Jitter float64
	// PageSize is the limit given to the ListFunc; 500 by default.
	PageSize int
	// Clock is the real one by default.
	Clock clock.WithTicker
	// Logger is silent by default.
	Logger *zap.Logger
}

const (
	defaultResyncInterval = 45 * time.Second
	defaultMinInterval    = 200 * time.Millisecond
	defaultPageSize       = 500
	resyncRetryBase       = 500 * time.Millisecond
	resyncRetryMax        = 5 * time.Second
)

// Periodic is the Source that guarantees a visit to every object: it lists all
// keys at the start, at every interval, and whenever Trigger asks. Keys go into
// the queue page by page and only as fast as the workers make room, behind the
// edges and never starved by them. A Periodic serves one controller.
type Periodic struct {
	list    ListFunc
	opts    PeriodicOptions
	log     *zap.Logger
	trigger chan struct{}
}

// NewPeriodic returns a source that lists with list.
func NewPeriodic(list ListFunc, opts PeriodicOptions) *Periodic {
	opts.Interval = orDefault(opts.Interval, defaultResyncInterval)
	opts.MinInterval = min(orDefault(opts.MinInterval, defaultMinInterval), opts.Interval)
	opts.Jitter = jitterOrDefault(opts.Jitter)
	opts.PageSize = orDefault(opts.PageSize, defaultPageSize)
	opts.Clock = clockOrReal(opts.Clock)
	return &Periodic{list: list, opts: opts, log: loggerOrNop(opts.Logger), trigger: make(chan struct{}, 1)}
}

// Trigger makes a full resync start at once, or when the one under way is
// done. It never blocks, and several calls may be answered by one resync that
// starts after the last of them.
func (p *Periodic) Trigger() {
	select {
	case p.trigger <- struct{}{}:
	default: // one is due already
	}
}

// Start resyncs until ctx ends. A page that cannot be listed is logged and
// tried again, from where the resync stopped.
func (p *Periodic) Start(ctx context.Context, queue Enqueuer) error {
	retry := delays{base: min(resyncRetryBase, p.opts.Interval), max: min(resyncRetryMax, p.opts.Interval), jitter: p.opts.Jitter}
	after, failures := "", 0
	for ctx.Err() == nil {
		reached, err := p.walk(ctx, queue, after)
		wait := shorten(p.opts.Interval, p.opts.Jitter)
		switch {
		case ctx.Err() != nil:
			continue
		case err == nil:
			failures = 0
		default:
			if reached != after {
				failures = 0
			}
			failures++
			wait = retry.after(failures)
			p.log.Error("resync stopped, will go on", append(errorFields(err), zap.Duration("retry_after", wait))...)
		}
		after = reached
		if p.pause(ctx, wait) {
			after = ""
		}
	}
	return nil
}

// pause waits for d, or until ctx ends, or for a trigger, which it reports and
// to which it is deaf for MinInterval.
func (p *Periodic) pause(ctx context.Context, d time.Duration) (triggered bool) {
	deaf := min(d, p.opts.MinInterval)
	if !sleep(ctx, p.opts.Clock, deaf) {
		return false
	}
	timer := p.opts.Clock.NewTimer(d - deaf)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C():
		return false
	case <-p.trigger:
		return true
	}
}

// walk adds all keys beyond after. It returns an empty string once it has been
// through, and otherwise the last key of the last page it added.
func (p *Periodic) walk(ctx context.Context, queue Enqueuer, after string) (reached string, err error) {
	for {
		page, err := p.page(ctx, after)
		if err != nil {
			return after, err
		}
		for _, key := range page {
			if err := queue.AddResync(ctx, Request{Key: key}); err != nil {
				return after, err
			}
		}
		if len(page) < p.opts.PageSize {
			return "", nil
		}
		last := page[len(page)-1]
		if last == after {
			return after, fmt.Errorf("list keys after %q: the page ends where it began", after)
		}
		after = last
	}
}

func (p *Periodic) page(ctx context.Context, after string) (page []string, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("list keys after %q: %w", after, err)
		}
	}()
	defer recoverAs(&err)
	return p.list(ctx, after, p.opts.PageSize)
}
