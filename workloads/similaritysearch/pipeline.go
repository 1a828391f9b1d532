package similaritysearch

import (
	"context"
	"sync"

	"scimesh.dev/scimesh/workloads/table"
)

// batchesPerThread is how many batches may be on their way for each scorer: one
// being scored, one waiting for it, one waiting to be collected in order.
const batchesPerThread = 3

// run reads the table, scores its rows in the given number of goroutines, and
// calls collect with the batches in the order of the table, from the calling
// goroutine. It returns only after all goroutines have ended.
func run(ctx context.Context, t *table.Reader, newScorer func() *scorer, threads int, collect func(*batch)) error {
	if threads == 1 {
		return runAlone(ctx, t, newScorer(), collect)
	}
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()

	free := make(chan *batch, batchesPerThread*threads)
	for range cap(free) {
		free <- newBatch()
	}
	// Both hold any batch there is, so that sending never blocks.
	toScore, inOrder := make(chan *batch, cap(free)), make(chan *batch, cap(free))
	wg.Go(func() { readBatches(ctx, t, free, toScore, inOrder) })
	for range threads {
		wg.Go(func() { scoreBatches(ctx, newScorer(), toScore) })
	}
	return collectBatches(ctx, inOrder, free, collect)
}

// runAlone is run without goroutines.
func runAlone(ctx context.Context, t *table.Reader, s *scorer, collect func(*batch)) error {
	b := newBatch()
	for more := true; more; {
		if err := ctx.Err(); err != nil {
			return err
		}
		if more = b.read(t); b.err == nil {
			s.score(b)
		}
		if b.err != nil {
			return b.err
		}
		collect(b)
	}
	return nil
}

func readBatches(ctx context.Context, t *table.Reader, free <-chan *batch, toScore, inOrder chan<- *batch) {
	defer close(toScore)
	defer close(inOrder)
	for more := true; more; {
		select {
		case <-ctx.Done():
			return
		case b := <-free:
			more = b.read(t)
			inOrder <- b
			toScore <- b
		}
	}
}

func scoreBatches(ctx context.Context, s *scorer, toScore <-chan *batch) {
	for b := range toScore {
		if b.err == nil && ctx.Err() == nil {
			s.score(b)
		}
		b.scored <- struct{}{}
	}
}

func collectBatches(ctx context.Context, inOrder <-chan *batch, free chan<- *batch, collect func(*batch)) error {
	for b := range inOrder {
		<-b.scored // comes even if the context ends
		if err := ctx.Err(); err != nil {
			return err
		}
		if b.err != nil {
			return b.err
		}
		collect(b)
		free <- b
	}
	return ctx.Err()
}
