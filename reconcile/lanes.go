package reconcile

import (
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
	edge      []Request
	// resync may hold keys that were promoted since: those whose place is
	// not this lane any more.
	resync  []Request
	resyncs int           // keys whose place is the resync lane
	passed  int           // edges that went ahead since the last resync
	space   chan struct{} // closed when a key leaves the full resync lane; nil if nobody waits
}

// place is where a queued key waits, and since when.
type place struct {
	lane  lane
	since time.Time
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
	to := l.take(req)
	l.queued[req] = place{lane: to, since: l.clock.Now()}
	if to == laneResync {
		l.resync = append(l.resync, req)
		l.resyncs++
	} else {
		l.edge = append(l.edge, req)
	}
	l.depth.Set(float64(l.len()))
}

// Touch is called when a key that is in the queue is added again. An edge
// promotes it out of the resync lane.
func (l *lanes) Touch(req Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	to, at := l.take(req), l.queued[req]
	if to != laneEdge || at.lane != laneResync {
		return
	}
	at.lane = laneEdge
	l.queued[req] = at
	l.edge = append(l.edge, req)
	l.leaveResync()
}

// Pop removes the next key. The queue is not empty.
func (l *lanes) Pop() Request {
	l.mu.Lock()
	defer l.mu.Unlock()
	req := l.next()
	l.wait.Observe(l.clock.Since(l.queued[req].since).Seconds())
	delete(l.queued, req)
	l.depth.Set(float64(l.len()))
	return req
}

func (l *lanes) next() Request {
	if len(l.edge) > 0 && (l.resyncs == 0 || l.passed < edgesPerResync) {
		if l.resyncs > 0 {
			l.passed++
		}
		return shift(&l.edge)
	}
	l.passed = 0
	for {
		req := shift(&l.resync)
		if at, ok := l.queued[req]; ok && at.lane == laneResync {
			l.leaveResync()
			return req
		}
	}
}

// leaveResync counts a key out of the resync lane and wakes those who wait.
func (l *lanes) leaveResync() {
	l.resyncs--
	if l.resyncs == 0 {
		l.resync = nil // only promoted keys are left
	}
	if l.space != nil {
		close(l.space)
		l.space = nil
	}
}

// Len returns the number of keys in both lanes.
func (l *lanes) Len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.len()
}

func (l *lanes) len() int { return len(l.edge) + l.resyncs }

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
	if l.resyncs < l.limit {
		return nil
	}
	if l.space == nil {
		l.space = make(chan struct{})
	}
	return l.space
}

// shift removes and returns the first element of a non-empty slice.
func shift(s *[]Request) Request {
	req := (*s)[0]
	(*s)[0] = Request{} // let go of the key's bytes
	*s = (*s)[1:]
	return req
}
