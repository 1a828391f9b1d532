package tanimoto

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
)

// Parallel searches an index with several goroutines. Like a Searcher it is
// scratch memory: no two of its methods may run at once.
type Parallel struct {
	searchers []*Searcher
}

// Parallel makes a parallel searcher of that many goroutines; 0 means as many as
// Go programs may use processors.
func (x *Index) Parallel(threads int) *Parallel {
	if threads <= 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	p := &Parallel{}
	for range threads {
		p.searchers = append(p.searchers, x.Searcher())
	}
	return p
}

// UseKernel chooses one of [Kernels] by name, for tests and measurements.
func (p *Parallel) UseKernel(name string) error {
	for _, s := range p.searchers {
		if err := s.UseKernel(name); err != nil {
			return err
		}
	}
	return nil
}

// Search is Searcher.Search with the index divided among the goroutines. It pays
// for large indexes; for many queries use SearchAll.
func (p *Parallel) Search(ctx context.Context, q Query) ([]Hit, error) {
	common := &shared{}
	found := make([]*finding, len(p.searchers))
	if err := p.run(ctx, func(ctx context.Context, i int) (err error) {
		found[i], err = p.searchers[i].find(ctx, q, &claims{shared: common})
		return err
	}); err != nil {
		return nil, err
	}
	all := found[0]
	p.searchers[0].searchTail(all)
	for _, f := range found[1:] {
		all.entries = append(all.entries, f.entries...)
	}
	all.low = int(common.low.Load())
	return all.sorted(), nil
}

// SearchAll makes many searches, each by one goroutine, and calls found for each
// with its place among the queries: one call at a time, in the order in which they
// end. It stops at found's first error, and when the context ends.
func (p *Parallel) SearchAll(ctx context.Context, queries []Query, found func(query int, hits []Hit) error) error {
	var next atomic.Int64
	var caller teller
	return p.run(ctx, func(ctx context.Context, i int) error {
		for at := int(next.Add(1)) - 1; at < len(queries); at = int(next.Add(1)) - 1 {
			hits, err := p.searchers[i].Search(ctx, queries[at])
			if err != nil {
				return err
			}
			if err := caller.tell(ctx, func() error { return found(at, hits) }); err != nil {
				return err
			}
		}
		return nil
	})
}

// teller calls the caller's functions: one at a time, and none after an error.
type teller struct {
	mu  sync.Mutex
	err error
}

func (t *teller) tell(ctx context.Context, f func() error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err == nil {
		t.err = ctx.Err()
	}
	if t.err == nil {
		t.err = f()
	}
	return t.err
}

// run calls f for each searcher at once. The first error ends the others' context,
// and is returned.
func (p *Parallel) run(ctx context.Context, f func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var wait sync.WaitGroup
	var once sync.Once
	var first error
	for i := range p.searchers {
		wait.Go(func() {
			if err := f(ctx, i); err != nil {
				once.Do(func() { first = err })
				cancel()
			}
		})
	}
	wait.Wait()
	return first
}
