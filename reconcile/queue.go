package reconcile

import (
	"context"

	"k8s.io/client-go/util/workqueue"
)

// queue is client-go's workqueue with two lanes. The workqueue guarantees that
// a key is handed to one worker at a time, and that a key added meanwhile is
// handed out again.
type queue struct {
	workqueue.TypedRateLimitingInterface[Request]
	lanes   *lanes
	backoff *backoff
}

// newQueue starts the goroutine that adds delayed keys; ShutDown ends it.
func newQueue(opts Options, m *instruments) *queue {
	q := &queue{
		lanes:   newLanes(opts.Clock, opts.ResyncBacklog, m.queueDepth, m.queueWait),
		backoff: newBackoff(delays{base: opts.BaseDelay, max: opts.MaxDelay, jitter: opts.Jitter}, m.retries),
	}
	// No queue is given a name: a named one would report to client-go's
	// process-wide metrics provider.
	ready := workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[Request]{
		Clock: opts.Clock,
		Queue: q.lanes,
	})
	q.TypedRateLimitingInterface = workqueue.NewTypedRateLimitingQueueWithConfig(q.backoff,
		workqueue.TypedRateLimitingQueueConfig[Request]{
			Clock: opts.Clock,
			DelayingQueue: workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[Request]{
				Clock: opts.Clock,
				Queue: ready,
			}),
		})
	return q
}

// Add enqueues an edge.
func (q *queue) Add(req Request) {
	q.lanes.announce(req, laneEdge)
	q.TypedRateLimitingInterface.Add(req)
}

// AddResync enqueues a key of a resync once there is room for it.
func (q *queue) AddResync(ctx context.Context, req Request) error {
	if err := q.lanes.awaitSpace(ctx); err != nil {
		return err
	}
	q.lanes.announce(req, laneResync)
	q.TypedRateLimitingInterface.Add(req)
	return nil
}
