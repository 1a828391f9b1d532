package worker

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"go.uber.org/zap"
)

const (
	// assumedTTL is taken for a lease whose length the coordinator did not say.
	assumedTTL       = 30 * time.Second
	heartbeatTimeout = 10 * time.Second
	// maxRefusals bounds the heartbeats in a row that are answered with
	// something that no coordinator would say, perhaps by a proxy.
	maxRefusals = 4
)

// keeper renews one lease until its context ends. It computes nothing and
// waits for no computation.
type keeper struct {
	coord    Coordinator
	lease    Lease
	interval time.Duration // the coordinator's wish; 0 if none
	grace    time.Duration // how long a computation may go on after the deadline
	progress func() float64
	log      *zap.Logger

	// held is called after each renewal.
	held func()
	// lost is called once, with the reason, when the task must end.
	lost func(cause error)
	// expired is called when the deadline and the grace have passed without an
	// answer. The lease may still be alive: the keeper goes on asking.
	expired func()
}

// run renews the lease at once, which tells the coordinator that the task
// runs, and then before half of what is left of it. The deadline is counted
// from sent, the moment at which the claim was sent: the coordinator's clock
// started later, so the worker never believes in a lease longer than the coordinator does.
func (k *keeper) run(ctx context.Context, sent time.Time, ttl time.Duration) {
	var (
		b        backoff
		length   = k.length(ttl)
		deadline = sent.Add(length)
		wait     time.Duration
		told     bool
		refusals int
	)
	for {
		if sleep(ctx, wait) != nil {
			return
		}
		sent := time.Now()
		renewal, err := k.beat(ctx, deadline.Add(k.grace).Sub(sent))
		switch {
		case ctx.Err() != nil:
			return
		case err == nil && renewal.Cancel:
			k.lost(errCancelled)
			return
		case err == nil:
			b.reset()
			refusals = 0
			length = k.length(renewal.TTL)
			deadline = sent.Add(length)
			wait = time.Until(sent.Add(renewAfter(length, k.interval)))
			k.held()
		case leaseGone(err), refusedAgain(err, &refusals):
			k.lost(ErrLeaseLost)
			return
		default:
			// A process that was stopped past its deadline has asked once more by now.
			left := time.Until(deadline.Add(k.grace))
			if !told && left <= 0 {
				told = true
				k.expired()
			}
			if wait = min(b.next(err), k.patience(length, err)); !told {
				wait = min(wait, left)
			}
			k.log.Warn("heartbeat not answered", zap.Duration("delay", wait), fault(err))
		}
	}
}

// patience bounds the wait before the next heartbeat after err. A coordinator
// that was away extends the leases that lived by their length: whoever does
// not ask within that time of its return has lost. A wish of the coordinator
// itself counts more.
func (k *keeper) patience(length time.Duration, err error) time.Duration {
	var s *StatusError
	if errors.As(err, &s) && s.RetryAfter > 0 {
		return retryAfters
	}
	return length / 3
}

// beat sends one heartbeat, and waits for its answer not much longer than left.
func (k *keeper) beat(ctx context.Context, left time.Duration) (Renewal, error) {
	ctx, cancel := context.WithTimeout(ctx, min(max(left, time.Second), heartbeatTimeout))
	defer cancel()
	return k.coord.Heartbeat(ctx, k.lease, k.progress())
}

// refusedAgain counts refusals and reports whether there were too many in a row.
func refusedAgain(err error, refusals *int) bool {
	if !errors.Is(err, ErrRefused) {
		return false
	}
	*refusals++
	return *refusals >= maxRefusals
}

// length returns ttl, or what may be assumed where the coordinator's clock is
// too wrong to tell: leases outlive two of its heartbeat intervals.
func (k *keeper) length(ttl time.Duration) time.Duration {
	switch {
	case ttl > 0:
		return ttl
	case k.interval > 0:
		return 2 * k.interval
	default:
		return assumedTTL
	}
}

// renewAfter returns how long after its start a lease of length ttl is
// renewed: before half of it, and not later than the coordinator's interval.
func renewAfter(ttl, interval time.Duration) time.Duration {
	d := ttl * 9 / 20
	if interval > 0 {
		d = min(d, interval)
	}
	return d - rand.N(d/8+1)
}
