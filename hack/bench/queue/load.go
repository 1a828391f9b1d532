//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// target is the coordinator under load.
type target struct{ addr, token string }

// cycles is what a run under load did.
type cycles struct {
	done   int
	took   time.Duration
	claims []time.Duration // ascending
}

func (c cycles) perSecond() float64 { return float64(c.done) / c.took.Seconds() }

// quantile of the claims' latency, q in 0…1.
func (c cycles) quantile(q float64) time.Duration {
	if len(c.claims) == 0 {
		return 0
	}
	return c.claims[min(len(c.claims)-1, int(q*float64(len(c.claims))))]
}

// connectAll registers n workers, some at a time.
func connectAll(ctx context.Context, t target, n int, l *leases) ([]*worker, error) {
	workers := make([]*worker, n)
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(64)
	for i := range workers {
		g.Go(func() (err error) {
			if ctx.Err() == nil {
				workers[i], err = newWorker(t, fmt.Sprintf("bench-%d", i), l)
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		closeAll(workers)
		return nil, err
	}
	return workers, nil
}

func closeAll(workers []*worker) {
	for _, w := range workers {
		if w != nil {
			w.close()
		}
	}
}

// pace is how workers spend their time.
type pace struct {
	// task is how long a task takes, with a heartbeat in its middle.
	task time.Duration
	// every is the time from one claim of a worker to its next; 0 is as fast as it goes.
	every time.Duration
}

// run has workers work for a time. Cycles that have begun are ended, and only
// those that end within the time count.
func run(ctx context.Context, workers []*worker, p pace, settle, last time.Duration) (cycles, error) {
	start := time.Now()
	from, until := start.Add(settle), start.Add(settle+last)
	g, ctx := errgroup.WithContext(ctx)
	var mu sync.Mutex
	var all cycles
	for i, w := range workers {
		g.Go(func() error {
			mine, err := w.work(ctx, p, start.Add(p.every*time.Duration(i)/time.Duration(len(workers))), from, until)
			mu.Lock()
			defer mu.Unlock()
			all.done += mine.done
			all.claims = append(all.claims, mine.claims...)
			return err
		})
	}
	err := g.Wait()
	all.took = last
	slices.Sort(all.claims)
	return all, err
}

var errDry = errors.New("there was no task left: the run needs more pending tasks")

// work runs cycles from a first time on until the end.
func (w *worker) work(ctx context.Context, p pace, next, from, until time.Time) (mine cycles, err error) {
	for {
		if err := sleepUntil(ctx, next); err != nil || !time.Now().Before(until) {
			return mine, err
		}
		next = next.Add(p.every)
		asked := time.Now()
		t, ok, err := w.claim(0)
		if err != nil {
			return mine, err
		}
		if !ok {
			return mine, errDry
		}
		if asked.After(from) {
			mine.claims = append(mine.claims, time.Since(asked))
		}
		if err := w.compute(ctx, t, asked, p.task); err != nil {
			return mine, err
		}
		if err := w.deliver(t); err != nil {
			return mine, err
		}
		if now := time.Now(); now.After(from) && now.Before(until) {
			mine.done++
		}
	}
}

// compute lets the time of a task pass.
func (w *worker) compute(ctx context.Context, t task, begun time.Time, takes time.Duration) error {
	if err := sleepUntil(ctx, begun.Add(takes/2)); err != nil {
		return err
	}
	if err := w.heartbeat(t); err != nil {
		return err
	}
	return sleepUntil(ctx, begun.Add(takes))
}

func sleepUntil(ctx context.Context, t time.Time) error {
	d := time.Until(t)
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
