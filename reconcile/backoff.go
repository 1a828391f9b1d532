package reconcile

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// delays is a sequence of waits that doubles from base up to max.
type delays struct {
	base, max time.Duration
	jitter    float64 // fraction by which a wait may be shortened, in [0, 1]
}

// after returns how long to wait after the given number of failures in a row,
// counted from one. It never exceeds max.
func (d delays) after(failures int) time.Duration {
	wait := d.base
	for range failures - 1 {
		if wait >= d.max/2 {
			wait = d.max
			break
		}
		wait *= 2
	}
	return shorten(min(wait, d.max), d.jitter)
}

// shorten takes a random part off d, up to the fraction jitter of it, so that
// what began together does not go on together.
func shorten(d time.Duration, jitter float64) time.Duration {
	return d - time.Duration(rand.Float64()*jitter*float64(d))
}

// sleep waits for d and reports whether it did so before ctx ended.
func sleep(ctx context.Context, c clock.Clock, d time.Duration) bool {
	timer := c.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C():
		return true
	}
}

// backoff is the queue's rate limiter. It remembers the keys that failed and
// have not succeeded since, and nothing of any other key.
type backoff struct {
	delays  delays
	retries gauge

	mu       sync.Mutex
	failures map[Request]int
}

func newBackoff(d delays, retries gauge) *backoff {
	return &backoff{delays: d, retries: retries, failures: map[Request]int{}}
}

// When records a failure of req and returns how long to wait before the retry.
func (b *backoff) When(req Request) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failures[req]++
	b.retries.Set(float64(len(b.failures)))
	return b.delays.after(b.failures[req])
}

// Forget ends req's row of failures.
func (b *backoff) Forget(req Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.failures, req)
	b.retries.Set(float64(len(b.failures)))
}

// NumRequeues returns how often req has failed in a row.
func (b *backoff) NumRequeues(req Request) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.failures[req]
}

// len returns how many keys have failed and not succeeded since.
func (b *backoff) len() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.failures)
}
