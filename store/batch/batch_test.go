package batch_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"scimesh.dev/scimesh/store/batch"
)

// slow runs batches that take a second each and notes their sizes.
type slow struct {
	mu    sync.Mutex
	sizes []int
}

func (s *slow) run(_ context.Context, reqs []int) ([]batch.Result[int], error) {
	s.mu.Lock()
	s.sizes = append(s.sizes, len(reqs))
	s.mu.Unlock()
	<-time.After(time.Second) // of the bubble's fake clock
	results := make([]batch.Result[int], len(reqs))
	for i, r := range reqs {
		results[i].Value = 2 * r
	}
	return results, nil
}

func TestLoneRequestIsServedAtOnceAndLaterOnesTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slow{}
		q := batch.New(s.run, batch.Options[int, int]{Max: 50})
		start := time.Now()
		var wg sync.WaitGroup
		ask := func(n int) {
			wg.Go(func() {
				if got, err := q.Do(t.Context(), n); err != nil || got != 2*n {
					t.Errorf("answer to %d: %d, %v", n, got, err)
				}
			})
		}
		ask(1)
		synctest.Wait()
		for n := range 70 {
			ask(n)
		}
		wg.Wait()
		if took := time.Since(start); took != 3*time.Second {
			t.Errorf("took %s, want 3 s", took)
		}
		if want := []int{1, 50, 20}; !slices.Equal(s.sizes, want) {
			t.Errorf("batches of %v, want %v", s.sizes, want)
		}
	})
}

func TestBrokenBatchIsRunOneByOne(t *testing.T) {
	errBad := errors.New("bad element")
	synctest.Test(t, func(t *testing.T) {
		q := batch.New(func(_ context.Context, reqs []int) ([]batch.Result[int], error) {
			<-time.After(time.Second)
			if slices.Contains(reqs, 3) {
				return nil, errBad
			}
			return make([]batch.Result[int], len(reqs)), nil
		}, batch.Options[int, int]{})
		var wg sync.WaitGroup
		for n := range 6 {
			wg.Go(func() {
				_, err := q.Do(t.Context(), n)
				if want := n == 3; errors.Is(err, errBad) != want {
					t.Errorf("answer to %d: %v", n, err)
				}
			})
		}
		wg.Wait()
	})
}

func TestErrorThatIsNobodysFaultGoesToAll(t *testing.T) {
	errAway := errors.New("away")
	calls := 0
	q := batch.New(func(context.Context, []int) ([]batch.Result[int], error) {
		calls++
		return nil, errAway
	}, batch.Options[int, int]{Isolate: func(err error) bool { return !errors.Is(err, errAway) }})
	if _, err := q.Do(t.Context(), 1); !errors.Is(err, errAway) || calls != 1 {
		t.Errorf("%v after %d calls", err, calls)
	}
}

func TestCallerThatLeavesGetsItsErrorAndTheValueAnOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slow{}
		orphans := make(chan string, 2)
		q := batch.New(s.run, batch.Options[int, int]{Orphan: func(req, value int) { orphans <- fmt.Sprint(req, value) }})
		ctx, cancel := context.WithCancel(t.Context())
		left := make(chan error)
		go func() { _, err := q.Do(ctx, 7); left <- err }()
		synctest.Wait()
		waiting := make(chan error)
		go func() { _, err := q.Do(ctx, 8); waiting <- err }()
		synctest.Wait()
		cancel()
		for _, ch := range []chan error{left, waiting} {
			if err := <-ch; !errors.Is(err, context.Canceled) {
				t.Errorf("%v, want Canceled", err)
			}
		}
		if got := <-orphans; got != "7 14" {
			t.Errorf("orphan %q, want the running request's value", got)
		}
		synctest.Wait()
		if want := []int{1}; !slices.Equal(s.sizes, want) {
			t.Errorf("batches of %v, want %v: a request that was given up is not run", s.sizes, want)
		}
		if _, err := q.Do(ctx, 9); !errors.Is(err, context.Canceled) {
			t.Errorf("request with an ended context: %v", err)
		}
	})
}

func TestPanicAndWrongNumberOfAnswersAreErrors(t *testing.T) {
	for name, run := range map[string]func(context.Context, []int) ([]batch.Result[int], error){
		"panic":            func(context.Context, []int) ([]batch.Result[int], error) { panic("oops") },
		"too many answers": func(context.Context, []int) ([]batch.Result[int], error) { return make([]batch.Result[int], 5), nil },
	} {
		if _, err := batch.New(run, batch.Options[int, int]{}).Do(t.Context(), 1); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
