package similaritysearch

import (
	"cmp"
	"context"
	"sync"

	"scimesh.dev/scimesh/chem/tanimoto"
	"scimesh.dev/scimesh/workloads/table"
)

// Bounds of a block: rows that are held with their fingerprints, to be compared with
// all queries. A tile of the index has as many rows.
const (
	blockRows  = 32_768
	blockBytes = 16 << 20 // of their text
	// indexedFrom is how many queries it takes for an index of a block to pay.
	indexedFrom = 8
)

// blockSearch compares blocks of rows with many queries.
type blockSearch struct {
	ctx     context.Context // lives as long as Execute
	w       *Workload
	search  *search
	goals   []goal
	heaps   []*topK // of the goals
	threads int

	rows  []blockRow
	arena []byte
	bits  []uint64
	words int
	err   error
}

// blockRow is one row; its text is in the arena.
type blockRow struct {
	start, endID, endSMILES int
	hasSMILES               bool
}

func (s *blockSearch) id(i int) []byte { return s.arena[s.rows[i].start:s.rows[i].endID] }
func (s *blockSearch) smiles(i int) []byte {
	return s.arena[s.rows[i].endID:s.rows[i].endSMILES]
}
func (s *blockSearch) fingerprint(i int) fingerprint { return s.bits[i*s.words:][:s.words] }

// add takes a row that has a fingerprint. A full block is searched.
func (s *blockSearch) add(b *batch, r *row) {
	at := blockRow{start: len(s.arena), hasSMILES: r.hasSMILES}
	s.arena = append(s.arena, b.id(r)...)
	at.endID = len(s.arena)
	s.arena = append(s.arena, b.smiles(r)...)
	at.endSMILES = len(s.arena)
	s.rows = append(s.rows, at)
	s.bits = append(s.bits, b.fingerprints[r.fingerprint:][:s.words]...)
	if len(s.rows) == blockRows || len(s.arena) >= blockBytes {
		s.flush()
	}
}

// flush searches the block and empties it. The queries are shared out among
// goroutines, each of which has the hits of its own: their number cannot show.
func (s *blockSearch) flush() {
	if len(s.rows) == 0 || s.err != nil {
		return
	}
	var index *tanimoto.Index
	if m := s.search.order.measure; len(s.goals) >= indexedFrom && (m.tanimoto() || m.kind == measureDice) {
		if index, s.err = tanimoto.Build(s.bits, s.search.kind.Bits); s.err != nil {
			return
		}
	}
	threads := min(s.threads, len(s.goals))
	finders := make([]blockFinder, threads)
	var wg sync.WaitGroup
	for i := range finders {
		f := &finders[i]
		*f = blockFinder{blockSearch: s, engine: s.w.newEngine(s.search.kind)}
		if index != nil {
			f.searcher = index.Searcher()
		}
		wg.Go(func() { f.run(i, threads) })
	}
	wg.Wait()
	for _, f := range finders {
		s.err = cmp.Or(s.err, f.err)
	}
	s.rows, s.arena, s.bits = s.rows[:0], s.arena[:0], s.bits[:0]
}

// blockFinder searches a block for some of the goals. It serves one goroutine.
type blockFinder struct {
	*blockSearch
	engine   engine
	searcher *tanimoto.Searcher // nil if the block has no index
	err      error
}

// run searches for every step-th goal.
func (f *blockFinder) run(first, step int) {
	for i := first; i < len(f.goals) && f.err == nil; i += step {
		if f.err = f.ctx.Err(); f.err != nil {
			return
		}
		if f.searcher != nil {
			f.err = f.lookUp(i)
		} else {
			f.err = f.compareAll(i)
		}
	}
}

// compareAll compares every row with a goal.
func (f *blockFinder) compareAll(i int) error {
	g, heap := &f.goals[i], f.heaps[i]
	for r := range f.rows {
		common, union := g.bits.compare(f.fingerprint(r))
		own, err := f.isQuery(g, r, common == union)
		if err != nil {
			return err
		}
		if !own && g.limits.accept(common, union) {
			heap.offer(int32(common), int32(union), f.id(r), f.smiles(r))
		}
	}
	return nil
}

// lookUp finds the rows of the index that may be among a goal's hits: the first
// top_k, and as many more as the query's own rows are among them.
func (f *blockFinder) lookUp(i int) error {
	g, heap := &f.goals[i], f.heaps[i]
	query := tanimoto.Query{Fingerprint: g.bits, Farthest: g.order.ascending, Tie: f.tie}
	if f.search.threshold != nil && f.search.order.measure.tanimoto() {
		// Only to look at less: the goal's limits decide.
		if t, err := tanimoto.ParseThreshold(f.search.threshold.String()); err == nil {
			query.Threshold = t
		}
	}
	for query.K = f.search.TopK + 1; ; query.K *= 2 {
		hits, err := f.searcher.Search(f.ctx, query)
		if err != nil {
			return err
		}
		own := make([]bool, len(hits))
		others := 0
		for n, h := range hits {
			if own[n], err = f.isQuery(g, h.Row, h.Common == h.Union); err != nil {
				return err
			}
			if !own[n] {
				others++
			}
		}
		if others < f.search.TopK && len(hits) == query.K {
			continue // more of its own rows than were allowed for
		}
		for n, h := range hits {
			if !own[n] && g.limits.accept(int(h.Common), int(h.Union)) {
				heap.offer(h.Common, h.Union, f.id(h.Row), f.smiles(h.Row))
			}
		}
		return nil
	}
}

// tie orders rows of equal similarity as hits are ordered.
func (f *blockFinder) tie(a, b int) int {
	return cmp.Or(cmp.Compare(string(f.id(a)), string(f.id(b))), cmp.Compare(string(f.smiles(a)), string(f.smiles(b))), cmp.Compare(a, b))
}

// isQuery reports whether a row is the query itself: by its id, or by its structure
// if both have one and equal fingerprints.
func (f *blockFinder) isQuery(g *goal, r int, equal bool) (bool, error) {
	if string(f.id(r)) == *g.id {
		return true, nil
	}
	if !equal || g.smiles == nil || !f.rows[r].hasSMILES {
		return false, nil
	}
	return f.engine.Same(g.smiles, f.smiles(r))
}

// executeMany searches one shard for many queries.
func (w *Workload) executeMany(ctx context.Context, s *search, c *collector, r *table.Reader, queries []*query) error {
	goals := s.goals(queries)
	words := len(queries[0].bits)
	b := &blockSearch{ctx: ctx, w: w, search: s, goals: goals, heaps: newHeaps(goals, s.TopK), threads: max(1, c.req.Threads), words: words}
	c.block = b
	newScorer := func() *scorer { return &scorer{engine: w.newEngine(s.kind), bits: make(fingerprint, words)} }
	if err := run(ctx, r, newScorer, b.threads, c.collect); err != nil {
		return err
	}
	b.flush()
	c.all = sortedHits(b.heaps)
	return b.err
}
