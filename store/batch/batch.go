// Package batch coalesces requests that arrive together: group commit.
//
// There is no timer. A request that finds its queue idle is served at once and
// alone; those that arrive while a batch runs form the next batch. So the delay
// of a request is at most that of one batch, and the more requests come, the
// more of them share one.
package batch

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Result is the answer to one request of a batch.
type Result[Res any] struct {
	Value Res
	Err   error
}

// Options configure a Queue.
type Options[Req, Res any] struct {
	// Max is the largest batch; 100 by default.
	Max int
	// Timeout bounds the run of one batch; none by default.
	Timeout time.Duration
	// Isolate reports whether an error of a whole batch may be the fault of
	// one request, so that each is to be run alone. Default: always.
	Isolate func(error) bool
	// Orphan, if not nil, is given the value of a request whose caller had
	// gone when the batch was done. It is called after the batch's answers
	// are out, in a goroutine of its own.
	Orphan func(Req, Res)
}

// Queue runs requests in batches, one batch at a time.
type Queue[Req, Res any] struct {
	run  func(context.Context, []Req) ([]Result[Res], error)
	opts Options[Req, Res]

	mu      sync.Mutex
	waiting []*call[Req, Res]
	running bool
}

type call[Req, Res any] struct {
	req    Req
	result Result[Res]
	done   chan struct{}

	mu        sync.Mutex
	finished  bool
	abandoned bool
}

// New returns a queue that serves its batches with run, which answers every
// request in order, or fails as a whole.
func New[Req, Res any](run func(context.Context, []Req) ([]Result[Res], error), opts Options[Req, Res]) *Queue[Req, Res] {
	if opts.Max <= 0 {
		opts.Max = 100
	}
	if opts.Isolate == nil {
		opts.Isolate = func(error) bool { return true }
	}
	return &Queue[Req, Res]{run: run, opts: opts}
}

// Do serves one request, with whatever others are there. If ctx ends first it
// returns the context's error: the request may or may not be carried out.
func (q *Queue[Req, Res]) Do(ctx context.Context, req Req) (Res, error) {
	c := &call[Req, Res]{req: req, done: make(chan struct{})}
	if err := ctx.Err(); err != nil {
		return c.result.Value, err
	}
	q.mu.Lock()
	q.waiting = append(q.waiting, c)
	if !q.running {
		q.running = true
		go q.loop()
	}
	q.mu.Unlock()

	select {
	case <-c.done:
		return c.result.Value, c.result.Err
	case <-ctx.Done():
		if c.abandon() {
			var zero Res
			return zero, ctx.Err()
		}
		return c.result.Value, c.result.Err
	}
}

// loop runs batches until the queue is empty.
func (q *Queue[Req, Res]) loop() {
	for {
		q.mu.Lock()
		n := min(len(q.waiting), q.opts.Max)
		if n == 0 {
			q.running = false
			q.waiting = nil
			q.mu.Unlock()
			return
		}
		calls := slices.Clone(q.waiting[:n])
		q.waiting = append(q.waiting[:0], q.waiting[n:]...)
		q.mu.Unlock()
		q.serve(slices.DeleteFunc(calls, func(c *call[Req, Res]) bool { return c.gone() }))
	}
}

// serve runs one batch and gives each caller its own answer.
func (q *Queue[Req, Res]) serve(calls []*call[Req, Res]) {
	if len(calls) == 0 {
		return
	}
	reqs := make([]Req, len(calls))
	for i, c := range calls {
		reqs[i] = c.req
	}
	results, err := q.protect(reqs)
	switch {
	case err != nil && len(calls) > 1 && q.opts.Isolate(err):
		for _, c := range calls {
			q.serve([]*call[Req, Res]{c})
		}
	case err != nil:
		for _, c := range calls {
			c.finish(Result[Res]{Err: err})
		}
	default:
		for i, c := range calls {
			if !c.finish(results[i]) && results[i].Err == nil && q.opts.Orphan != nil {
				go q.opts.Orphan(c.req, results[i].Value)
			}
		}
	}
}

// protect runs a batch; a panic, or a wrong number of answers, becomes its error.
func (q *Queue[Req, Res]) protect(reqs []Req) (results []Result[Res], err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("batch: panic: %v", v)
		}
	}()
	ctx := context.Background()
	if q.opts.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, q.opts.Timeout)
		defer cancel()
	}
	results, err = q.run(ctx, reqs)
	if err == nil && len(results) != len(reqs) {
		err = fmt.Errorf("batch: %d answers to %d requests", len(results), len(reqs))
	}
	return results, err
}

// finish hands the answer over; false if the caller has gone.
func (c *call[Req, Res]) finish(r Result[Res]) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.abandoned {
		return false
	}
	c.result, c.finished = r, true
	close(c.done)
	return true
}

// abandon gives the call up; false if its answer is there already.
func (c *call[Req, Res]) abandon() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.abandoned = !c.finished
	return c.abandoned
}

func (c *call[Req, Res]) gone() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.abandoned
}
