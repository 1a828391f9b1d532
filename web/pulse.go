package web

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"
)

// signal is what a watcher is told.
type signal int

const (
	changed signal = iota
	trouble        // the database does not answer
)

// pulses watches the database for everybody who looks at a page: one question
// an interval and topic, however many there are.
type pulses struct {
	store    pulseStore
	interval time.Duration
	log      *zap.Logger

	mu     sync.Mutex
	topics map[uuid.UUID]*topic
	closed chan struct{}
	once   sync.Once
}

// topic is a Job, or with uuid.Nil everything.
type topic struct {
	watchers map[chan signal]struct{}
	stop     context.CancelFunc
}

func newPulses(s pulseStore, interval time.Duration, log *zap.Logger) *pulses {
	return &pulses{store: s, interval: interval, log: log, topics: map[uuid.UUID]*topic{}, closed: make(chan struct{})}
}

// close ends all watching.
func (p *pulses) close() { p.once.Do(func() { close(p.closed) }) }

// watch returns a channel of signals about a Job, or with uuid.Nil about
// everything. Signals that nobody takes are merged.
func (p *pulses) watch(job uuid.UUID) (signals <-chan signal, stop func()) {
	ch := make(chan signal, 1)
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.topics[job]
	if t == nil {
		ctx, cancel := context.WithCancel(context.Background())
		t = &topic{watchers: map[chan signal]struct{}{}, stop: cancel}
		p.topics[job] = t
		go p.follow(ctx, job)
	}
	t.watchers[ch] = struct{}{}
	return ch, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(t.watchers, ch)
		if len(t.watchers) == 0 && p.topics[job] == t {
			t.stop()
			delete(p.topics, job)
		}
	}
}

// follow asks for news until nobody watches any more.
func (p *pulses) follow(ctx context.Context, job uuid.UUID) {
	tick := time.NewTicker(p.interval)
	defer tick.Stop()
	last, ok := "", false
	for {
		pulse, err := p.store.Pulse(ctx, job)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			if ok || last == "" {
				p.log.Warn("watching is interrupted", zap.Error(err))
			}
			ok, last = false, "unknown"
			p.tell(job, trouble)
		case pulse != last:
			if last != "" {
				p.tell(job, changed)
			}
			ok, last = true, pulse
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		case <-p.closed:
			return
		}
	}
}

func (p *pulses) tell(job uuid.UUID, s signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.topics[job]
	if t == nil {
		return
	}
	for ch := range t.watchers {
		select {
		case <-ch: // an older one that was not taken
		default:
		}
		ch <- s // has room: tell alone sends, under the lock
	}
}
