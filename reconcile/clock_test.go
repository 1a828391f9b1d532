package reconcile_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"

	"scimesh.dev/scimesh/reconcile"
)

// TestTheClockIsInjected turns a clock by hand, while the time of its bubble
// stands still: retries, RequeueAfter, resyncs, the times of the status and
// the drain follow the clock.
func TestTheClockIsInjected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		noon := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
		fake := clocktesting.NewFakeClock(noon)
		script := []step{
			{err: errors.New("broken")},
			{result: reconcile.Result{RequeueAfter: 10 * time.Minute}},
		}
		var passes []time.Duration
		opts := exact(reconcile.NewPeriodic(reconcile.Keys("k"), reconcile.PeriodicOptions{
			Interval: time.Hour, Jitter: -1, Clock: fake,
		}))
		opts.Clock = fake
		opts.DrainTimeout = time.Minute
		opts.ReconcileTimeout = -1
		c := reconcile.New("test", reconcile.Func(func(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
			passes = append(passes, fake.Since(noon))
			if n := len(passes); n <= len(script) {
				return script[n-1].result, script[n-1].err
			}
			if len(passes) == 4 {
				<-ctx.Done()
			}
			return reconcile.Result{}, nil
		}), opts)
		turn := func(d time.Duration) {
			for range int(d / time.Second) {
				fake.Step(time.Second)
				synctest.Wait()
			}
		}
		begun := time.Now()
		stop := start(t, c)
		turn(time.Hour + time.Second)
		if diff := cmp.Diff(seconds(0, 1, 601, 3601), passes); diff != "" {
			t.Errorf("reconciles (-want +got):\n%s", diff)
		}
		got := c.Status()
		if got.LastSuccess.Sub(noon) != 601*time.Second || !got.LastError.Time.Equal(noon) {
			t.Errorf("status %+v, want its times from the fake clock", got)
		}
		ended := make(chan error, 1)
		go func() { ended <- stop() }()
		synctest.Wait()
		turn(59 * time.Second)
		select {
		case err := <-ended:
			t.Errorf("the drain ended before its time: %v", err)
		default:
		}
		turn(time.Second)
		if err := <-ended; err != nil {
			t.Errorf("Start returned %v", err)
		}
		if time.Since(begun) != 0 {
			t.Errorf("%v passed by another clock", time.Since(begun))
		}
	})
}
