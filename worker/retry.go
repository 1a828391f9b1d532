package worker

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"go.uber.org/zap"
)

const (
	retryBase   = 250 * time.Millisecond
	retryMax    = 30 * time.Second
	deniedBase  = 5 * time.Second
	deniedMax   = time.Minute
	retryAfters = 10 * time.Minute // the longest Retry-After that is honoured
	// maxInternalErrors bounds how often a request that the coordinator answers
	// with 500 is repeated.
	maxInternalErrors = 8
)

// backoff gives growing delays with jitter. The zero value begins at retryBase.
type backoff struct{ n int }

func (b *backoff) reset() { b.n = 0 }

// next returns the delay after the error err.
func (b *backoff) next(err error) time.Duration {
	base, ceiling := retryBase, retryMax
	if errors.Is(err, ErrDenied) {
		base, ceiling = deniedBase, deniedMax
	}
	d := min(base<<min(b.n, 16), ceiling)
	b.n++
	d = jitter(d)
	var s *StatusError
	if errors.As(err, &s) && s.RetryAfter > 0 {
		// Never sooner than asked, and not all workers at the same moment.
		d = max(d, min(s.RetryAfter, retryAfters)+rand.N(retryBase))
	}
	return d
}

// jitter returns a random duration in [d/2, d].
func jitter(d time.Duration) time.Duration {
	if d <= 1 {
		return d
	}
	return d/2 + rand.N(d/2+1)
}

// sleep waits for d or the end of ctx, whose cause it returns.
func sleep(ctx context.Context, d time.Duration) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// retry calls op until it succeeds, until its error is one that repeating
// cannot mend, or until ctx ends; then it returns the cause of that.
func retry(ctx context.Context, log *zap.Logger, operation string, op func(context.Context) error) error {
	var b backoff
	internal := 0
	for {
		err := op(ctx)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if !errors.Is(err, ErrUnavailable) && !errors.Is(err, ErrDenied) {
			return err
		}
		if internalError(err) {
			if internal++; internal >= maxInternalErrors {
				return err
			}
		}
		d := b.next(err)
		log.Warn("request will be repeated", zap.String("operation", operation), zap.Duration("delay", d), fault(err))
		if err := sleep(ctx, d); err != nil {
			return err
		}
	}
}
