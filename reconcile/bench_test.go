package reconcile_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"scimesh.dev/scimesh/reconcile"
)

// BenchmarkController measures a pass whose reconciler does nothing, from the
// add of its key to the next: what the engine costs.
func BenchmarkController(b *testing.B) {
	for _, concurrency := range []int{1, 4} {
		b.Run(fmt.Sprintf("concurrency=%d", concurrency), func(b *testing.B) {
			keys := make([]reconcile.Request, 1024)
			for i := range keys {
				keys[i] = reconcile.Request{Key: fmt.Sprintf("job-%04d", i)}
			}
			var queue reconcile.Enqueuer
			started, done := make(chan struct{}), make(chan struct{})
			var passes atomic.Int64
			c := reconcile.New("bench", reconcile.Func(func(_ context.Context, req reconcile.Request) (reconcile.Result, error) {
				if passes.Add(1) == int64(b.N) {
					close(done)
				}
				queue.Add(req)
				return reconcile.Result{}, nil
			}), reconcile.Options{
				Concurrency: concurrency,
				Sources: []reconcile.Source{reconcile.SourceFunc(func(ctx context.Context, q reconcile.Enqueuer) error {
					queue = q
					close(started)
					<-ctx.Done()
					return nil
				})},
			})
			ctx, stop := context.WithCancel(b.Context())
			ended := make(chan error, 1)
			go func() { ended <- c.Start(ctx) }()
			<-started
			b.ReportAllocs()
			b.ResetTimer()
			for _, key := range keys {
				queue.Add(key)
			}
			<-done
			b.StopTimer()
			stop()
			if err := <-ended; err != nil {
				b.Fatal(err)
			}
		})
	}
}

// BenchmarkResync measures one key of a resync through the queue's backlog.
func BenchmarkResync(b *testing.B) {
	left := b.N
	done := make(chan struct{})
	page := make([]string, 500)
	next := 0
	list := func(_ context.Context, _ string, limit int) ([]string, error) {
		n := min(limit, b.N-next, len(page))
		for i := range n {
			page[i] = fmt.Sprintf("job-%09d", next+i)
		}
		next += n
		return page[:n], nil
	}
	c := reconcile.New("bench", reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) {
		if left--; left == 0 {
			close(done)
		}
		return reconcile.Result{}, nil
	}), reconcile.Options{Sources: []reconcile.Source{reconcile.NewPeriodic(list, reconcile.PeriodicOptions{})}})
	ctx, stop := context.WithCancel(b.Context())
	ended := make(chan error, 1)
	b.ReportAllocs()
	b.ResetTimer()
	go func() { ended <- c.Start(ctx) }()
	<-done
	b.StopTimer()
	stop()
	if err := <-ended; err != nil {
		b.Fatal(err)
	}
}
