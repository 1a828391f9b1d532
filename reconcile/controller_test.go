package reconcile_test

import (
	"context"
	"testing"
	"testing/synctest"

	"scimesh.dev/scimesh/reconcile"
)

// start runs c until the returned function is called, which checks that the
// controller stopped without an error. It is for synctest bubbles.
func start(t *testing.T, c interface{ Start(context.Context) error }) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- c.Start(ctx) }()
	synctest.Wait()
	return func() {
		t.Helper()
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Start returned %v", err)
		}
	}
}

func TestReconcilesEachKeyOfASource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		keys := make(chan string)
		seen := map[string]int{}
		c := reconcile.New("test", reconcile.Func(func(_ context.Context, req reconcile.Request) (reconcile.Result, error) {
			seen[req.Key]++
			return reconcile.Result{}, nil
		}), reconcile.Options{Sources: []reconcile.Source{reconcile.Channel(keys)}})
		stop := start(t, c)
		for _, key := range []string{"a", "b", "a"} {
			keys <- key
			synctest.Wait()
		}
		stop()
		if seen["a"] != 2 || seen["b"] != 1 || len(seen) != 2 {
			t.Errorf("reconciled %v, want a twice and b once", seen)
		}
	})
}
