// Package jobstep keeps the claim of one coordinator on a step of a Job, such
// as planning or reducing, while the step is worked on.
//
// The claim is a row lease like that of a task: another coordinator takes the
// step when the lease runs out, and every write of the step names its owner,
// so that the former owner's writes then change nothing. Losing the claim is
// therefore harmless; ending the work early only saves effort.
package jobstep

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/utils/clock"
)

// TTL is how long a claim lives without renewal: the longest time for which
// the step of a killed coordinator stands still.
const TTL = 4 * time.Second

// Every is the time between two renewals, so that one may fail without harm.
const Every = TTL / 4

// ErrLost is the cause with which Keep ends the context of a lost step.
var ErrLost = errors.New("step taken over by another coordinator")

// Keep returns a context for the work on a step, and the function that ends
// the renewals and waits for the last one. The context ends, with a cause that
// matches ErrLost, when renew says that the claim is lost (isLost) or has
// failed for a whole TTL.
func Keep(ctx context.Context, c clock.WithTicker, renew func(context.Context) error, isLost func(error) bool) (context.Context, func()) {
	work, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	ticker := c.NewTicker(Every)
	go func() {
		defer close(done)
		defer ticker.Stop()
		good := c.Now()
		for {
			select {
			case <-work.Done():
				return
			case <-ticker.C():
			}
			err := renew(work)
			switch {
			case err == nil:
				good = c.Now()
			case isLost(err) || c.Since(good) >= TTL:
				cancel(fmt.Errorf("%w: %w", ErrLost, err))
				return
			}
		}
	}()
	return work, func() {
		cancel(nil)
		<-done
	}
}
