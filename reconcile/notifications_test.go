package reconcile_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"scimesh.dev/scimesh/reconcile"
)

// wire is a Listener whose connections a test makes, uses and cuts.
type wire struct {
	dials     []time.Duration // when Listen was called
	begun     time.Time
	channels  []string
	refuse    atomic.Pointer[error] // the answer to Listen, if not nil
	lost      chan error
	listening func()
	notify    func(channel, payload string)
}

func newWire() *wire { return &wire{begun: time.Now(), lost: make(chan error)} }

func (w *wire) Listen(ctx context.Context, channels []string, listening func(), notify func(channel, payload string)) error {
	w.dials = append(w.dials, time.Since(w.begun))
	w.channels = channels
	if err := w.refuse.Load(); err != nil {
		return *err
	}
	w.listening, w.notify = listening, notify
	listening()
	select {
	case err := <-w.lost:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// listen starts a hub over w that reconnects after 1, 2, 4, 4 … seconds.
func listen(t *testing.T, w *wire, sources func(*reconcile.Notifications)) (stop func() error) {
	t.Helper()
	hub := reconcile.NewNotifications(w, reconcile.NotificationsOptions{
		BaseDelay: time.Second, MaxDelay: 4 * time.Second, Jitter: -1,
	})
	sources(hub)
	return start(t, hub)
}

func TestNotificationsReachTheControllersOfTheirChannel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wire, jobs, workers := newWire(), newWorld(nil), newWorld(nil)
		resyncs := 0
		var jobSource, workerSource reconcile.Source
		stopHub := listen(t, wire, func(hub *reconcile.Notifications) {
			jobSource = hub.Source("jobs", nil, func() { resyncs++ })
			workerSource = hub.Source("workers", strings.Fields, func() {})
		})
		stopJobs := start(t, reconcile.New("jobs", jobs, exact(jobSource)))
		stopWorkers := start(t, reconcile.New("workers", workers, exact(workerSource)))
		if diff := cmp.Diff([]string{"jobs", "workers"}, wire.channels); diff != "" {
			t.Errorf("channels (-want +got):\n%s", diff)
		}
		wire.notify("jobs", "j1")
		wire.notify("workers", "w1 w2")
		wire.notify("jobs", "j2")
		synctest.Wait()
		if diff := cmp.Diff(map[string][]time.Duration{"j1": seconds(0), "j2": seconds(0)}, jobs.passes); diff != "" {
			t.Errorf("jobs (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(map[string][]time.Duration{"w1": seconds(0), "w2": seconds(0)}, workers.passes); diff != "" {
			t.Errorf("workers (-want +got):\n%s", diff)
		}
		if resyncs != 1 {
			t.Errorf("%d resyncs, want the one of joining the connection", resyncs)
		}
		wire.notify("jobs", "")
		if resyncs != 2 {
			t.Errorf("%d resyncs after a payload without a key, want 2", resyncs)
		}
		mustStop(t, stopJobs)
		wire.notify("jobs", "j3")
		if wire.notify("jobs", ""); resyncs != 2 {
			t.Errorf("a controller that stopped is told of notifications")
		}
		mustStop(t, stopWorkers)
		mustStop(t, stopHub)
	})
}

func TestReconnectingBacksOffAndResyncs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wire := newWire()
		var resyncs []time.Duration
		var src reconcile.Source
		stopHub := listen(t, wire, func(hub *reconcile.Notifications) {
			src = hub.Source("jobs", nil, func() { resyncs = append(resyncs, time.Since(wire.begun)) })
		})
		stop := start(t, reconcile.New("jobs", newWorld(nil), exact(src)))

		elapse(10 * time.Second)
		down := errors.New("the database system is starting up")
		wire.refuse.Store(&down)
		wire.lost <- errors.New("connection reset by peer")
		elapse(10 * time.Second) // dials at 11, 13, 17
		wire.refuse.Store(nil)
		elapse(10 * time.Second) // and at 21, which stands for 9 s
		wire.lost <- nil         // a reason is not needed
		elapse(1500 * time.Millisecond)
		wire.lost <- errors.New("flapping") // the connection of 31 s stood for 0.5 s only
		elapse(10 * time.Second)

		if diff := cmp.Diff(seconds(0, 11, 13, 17, 21, 31, 33.5), wire.dials); diff != "" {
			t.Errorf("connections tried (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(seconds(0, 21, 31, 33.5), resyncs); diff != "" {
			t.Errorf("resyncs (-want +got):\n%s", diff)
		}
		mustStop(t, stop)
		mustStop(t, stopHub)
	})
}

func TestAHubStopsWhileItWaitsToReconnect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wire := newWire()
		down := errors.New("connection refused")
		wire.refuse.Store(&down)
		stop := listen(t, wire, func(*reconcile.Notifications) {})
		begun := time.Now()
		mustStop(t, stop)
		if time.Since(begun) != 0 {
			t.Errorf("the stop took %v", time.Since(begun))
		}
	})
}

func TestAPayloadThatPanicsCostsTheConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		resyncs := 0
		l := &panicky{}
		hub := reconcile.NewNotifications(l, reconcile.NotificationsOptions{Jitter: -1})
		src := hub.Source("jobs", func(payload string) []string { return []string{payload[:4]} }, func() { resyncs++ })
		stop := start(t, reconcile.New("jobs", newWorld(nil), exact(src)))
		stopHub := start(t, hub)
		elapse(time.Second)
		if l.dials != 2 || resyncs != 2 {
			t.Errorf("%d connections and %d resyncs, want 2 of each", l.dials, resyncs)
		}
		mustStop(t, stop)
		mustStop(t, stopHub)
	})
}

// panicky sends a payload that is too short on its first connection.
type panicky struct{ dials int }

func (p *panicky) Listen(ctx context.Context, _ []string, listening func(), notify func(channel, payload string)) error {
	p.dials++
	listening()
	if p.dials == 1 {
		notify("jobs", "j1")
	}
	<-ctx.Done()
	return ctx.Err()
}

// TestALostNotificationIsMadeUpFor is the guarantee of the package: a change
// that no notification told of is reconciled with the next connection, and one
// during a standing connection at the next interval.
func TestALostNotificationIsMadeUpFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wire, tab, w := newWire(), newTable(0), newWorld(nil)
		p := reconcile.NewPeriodic(tab.list, reconcile.PeriodicOptions{Interval: time.Minute, Jitter: -1})
		var src reconcile.Source
		stopHub := listen(t, wire, func(hub *reconcile.Notifications) { src = hub.Source("jobs", nil, p.Trigger) })
		stop := start(t, reconcile.New("jobs", w, exact(p, src)))

		elapse(10 * time.Second)
		wire.lost <- errors.New("connection reset by peer")
		tab.mu.Lock()
		tab.keys = append(tab.keys, "a") // while there is no connection
		tab.mu.Unlock()
		elapse(5 * time.Second)
		tab.mu.Lock()
		tab.keys = append(tab.keys, "b") // while there is one, but nobody says so
		tab.mu.Unlock()
		elapse(time.Minute)

		want := map[string][]time.Duration{"a": seconds(11, 71), "b": seconds(71)}
		if diff := cmp.Diff(want, w.passes); diff != "" {
			t.Errorf("reconciles (-want +got):\n%s", diff)
		}
		mustStop(t, stop)
		mustStop(t, stopHub)
	})
}
