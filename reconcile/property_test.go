package reconcile_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"scimesh.dev/scimesh/reconcile"
)

// history is a world in which objects change and a reconciler, whose passes
// take time and fail as scripted, writes down which version it saw last.
type history struct {
	mu       sync.Mutex
	actual   map[string]int // version of each object
	observed map[string]int // version that the last pass which did its work saw
	running  map[string]bool
	overlaps []string
	moods    []mood // of the coming passes; thereafter all do their work
	passes   int
}

// mood is how one pass goes.
type mood struct {
	takes time.Duration
	end   end
}

type end int

const (
	doesItsWork end = iota
	fails
	conflicts
	panics
	putsOff
)

func (h *history) change(key string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.actual[key]++
}

func (h *history) Reconcile(_ context.Context, req reconcile.Request) (reconcile.Result, error) {
	h.mu.Lock()
	h.passes++
	if h.running[req.Key] {
		h.overlaps = append(h.overlaps, req.Key)
	}
	h.running[req.Key] = true
	var m mood
	if len(h.moods) > 0 {
		m, h.moods = h.moods[0], h.moods[1:]
	}
	version := h.actual[req.Key]
	h.mu.Unlock()

	pass(m.takes)

	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.running, req.Key)
	switch m.end {
	case fails:
		return reconcile.Result{}, errors.New("broken")
	case conflicts:
		return reconcile.Result{}, reconcile.Conflict(errors.New("raced"))
	case panics:
		panic("out of cheese")
	case putsOff:
		return reconcile.Result{RequeueAfter: time.Second}, nil
	}
	h.observed[req.Key] = version
	return reconcile.Result{}, nil
}

// TestEveryChangeIsReconciled changes objects at random and tells the
// controller of it in every way there is, with passes that take time, fail,
// conflict, panic and put off. In the end each object was seen as it is, no
// key was reconciled twice at once, and the controller is at rest.
func TestEveryChangeIsReconciled(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		rapid.SyncTest(rt, func(rt *rapid.T) { checkEveryChange(rt) })
	})
}

func checkEveryChange(rt *rapid.T) {
	h := &history{actual: map[string]int{}, observed: map[string]int{}, running: map[string]bool{}}
	for range rapid.IntRange(0, 60).Draw(rt, "scripted passes") {
		h.moods = append(h.moods, mood{
			takes: time.Duration(rapid.IntRange(0, 3000).Draw(rt, "ms")) * time.Millisecond,
			end:   end(rapid.IntRange(int(doesItsWork), int(putsOff)).Draw(rt, "end")),
		})
	}
	var queue reconcile.Enqueuer
	c := reconcile.New("test", h, reconcile.Options{
		Concurrency:   rapid.IntRange(1, 4).Draw(rt, "concurrency"),
		ResyncBacklog: rapid.IntRange(1, 5).Draw(rt, "backlog"),
		BaseDelay:     50 * time.Millisecond,
		MaxDelay:      time.Second,
		Sources: []reconcile.Source{reconcile.SourceFunc(func(ctx context.Context, q reconcile.Enqueuer) error {
			queue = q
			<-ctx.Done()
			return nil
		})},
	})
	ctx, stop := context.WithCancel(rt.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Start(ctx) }()
	synctest.Wait()

	for range rapid.IntRange(1, 80).Draw(rt, "changes") {
		req := reconcile.Request{Key: fmt.Sprint(rapid.IntRange(0, 7).Draw(rt, "key"))}
		h.change(req.Key)
		switch rapid.IntRange(0, 2).Draw(rt, "way") {
		case 0:
			queue.Add(req)
		case 1:
			queue.AddAfter(req, time.Duration(rapid.IntRange(0, 2000).Draw(rt, "delay ms"))*time.Millisecond)
		case 2:
			if err := queue.AddResync(ctx, req); err != nil {
				rt.Fatal(err)
			}
		}
		elapse(time.Duration(rapid.IntRange(0, 500).Draw(rt, "pause ms")) * time.Millisecond)
	}
	elapse(time.Hour)

	h.mu.Lock()
	for key, version := range h.actual {
		if h.observed[key] != version {
			rt.Errorf("object %s has version %d, the reconciler saw %d last", key, version, h.observed[key])
		}
	}
	if len(h.overlaps) > 0 {
		rt.Errorf("keys reconciled twice at once: %q", h.overlaps)
	}
	passes := h.passes
	h.mu.Unlock()

	s := c.Status()
	if s.QueueDepth != 0 || s.InFlight != 0 || s.Retries != 0 || s.Reconciles != uint64(passes) {
		rt.Errorf("at rest after %d passes: %+v", passes, s)
	}
	elapse(time.Hour)
	if again := c.Status().Reconciles; again != s.Reconciles {
		rt.Errorf("%d reconciles without an event", again-s.Reconciles)
	}
	stop()
	if err := <-ended; err != nil {
		rt.Errorf("Start returned %v", err)
	}
}
