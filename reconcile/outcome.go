package reconcile

import (
	"context"
	"errors"
)

// outcome is how a reconcile ended, as the metrics name it.
type outcome string

const (
	outcomeSuccess      outcome = "success"
	outcomeRequeueAfter outcome = "requeue_after"
	outcomeConflict     outcome = "conflict"
	outcomeError        outcome = "error"
	outcomeTerminal     outcome = "terminal"
	outcomePanic        outcome = "panic"
	// outcomeInterrupted is a reconcile whose context the drain cancelled.
	outcomeInterrupted outcome = "interrupted"
)

var outcomes = [...]outcome{
	outcomeSuccess, outcomeRequeueAfter, outcomeConflict, outcomeError,
	outcomeTerminal, outcomePanic, outcomeInterrupted,
}

// failed reports whether the outcome counts as an error.
func (o outcome) failed() bool {
	return o == outcomeError || o == outcomeTerminal || o == outcomePanic
}

// succeeded reports whether the reconciler did what it had to do.
func (o outcome) succeeded() bool {
	return o == outcomeSuccess || o == outcomeRequeueAfter
}

// classify tells the outcomes apart. ctx is the context of all reconciles of
// the controller, which ends only when a drain has run out of time.
func (c *Controller) classify(ctx context.Context, res Result, err error) outcome {
	_, panicked := errors.AsType[*panicError](err)
	switch {
	case panicked:
		return outcomePanic
	case err != nil && ctx.Err() != nil:
		return outcomeInterrupted
	case IsTerminal(err):
		return outcomeTerminal
	case err != nil && (IsConflict(err) || c.opts.IsConflict(err)):
		return outcomeConflict
	case err != nil:
		return outcomeError
	case res.RequeueAfter > 0:
		return outcomeRequeueAfter
	}
	return outcomeSuccess
}
