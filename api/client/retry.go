package client

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

// RetryPolicy says how calls that may be repeated are, when the coordinator
// cannot be reached or answers 408, 429 or 5xx. Zero fields take defaults.
type RetryPolicy struct {
	// Attempts is how often a call is made at most; 4 by default. Negative is
	// without end: until the context ends.
	Attempts int
	// Base and Max bound the wait before the second and every later attempt,
	// which is drawn between half and all of Base·2ⁿ; 250 ms and 10 s by
	// default. A longer Retry-After is honoured, up to MaxRetryAfter, 2 min by default.
	Base, Max, MaxRetryAfter time.Duration
	// OnRetry, if not nil, is told of every failure that is followed by another attempt.
	OnRetry func(err error, wait time.Duration)
}

// NoRetry makes every call once.
var NoRetry = RetryPolicy{Attempts: 1}

func (p RetryPolicy) withDefaults() RetryPolicy {
	p.Attempts = cmp.Or(p.Attempts, 4)
	p.Base = cmp.Or(p.Base, 250*time.Millisecond)
	p.Max = cmp.Or(p.Max, 10*time.Second)
	p.MaxRetryAfter = cmp.Or(p.MaxRetryAfter, 2*time.Minute)
	return p
}

// do calls attempt until it succeeds, fails for good, or the policy or ctx ends it.
func (p RetryPolicy) do(ctx context.Context, attempt func() error) error {
	for n := 1; ; n++ {
		err := attempt()
		if err == nil || n == p.Attempts || ctx.Err() != nil || !errors.Is(err, ErrUnavailable) {
			return err
		}
		if waitErr := p.wait(ctx, n, err); waitErr != nil {
			return err // why the call failed says more than that the time is up
		}
	}
}

// wait pauses before attempt n+1.
func (p RetryPolicy) wait(ctx context.Context, n int, cause error) error {
	d := p.delay(n, cause)
	if p.OnRetry != nil {
		p.OnRetry(cause, d)
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// delay is how long to wait after the n-th failure.
func (p RetryPolicy) delay(n int, cause error) time.Duration {
	d := p.Max
	if n < 30 {
		d = min(p.Max, p.Base<<(n-1))
	}
	d = d/2 + rand.N(d/2+1)
	if e, ok := errors.AsType[*Error](cause); ok {
		// A little more, so that those who were told the same do not come at once.
		if after := min(e.RetryAfter, p.MaxRetryAfter); after > 0 {
			d = max(d, after+rand.N(after/10+1))
		}
	}
	return d
}
