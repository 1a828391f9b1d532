package reconcile

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// model is the queue as a reader would describe it: two lists without repeats,
// the keys in work, and the keys to come again when their work is done.
type model struct {
	lists   [2][]string
	passed  int
	working map[string]bool
	again   map[string]lane
}

func (m *model) add(key string, to lane) {
	if m.working[key] {
		if before, ok := m.again[key]; ok {
			to = min(before, to)
		}
		m.again[key] = to
		return
	}
	for at, list := range m.lists {
		if i := slices.Index(list, key); i >= 0 {
			if lane(at) <= to {
				return
			}
			m.lists[at] = slices.Delete(list, i, i+1)
		}
	}
	m.lists[to] = append(m.lists[to], key)
}

func (m *model) len() int { return len(m.lists[laneEdge]) + len(m.lists[laneResync]) }

// get takes the first edge, but a resync after every fourth edge it waited for.
func (m *model) get() string {
	from := laneEdge
	switch {
	case len(m.lists[laneResync]) == 0:
	case len(m.lists[laneEdge]) == 0 || m.passed == 4:
		from, m.passed = laneResync, 0
	default:
		m.passed++
	}
	key := m.lists[from][0]
	m.lists[from] = m.lists[from][1:]
	m.working[key] = true
	return key
}

func (m *model) done(key string) {
	delete(m.working, key)
	if to, ok := m.again[key]; ok {
		delete(m.again, key)
		m.add(key, to)
	}
}

func testQueue() *queue {
	opts := Options{}.withDefaults()
	return newQueue(opts, opts.Metrics.of("test"))
}

// FuzzQueueEqualsModel applies operations to the workqueue with its lanes and
// to the model. A byte is an operation, in its low two bits, on one of 8 keys.
func FuzzQueueEqualsModel(f *testing.F) {
	f.Add([]byte{edge, resync, get, done})
	f.Add([]byte{resync, resync | 4, edge | 4, get, get, edge, resync, done, get})
	f.Add([]byte{resync, edge | 4, edge | 8, edge | 12, edge | 16, edge | 20, get, get, get, get, get, get})
	f.Add([]byte{edge, get, edge, resync, resync | 4, done, get}) // an edge during work stays one
	f.Fuzz(func(t *testing.T, ops []byte) { compareWithModel(t, ops) })
}

func TestQueueEqualsModel(t *testing.T) {
	ops := rapid.SliceOfN(rapid.Byte(), 0, 400)
	rapid.Check(t, func(rt *rapid.T) { compareWithModel(rt, ops.Draw(rt, "ops")) })
}

// The operations of compareWithModel.
const edge, resync, get, done = 0, 1, 2, 3

func compareWithModel(t rapid.TB, ops []byte) {
	q := testQueue()
	defer q.ShutDown()
	m := &model{working: map[string]bool{}, again: map[string]lane{}}
	for i, op := range ops {
		key := string('a' + rune(op>>2&7))
		switch op & 3 {
		case edge:
			q.Add(Request{Key: key})
			m.add(key, laneEdge)
		case resync:
			if err := q.AddResync(context.Background(), Request{Key: key}); err != nil {
				t.Fatal(err)
			}
			m.add(key, laneResync)
		case get:
			if m.len() == 0 {
				continue
			}
			got, _ := q.Get()
			if want := m.get(); got.Key != want {
				t.Fatalf("operation %d: got %q, want %q", i, got.Key, want)
			}
		case done:
			if m.working[key] {
				q.Done(Request{Key: key})
				m.done(key)
			}
		}
		if got, want := q.Len(), m.len(); got != want {
			t.Fatalf("operation %d: %d keys in the queue, want %d", i, got, want)
		}
		if got, want := len(q.lanes.announced), len(m.again); got != want {
			t.Fatalf("operation %d: %d lanes announced, want those of the %d keys that come again", i, got, want)
		}
	}
}

func drawDuration(rt *rapid.T) time.Duration {
	return time.Duration(rapid.Int64Range(1, int64(24*time.Hour)).Draw(rt, "ns"))
}

func TestDelaysStayWithinBounds(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := delays{
			base:   rapid.Custom(drawDuration).Draw(rt, "base"),
			jitter: rapid.Float64Range(0, 1).Draw(rt, "jitter"),
		}
		d.max = max(d.base, rapid.Custom(drawDuration).Draw(rt, "max"))
		failures := rapid.IntRange(1, 1<<40).Draw(rt, "failures")
		got := d.after(failures)
		exact := delays{base: d.base, max: d.max}.after(failures)
		if got < 0 || got > d.max || got > exact || float64(got) < float64(exact)*(1-d.jitter)-1 {
			rt.Errorf("%+v after %d failures is %v, without jitter %v", d, failures, got, exact)
		}
		if next := (delays{base: d.base, max: d.max}).after(failures + 1); next != d.max && next != 2*exact {
			rt.Errorf("%v is followed by %v, want twice as much or the maximum %v", exact, next, d.max)
		}
	})
}

func BenchmarkQueue(b *testing.B) {
	for _, n := range []int{1, 1000, 100_000} {
		b.Run(fmt.Sprintf("keys=%d", n), func(b *testing.B) {
			q := testQueue()
			defer q.ShutDown()
			keys := make([]Request, n)
			for i := range keys {
				keys[i] = Request{Key: fmt.Sprintf("job-%06d", i)}
				q.Add(keys[i])
			}
			b.ReportAllocs()
			for b.Loop() {
				req, _ := q.Get()
				q.Done(req)
				q.Add(req)
			}
		})
	}
}
