package reconcile

import (
	"container/list"
	"context"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// edgesPerResync is how many edges go ahead of a waiting resync. It is large
// enough that a resync of many keys hardly delays an edge, and finite, so that
// a flood of edges cannot starve the resync.
const edgesPerResync = 4

// lane is the part of the queue in which a key waits.
type lane uint8

const (
	laneEdge lane = iota // also for delayed keys: back-off, deadlines
	laneResync
)

// lanes is the order of the workqueue: two first-in-first-out lanes.
//
// The workqueue calls Push, Pop, Touch and Len under its own lock and never
// says which kind of add it carries out, so that the adder announces the lane
// beforehand. Whatever the interleaving, an announced edge ends in the edge
// lane; a resync may end there too, which costs nothing but its place.
type lanes struct {
	clock clock.PassiveClock
	limit int // keys in the resync lane beyond which resyncs wait
	depth gauge
	wait  observer

	mu sync.Mutex
	// announced holds the lane of keys whose add is under way, or that will
	// be pushed once their running reconcile is done.
	announced map[Request]lane
	queued    map[Request]place
	waiting   [2]list.List  // of Request, by lane
	passed    int           // edges that went ahead since the last resync
	space     chan struct{} // closed when a key leaves the full resync lane; nil if nobody waits
}

// place is where a queued key waits, and since when.
type place struct {
	lane    lane
	since   time.Time
	element *list.Element
}

func newLanes(c clock.PassiveClock, limit int, depth gauge, wait observer) *lanes {
	return &lanes{
		clock: c, limit: limit, depth: depth, wait: wait,
		announced: map[Request]lane{},
		queued:    map[Request]place{},
	}
}

// announce says in which lane the coming add of req belongs. An edge prevails.
func (l *lanes) announce(req Request, to lane) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if before, ok := l.announced[req]; ok {
		to = min(before, to)
	}
	l.announced[req] = to
}

// take returns the announced lane of req; without one it is an edge.
func (l *lanes) take(req Request) lane {
	to := l.announced[req]
	delete(l.announced, req)
	return to
}

// Push appends a key that is not in the queue.
func (l *lanes) Push(req Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.enter(l.take(req), req, l.clock.Now())
	l.depth.Set(float64(len(l.queued)))
}

// Touch is called when a key that is in the queue is added again. An edge
// promotes it out of the resync lane.
func (l *lanes) Touch(req Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if to, at := l.take(req), l.queued[req]; to < at.lane {
		l.leave(req)
		l.enter(to, req, at.since)
	}
}

// Pop removes the next key. The queue is not empty.
func (l *lanes) Pop() Request {
	l.mu.Lock()
	defer l.mu.Unlock()
	req := l.waiting[l.next()].Front().Value.(Request)
	l.wait.Observe(l.clock.Since(l.queued[req].since).Seconds())
	l.leave(req)
	l.depth.Set(float64(len(l.queued)))
	return req
}

// next returns the lane whose turn it is.
func (l *lanes) next() lane {
	switch edges, resyncs := l.waiting[laneEdge].Len(), l.waiting[laneResync].Len(); {
	case resyncs == 0:
		return laneEdge // waits behind no resync, and counts against none
	case edges > 0 && l.passed < edgesPerResync:
		l.passed++
		return laneEdge
	}
	l.passed = 0
	return laneResync
}

func (l *lanes) enter(to lane, req Request, since time.Time) {
	l.queued[req] = place{lane: to, since: since, element: l.waiting[to].PushBack(req)}
}

// leave takes a key off its lane, and wakes those who wait for room in it.
func (l *lanes) leave(req Request) {
	at := l.queued[req]
	delete(l.queued, req)
	l.waiting[at.lane].Remove(at.element)
	if at.lane == laneResync && l.space != nil {
		close(l.space)
		l.space = nil
	}
}

// Len returns the number of keys in both lanes.
func (l *lanes) Len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.queued)
}

// awaitSpace blocks while the resync lane is full.
func (l *lanes) awaitSpace(ctx context.Context) error {
	for {
		space := l.full()
		if space == nil {
			return ctx.Err()
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-space:
		}
	}
}

// full returns nil if the resync lane has room, and otherwise a channel that
// is closed when a key leaves it.
func (l *lanes) full() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.waiting[laneResync].Len() < l.limit {
		return nil
	}
	if l.space == nil {
		l.space = make(chan struct{})
	}
	return l.space
}
