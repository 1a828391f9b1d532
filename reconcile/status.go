package reconcile

import (
	"maps"
	"slices"
	"sync"
	"time"
)

// Status is what a controller is doing and how it has fared since the process
// started. Numbers read at one moment need not add up: the queue moves on.
type Status struct {
	Name    string
	Running bool // started and not yet told to stop

	Concurrency int
	QueueDepth  int // keys ready for a worker
	InFlight    int // keys being reconciled
	Retries     int // keys whose last reconcile failed and that will be retried

	// LongestRunning is the age of the oldest reconcile in flight.
	LongestRunning time.Duration

	Reconciles uint64 // reconciles ended, however they ended
	Errors     uint64 // of these: errors, terminal errors and panics

	LastSuccess time.Time // zero if there was none
	LastError   *Failure  // nil if there was none; a later success leaves it
}

// Failure is a reconcile that counted as an error.
type Failure struct {
	Time    time.Time
	Key     string
	Message string
}

// record is the part of a Status that the workers write.
type record struct {
	mu          sync.Mutex
	inFlight    map[Request]time.Time // since when
	reconciles  uint64
	errors      uint64
	lastSuccess time.Time
	lastError   *Failure
}

func (r *record) begin(req Request, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.inFlight[req] = now
}

func (r *record) end(req Request, now time.Time, o outcome, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.inFlight, req)
	r.reconciles++
	switch {
	case o.failed():
		r.errors++
		r.lastError = &Failure{Time: now, Key: req.Key, Message: err.Error()}
	case o.succeeded():
		r.lastSuccess = now
	}
}

// read fills in the recorded part of a Status.
func (r *record) read(s *Status, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s.InFlight = len(r.inFlight)
	for _, since := range r.inFlight {
		s.LongestRunning = max(s.LongestRunning, now.Sub(since))
	}
	s.Reconciles, s.Errors = r.reconciles, r.errors
	s.LastSuccess = r.lastSuccess
	if r.lastError != nil {
		last := *r.lastError
		s.LastError = &last
	}
}

// running returns the keys in flight, sorted.
func (r *record) running() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	keys := make([]string, 0, len(r.inFlight))
	for req := range maps.Keys(r.inFlight) {
		keys = append(keys, req.Key)
	}
	slices.Sort(keys)
	return keys
}
