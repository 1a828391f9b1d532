package reconcile

import (
	"context"
	"time"
)

// Enqueuer is the part of a controller's queue that a Source sees. A key that
// is added while it waits in the queue is reconciled once; one that is added
// while it is being reconciled is reconciled once more.
type Enqueuer interface {
	// Add enqueues an edge: something happened to the object just now. Edges
	// go ahead of resyncs, and end the wait of a key in back-off. Add never
	// blocks.
	Add(Request)

	// AddAfter adds req as an edge once d has passed. A key has one wait at
	// most, the shortest of those asked for: when it is over, the reconciler
	// has to ask for the next one.
	AddAfter(req Request, d time.Duration)

	// AddResync enqueues a key that may have changed unseen. It goes behind
	// the edges, of which it lets pass a few at most, and also ends the wait
	// of a key in back-off. It blocks while the backlog of resyncs is full,
	// and returns an error only when ctx ends.
	AddResync(ctx context.Context, req Request) error
}

// Source feeds keys into a controller's queue.
type Source interface {
	// Start adds keys to queue until ctx ends, and then returns nil. An error
	// stops the controller; a source that can go on handles its errors itself.
	// It may return nil earlier, when nothing more will come.
	Start(ctx context.Context, queue Enqueuer) error
}

// SourceFunc is a function that serves as a Source.
type SourceFunc func(ctx context.Context, queue Enqueuer) error

// Start calls f.
func (f SourceFunc) Start(ctx context.Context, queue Enqueuer) error {
	return f(ctx, queue)
}

// Channel is a Source that adds the keys received from ch as edges, until ch
// is closed.
func Channel(ch <-chan string) Source {
	return SourceFunc(func(ctx context.Context, queue Enqueuer) error {
		for {
			select {
			case <-ctx.Done():
				return nil
			case key, ok := <-ch:
				if !ok {
					return nil
				}
				queue.Add(Request{Key: key})
			}
		}
	})
}

// startSource runs src and turns a panic into an error. A source that was told
// to stop has not failed, whatever it returns.
func startSource(ctx context.Context, src Source, queue Enqueuer) (err error) {
	defer recoverAs(&err)
	err = src.Start(ctx, queue)
	if ctx.Err() != nil {
		return nil
	}
	return err
}
