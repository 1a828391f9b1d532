package reconcile

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"
)

// abandonAfter is how long a reconcile or source may outlive the cancelling of
// its context before the controller stops without it.
const abandonAfter = 5 * time.Second

// errStopping is the cause of a context that a drain cancelled.
var errStopping = errors.New("controller is stopping")

// Controller runs one Reconciler over the keys that its sources add.
type Controller struct {
	name       string
	reconciler Reconciler
	opts       Options
	metrics    *instruments
	log        *zap.Logger
	record     record

	stopping atomic.Bool
	mu       sync.Mutex
	queue    *queue // nil until Start
}

// New returns a controller that does nothing until Start. The name labels its
// metrics, logs and status, and is unique in a process.
func New(name string, reconciler Reconciler, opts Options) *Controller {
	opts = opts.withDefaults()
	return &Controller{
		name:       name,
		reconciler: reconciler,
		opts:       opts,
		metrics:    opts.Metrics.of(name),
		log:        opts.Logger.With(zap.String("controller", name)),
		record:     record{inFlight: map[Request]time.Time{}},
	}
}

// Name returns the controller's name.
func (c *Controller) Name() string { return c.name }

// Status returns a snapshot.
func (c *Controller) Status() Status {
	s := Status{Name: c.name, Concurrency: c.opts.Concurrency}
	c.record.read(&s, c.opts.Clock.Now())

	c.mu.Lock()
	defer c.mu.Unlock()
	if c.queue != nil {
		s.Running = !c.stopping.Load()
		s.QueueDepth = c.queue.Len()
		s.Retries = c.queue.backoff.len()
	}
	return s
}

// Start runs the sources and the workers until ctx ends or a source fails, and
// then drains: no further key is taken, and running reconciles have
// DrainTimeout to finish before their contexts are cancelled. Keys left in the
// queue are dropped; the resync of the next start finds them again.
//
// Start returns the error of the source that failed, or an error naming the
// keys whose reconciles did not stop. It can be called once.
func (c *Controller) Start(ctx context.Context) error {
	q, err := c.open()
	if err != nil {
		return err
	}
	// Reconciles outlive ctx: they have until the end of the drain.
	workCtx, cancelWork := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancelWork(nil)

	sources, sourceCtx := errgroup.WithContext(ctx)
	for _, src := range c.opts.Sources {
		sources.Go(func() error {
			err := startSource(sourceCtx, src, q)
			if err != nil {
				c.log.Error("source failed", errorFields(err)...)
			}
			return err
		})
	}
	var workers sync.WaitGroup
	for range c.opts.Concurrency {
		workers.Go(func() { c.work(workCtx, q) })
	}
	c.log.Info("controller started", zap.Int("concurrency", c.opts.Concurrency))

	<-sourceCtx.Done()
	c.stopping.Store(true) // before the queue ends: workers drop what it still hands out
	q.ShutDown()
	ended := make(chan error, 1)
	go func() {
		err := sources.Wait()
		workers.Wait()
		ended <- err
	}()
	err = c.drain(ended, cancelWork)
	c.log.Info("controller stopped")
	if err != nil {
		return fmt.Errorf("controller %q: %w", c.name, err)
	}
	return nil
}

func (c *Controller) open() (*queue, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.name == "":
		return nil, errors.New("controller has no name")
	case c.reconciler == nil:
		return nil, fmt.Errorf("controller %q has no reconciler", c.name)
	case c.queue != nil:
		return nil, fmt.Errorf("controller %q was started before", c.name)
	}
	c.queue = newQueue(c.opts, c.metrics)
	return c.queue, nil
}

// drain waits for the error on ended, cancels the reconciles after
// DrainTimeout, and gives up on them after abandonAfter.
func (c *Controller) drain(ended <-chan error, cancelWork context.CancelCauseFunc) error {
	if c.opts.DrainTimeout > 0 {
		if ok, err := c.await(ended, c.opts.DrainTimeout); ok {
			return err
		}
	}
	if keys := c.record.running(); len(keys) > 0 {
		c.log.Warn("cancelling reconciles that outlast the drain", zap.Strings("keys", keys))
	}
	cancelWork(errStopping)
	if ok, err := c.await(ended, abandonAfter); ok {
		return err
	}
	return fmt.Errorf("sources or reconciles ignore that their context ended; keys being reconciled: %q", c.record.running())
}

// await receives from ended, for d at most.
func (c *Controller) await(ended <-chan error, d time.Duration) (ok bool, err error) {
	timer := c.opts.Clock.NewTimer(d)
	defer timer.Stop()
	select {
	case err := <-ended:
		return true, err
	case <-timer.C():
		return false, nil
	}
}
