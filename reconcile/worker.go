package reconcile

import (
	"context"

	"go.uber.org/zap"
)

// work reconciles keys until the queue is shut down.
func (c *Controller) work(ctx context.Context, q *queue) {
	for {
		req, shutdown := q.Get()
		if shutdown {
			return
		}
		if c.stopping.Load() {
			q.Done(req)
			continue
		}
		c.process(ctx, q, req)
	}
}

// process reconciles req once and decides when it comes again.
func (c *Controller) process(ctx context.Context, q *queue, req Request) {
	defer q.Done(req)

	start := c.opts.Clock.Now()
	c.record.begin(req, start)
	c.metrics.inFlight.Inc()

	res, err := c.call(ctx, req)
	o := c.classify(ctx, res, err)

	now := c.opts.Clock.Now()
	c.metrics.inFlight.Dec()
	c.metrics.duration.Observe(now.Sub(start).Seconds())
	c.metrics.total[o].Inc()
	if o.succeeded() {
		c.metrics.lastSuccess.Set(float64(now.UnixMilli()) / 1000)
	}
	c.logOutcome(req, o, err, q.NumRequeues(req)+1)
	c.requeue(q, req, o, res)
	c.record.end(req, now, o, err)
}

// call runs the reconciler under the timeout and turns a panic into an error.
func (c *Controller) call(ctx context.Context, req Request) (res Result, err error) {
	if c.opts.ReconcileTimeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.opts.ReconcileTimeout)
		defer cancel()
	}
	defer recoverAs(&err)
	return c.reconciler.Reconcile(ctx, req)
}

// requeue acts on the outcome. Every outcome but a retried one ends the key's
// row of failures.
func (c *Controller) requeue(q *queue, req Request, o outcome, res Result) {
	switch o {
	case outcomeError, outcomePanic, outcomeConflict:
		q.AddRateLimited(req)
	case outcomeRequeueAfter:
		q.Forget(req)
		q.AddAfter(req, res.RequeueAfter)
	case outcomeSuccess, outcomeTerminal, outcomeInterrupted:
		q.Forget(req)
	}
}

// logOutcome logs each error once. attempt counts the failures in a row.
func (c *Controller) logOutcome(req Request, o outcome, err error, attempt int) {
	if err == nil {
		return
	}
	log := c.log.With(zap.String("key", req.Key), zap.Int("attempt", attempt))
	switch o {
	case outcomeError:
		log.Error("reconcile failed, will retry", errorFields(err)...)
	case outcomeTerminal:
		log.Error("reconcile failed for good", errorFields(err)...)
	case outcomePanic:
		log.Error("reconcile panicked, will retry", errorFields(err)...)
	case outcomeConflict:
		log.Info("reconcile met a conflict, will retry", errorFields(err)...)
	case outcomeInterrupted:
		log.Info("reconcile interrupted by the stop of its controller", errorFields(err)...)
	}
}
