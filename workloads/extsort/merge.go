package extsort

import (
	"context"
	"errors"
	"io"
)

// FanIn is how many streams are open at once.
const FanIn = 64

// Open opens a stream. It is called once.
type Open[T any] func() (Stream[T], error)

// Merger merges sorted streams.
type Merger[T any] struct {
	// Dir is the folder of temporary files, "" for the system's.
	Dir     string
	Compare func(a, b T) int
	Codec   Codec[T]
}

// checkEvery is how many items pass between looks at the context.
const checkEvery = 4096

// Merge calls emit with the items of all sources in ascending order; equal items
// in the order of their sources. More than FanIn sources are merged into
// temporary files first.
func (m *Merger[T]) Merge(ctx context.Context, sources []Open[T], emit func(T) error) (err error) {
	var open []*run[T] // made here and not taken by a merge yet
	defer func() {
		for _, r := range open {
			err = errors.Join(err, r.Close())
		}
	}()
	for len(sources) > FanIn {
		var next []Open[T]
		for from := 0; from < len(sources); from += FanIn {
			r, err := newRun(m.Dir, m.Codec)
			if err != nil {
				return err
			}
			open = append(open, r)
			if err := m.mergeFew(ctx, sources[from:min(from+FanIn, len(sources))], r.add); err != nil {
				return err
			}
			if err := r.rewind(); err != nil {
				return err
			}
			next = append(next, func() (Stream[T], error) { return keep[T]{r}, nil })
		}
		sources = next
	}
	return m.mergeFew(ctx, sources, emit)
}

// keep leaves the closing of a run to Merge.
type keep[T any] struct{ *run[T] }

func (keep[T]) Close() error { return nil }

// head is the next item of a stream.
type head[T any] struct {
	item   T
	stream Stream[T]
	source int
}

func (m *Merger[T]) mergeFew(ctx context.Context, sources []Open[T], emit func(T) error) (err error) {
	h := heads[T]{compare: m.Compare}
	defer func() {
		for _, s := range h.all {
			err = errors.Join(err, s.Close())
		}
	}()
	for i, open := range sources {
		s, err := open()
		if err != nil {
			return err
		}
		h.all = append(h.all, s)
		item, err := s.Next()
		if errors.Is(err, io.EOF) {
			continue
		}
		if err != nil {
			return err
		}
		h.push(head[T]{item, s, i})
	}
	for n := 0; len(h.heap) > 0; n++ {
		if n%checkEvery == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		top := &h.heap[0]
		if err := emit(top.item); err != nil {
			return err
		}
		item, err := top.stream.Next()
		switch {
		case errors.Is(err, io.EOF):
			last := len(h.heap) - 1
			h.heap[0] = h.heap[last]
			h.heap = h.heap[:last]
		case err != nil:
			return err
		default:
			top.item = item
		}
		h.sink(0)
	}
	return ctx.Err()
}

// heads is a heap of the next items of all streams, the smallest first.
type heads[T any] struct {
	compare func(a, b T) int
	heap    []head[T]
	all     []Stream[T]
}

func (h *heads[T]) less(i, j int) bool {
	c := h.compare(h.heap[i].item, h.heap[j].item)
	return c < 0 || c == 0 && h.heap[i].source < h.heap[j].source
}

func (h *heads[T]) push(x head[T]) {
	h.heap = append(h.heap, x)
	for i := len(h.heap) - 1; i > 0 && h.less(i, (i-1)/2); i = (i - 1) / 2 {
		h.heap[i], h.heap[(i-1)/2] = h.heap[(i-1)/2], h.heap[i]
	}
}

func (h *heads[T]) sink(i int) {
	for {
		child := 2*i + 1
		if child >= len(h.heap) {
			return
		}
		if child+1 < len(h.heap) && h.less(child+1, child) {
			child++
		}
		if !h.less(child, i) {
			return
		}
		h.heap[i], h.heap[child] = h.heap[child], h.heap[i]
		i = child
	}
}
