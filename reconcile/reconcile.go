package reconcile

import (
	"context"
	"time"
)

// Request names the object to reconcile. It carries no event: a reconciler
// reads the present state of the object, so that ten changes may be answered
// by one pass and a change nobody was told of is answered by the next one.
type Request struct {
	// Key identifies the object within its controller.
	Key string
}

// Result is what a reconcile without an error asks for.
type Result struct {
	// RequeueAfter, when positive, reconciles the key again no later than
	// this long from now: a deadline, the expiry of a lease. Zero waits for
	// the next event.
	RequeueAfter time.Duration
}

// Reconciler moves the object that a key names one step towards its desired
// state. It must be safe to run again at any moment, on any replica and after
// any crash, and it should return soon after its context ends.
//
// An error is retried with back-off, unless TerminalError wraps it. A Conflict
// is retried alike, and is not counted as an error. An object that is gone is
// no error: there is nothing left to do. When err is not nil the Result is
// ignored.
type Reconciler interface {
	Reconcile(ctx context.Context, req Request) (Result, error)
}

// Func is a function that reconciles.
type Func func(ctx context.Context, req Request) (Result, error)

// Reconcile calls f.
func (f Func) Reconcile(ctx context.Context, req Request) (Result, error) {
	return f(ctx, req)
}
