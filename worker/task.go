package worker

import (
	"context"
	"errors"
	"math"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
)

const (
	releaseTimeout = 5 * time.Second
	// stopGrace is how long the end of the worker waits for a workload that
	// does not heed its context.
	stopGrace = 2 * time.Second
)

// task is one attempt on this worker, from its claim or from the folder that
// an earlier process left.
type task struct {
	cfg      *Config
	coord    Coordinator
	clean    sanitizer
	interval time.Duration
	disk     *disk
	work     *workDir
	log      *zap.Logger

	dir     string
	resumed bool
	sent    time.Time // when the claim was sent
	ttl     time.Duration
	tlog    *taskLog
	storage error // why the folder could not be made

	mu       sync.Mutex // of state's file
	state    *taskState
	booked   atomic.Int64 // bytes of the folder
	progress atomic.Uint64
	busy     chan struct{} // closed when no workload runs
}

// lives are the contexts that a task's parts belong to: each ends no later
// than the one before it.
type lives struct {
	process context.Context // ends when the worker stops at once
	task    context.Context // ends when running tasks are to be handed back
}

// run carries the task out. It returns when the task has ended here, and the
// reason if it neither completed nor failed.
func (t *task) run(l lives) error {
	ctx, cancel := context.WithCancelCause(l.task)
	defer cancel(nil)
	compute, stop := context.WithCancelCause(ctx)
	defer stop(nil)

	held := make(chan struct{})
	k := &keeper{
		coord: t.coord, lease: t.state.Lease, interval: t.interval, grace: t.cfg.OutageGrace,
		progress: t.share, log: t.log.With(zap.String("operation", "heartbeat")),
		held:    sync.OnceFunc(func() { close(held) }),
		lost:    func(cause error) { cancel(cause) },
		expired: func() { stop(errLeaseExpired) },
	}
	var keeping sync.WaitGroup
	keeping.Go(func() { k.run(ctx, t.sent, t.ttl) })

	err := t.steps(ctx, compute, l, held)
	cancel(nil)
	keeping.Wait()
	return err
}

// steps goes on from the recorded stage.
func (t *task) steps(ctx, compute context.Context, l lives, held <-chan struct{}) error {
	if t.state.Stage == stageClaimed || t.state.Stage == stageFetched {
		if t.resumed {
			// Nothing is computed for a lease that has gone meanwhile.
			if err := await(compute, held); err != nil {
				return err
			}
		}
		if err := t.produce(compute); err != nil {
			return err
		}
	}
	if err := await(ctx, held); err != nil {
		return err
	}
	return t.deliver(ctx, l)
}

func await(ctx context.Context, ready <-chan struct{}) error {
	select {
	case <-ready:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// produce brings the task to computed or failed. It returns an error only if
// the task is to end without either.
func (t *task) produce(ctx context.Context) error {
	out, err := t.compute(ctx)
	switch {
	case err == nil:
		return t.record(func(s *taskState) { s.Stage, s.Output = stageComputed, out })
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case machineFault(err), errors.Is(err, ErrLeaseLost):
		return err
	}
	return t.fail(err)
}

func (t *task) compute(ctx context.Context) (*output, error) {
	if t.state.Starts >= maxStarts {
		return nil, failuref(codeProcessEnded, "the worker's process ended %d times while it computed this attempt", t.state.Starts)
	}
	if err := t.fetch(ctx); err != nil {
		return nil, err
	}
	err := t.record(func(s *taskState) { s.Stage = stageFetched; s.Starts++ })
	if err != nil {
		return nil, err
	}
	t.tlog.Logf("input verified, computing %s", t.state.Workload)

	type result struct {
		out *output
		err error
	}
	done := make(chan result, 1)
	t.busy = make(chan struct{})
	go func() {
		defer close(t.busy)
		out, err := t.execute(ctx)
		done <- result{out, err}
	}()
	select {
	case r := <-done:
		return r.out, r.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// fail records that the attempt failed with err.
func (t *task) fail(err error) error {
	if p, ok := errors.AsType[*panicError](err); ok {
		t.log.Error("workload panicked", zap.String("operation", "execute"), zap.ByteString("stack", p.stack))
	}
	f := t.clean.failure(err)
	t.log.Warn("task failed", zap.String("operation", "execute"), zap.String("code", f.Code), zap.String("error", f.Message))
	t.tlog.Logf("failed: %s: %s", f.Code, f.Message)
	return t.record(func(s *taskState) { s.Stage, s.Failure = stageFailed, &f })
}

// record changes the state and writes it down.
func (t *task) record(change func(*taskState)) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	change(t.state)
	return diskError(t.state.save(t.dir))
}

// idle waits until no workload runs for the task, or the worker's end has waited long enough.
func (t *task) idle(ctx context.Context) {
	if t.busy == nil {
		return
	}
	select {
	case <-t.busy:
		return
	case <-ctx.Done():
	}
	select {
	case <-t.busy:
	case <-time.After(stopGrace):
		t.log.Warn("workload does not stop", zap.String("operation", "execute"))
	}
}

// book counts n more bytes (or fewer) in the task's folder.
func (t *task) book(n int64) error {
	if err := t.disk.take(n); err != nil {
		return err
	}
	t.booked.Add(n)
	return nil
}

// remove ends the folder. A failed task's is kept for inspection if so configured.
func (t *task) remove() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.state.Stage == stageFailed && t.cfg.KeepFailed > 0 {
		freed, err := t.work.keepFailed(t.dir, t.cfg.KeepFailed)
		if err != nil {
			t.log.Warn("task folder not kept", zap.Error(err))
		}
		t.disk.give(freed)
		return
	}
	if err := os.RemoveAll(t.dir); err != nil {
		t.log.Warn("task folder not removed", zap.Error(err))
		return
	}
	t.disk.give(t.booked.Swap(0))
}

func (t *task) setProgress(share float64) {
	if share >= 0 && share <= 1 {
		t.progress.Store(math.Float64bits(share))
	}
}

// share returns the progress, negative if the workload has not told any.
func (t *task) share() float64 {
	bits := t.progress.Load()
	if bits == 0 {
		return -1
	}
	return math.Float64frombits(bits)
}
