package reconcile_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"scimesh.dev/scimesh/reconcile"
)

// feed returns a source of keys that are there from the start.
func feed(keys ...string) reconcile.Source {
	ch := make(chan string, len(keys))
	for _, key := range keys {
		ch <- key
	}
	return reconcile.Channel(ch)
}

func TestADrainLetsRunningReconcilesFinish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(nil)
		var ended []error
		opts := exact(feed("running", "queued"))
		opts.DrainTimeout = 20 * time.Second
		c := reconcile.New("test", reconcile.Func(func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
			res, err := w.Reconcile(ctx, req)
			pass(15 * time.Second)
			ended = append(ended, ctx.Err())
			return res, err
		}), opts)
		stop := start(t, c)
		begun := time.Now()
		mustStop(t, stop)
		if got := time.Since(begun); got != 15*time.Second {
			t.Errorf("the drain took %v, want the 15 s of the running reconcile", got)
		}
		if diff := cmp.Diff(map[string][]time.Duration{"running": seconds(0)}, w.passes); diff != "" {
			t.Errorf("reconciles (-want +got):\n%s", diff)
		}
		if len(ended) != 1 || ended[0] != nil {
			t.Errorf("context errors at the end %v, want one nil", ended)
		}
	})
}

func TestADrainOutOfTimeCancelsReconciles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		opts := exact(feed("k"))
		opts.DrainTimeout = 20 * time.Second
		opts.ReconcileTimeout = -1
		var cause error
		c := reconcile.New("test", reconcile.Func(func(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
			<-ctx.Done()
			cause = context.Cause(ctx)
			return reconcile.Result{}, ctx.Err()
		}), opts)
		stop := start(t, c)
		begun := time.Now()
		mustStop(t, stop)
		if got := time.Since(begun); got != 20*time.Second {
			t.Errorf("the drain took %v, want its timeout", got)
		}
		if cause == nil || cause.Error() != "controller is stopping" {
			t.Errorf("cause of the cancelled context is %v", cause)
		}
		if got := c.Status(); got.Errors != 0 || got.LastError != nil || got.Reconciles != 1 {
			t.Errorf("status %+v, want an interrupted reconcile that is no error", got)
		}
	})
}

func TestADrainNamesTheKeysThatIgnoreIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		opts := exact(feed("b", "a"))
		opts.Concurrency = 2
		opts.DrainTimeout = -1
		c := reconcile.New("deaf", reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) {
			pass(time.Hour)
			return reconcile.Result{}, nil
		}), opts)
		err := start(t, c)()
		want := `controller "deaf": sources or reconciles ignore that their context ended; keys being reconciled: ["a" "b"]`
		if err == nil || err.Error() != want {
			t.Errorf("Start returned %v\nwant %s", err, want)
		}
		pass(2 * time.Hour) // let them end, as the bubble demands
	})
}

func TestAFailedSourceDrains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fail := make(chan struct{})
		broken := errors.New("broken")
		opts := exact(feed("k"), reconcile.SourceFunc(func(context.Context, reconcile.Enqueuer) error {
			<-fail
			return broken
		}))
		finished := false
		c := reconcile.New("test", reconcile.Func(func(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
			pass(time.Second)
			finished = ctx.Err() == nil
			return reconcile.Result{}, nil
		}), opts)
		stop := start(t, c)
		close(fail)
		pass(time.Minute)
		if err := stop(); !errors.Is(err, broken) {
			t.Errorf("Start returned %v, want the error of the source", err)
		}
		if !finished {
			t.Error("the running reconcile did not finish")
		}
	})
}

func TestASourceThatWasToldToStopHasNotFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stop := start(t, reconcile.New("test", newWorld(nil), exact(
			reconcile.SourceFunc(func(ctx context.Context, _ reconcile.Enqueuer) error {
				<-ctx.Done()
				return ctx.Err()
			}))))
		mustStop(t, stop)
	})
}
