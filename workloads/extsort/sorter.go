package extsort

import (
	"context"
	"errors"
	"io"
	"slices"
)

// Sorter sorts items. It is for one goroutine.
type Sorter[T any] struct {
	Merger[T]
	// Limit is how much memory items may take, by the measure of Size.
	Limit int
	Size  func(item T) int

	items []T
	used  int
	runs  []*run[T]
}

// Add takes an item, which must stay as it is.
func (s *Sorter[T]) Add(item T) error {
	s.items = append(s.items, item)
	if s.used += s.Size(item); s.used < s.Limit {
		return nil
	}
	return s.spill()
}

// spill moves the items in memory to a file.
func (s *Sorter[T]) spill() error {
	r, err := newRun(s.Dir, s.Codec)
	if err != nil {
		return err
	}
	s.runs = append(s.runs, r)
	slices.SortStableFunc(s.items, s.Compare)
	for _, item := range s.items {
		if err := r.add(item); err != nil {
			return err
		}
	}
	clear(s.items)
	s.items, s.used = s.items[:0], 0
	return r.rewind()
}

// Each calls emit with all items in ascending order, once.
func (s *Sorter[T]) Each(ctx context.Context, emit func(T) error) error {
	slices.SortStableFunc(s.items, s.Compare)
	sources := make([]Open[T], 0, len(s.runs)+1)
	for _, r := range s.runs {
		sources = append(sources, func() (Stream[T], error) { return keep[T]{r}, nil })
	}
	sources = append(sources, func() (Stream[T], error) { return &slice[T]{s.items}, nil })
	return s.Merge(ctx, sources, emit)
}

// Close removes the temporary files.
func (s *Sorter[T]) Close() error {
	var errs []error
	for _, r := range s.runs {
		errs = append(errs, r.Close())
	}
	s.runs, s.items = nil, nil
	return errors.Join(errs...)
}

// slice is a stream of items in memory.
type slice[T any] struct{ items []T }

func (s *slice[T]) Next() (item T, err error) {
	if len(s.items) == 0 {
		return item, io.EOF
	}
	item, s.items = s.items[0], s.items[1:]
	return item, nil
}

func (s *slice[T]) Close() error { return nil }
