package main

import (
	"fmt"
	"io"
	"math"
	"text/tabwriter"
	"time"

	"scimesh.dev/scimesh/chem/tanimoto"
)

// gain is what two goroutines are compared at. Its function works with that many.
type gain struct {
	name string
	goal float64
	run  func(threads int) error
}

// measureTwo prints what a second core gains, with the best kernel. Both run in
// turn; the time is that gone by, so it wants two idle cores. The processor time of
// both together says what there is to gain: no more than twice what one needs.
func (b *bench) measureTwo(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "two goroutines\tone ms\ttwo ms\tgain\tgoal\t\twork of two ms\t")
	for _, g := range b.gains() {
		one, two, work := time.Duration(math.MaxInt64), time.Duration(math.MaxInt64), time.Duration(math.MaxInt64)
		for range 3 * b.passes {
			for threads, best := range map[int]*time.Duration{1: &one, 2: &two} {
				start, used := time.Now(), processTime()
				if err := g.run(threads); err != nil {
					return fmt.Errorf("%s: %w", g.name, err)
				}
				*best = min(*best, time.Since(start))
				if threads == 2 {
					work = min(work, processTime()-used)
				}
			}
		}
		verdict := "met"
		if one.Seconds()/two.Seconds() < g.goal {
			verdict = "missed"
		}
		fmt.Fprintf(w, "%s\t%.2f\t%.2f\t%.2f\t%.1f\t%s\t%.2f\t\n", g.name, one.Seconds()*1e3, two.Seconds()*1e3,
			one.Seconds()/two.Seconds(), g.goal, verdict, work.Seconds()*1e3)
	}
	return w.Flush()
}

func (b *bench) gains() []gain {
	searchers := map[int]*tanimoto.Parallel{1: b.all.Parallel(1), 2: b.all.Parallel(2)}
	paired := map[int]*tanimoto.Parallel{1: b.some.Parallel(1), 2: b.some.Parallel(2)}
	queries := func(q tanimoto.Query) (all []tanimoto.Query) {
		for i := range b.queries {
			q.Fingerprint = b.rows[i*(b.all.Len()/b.queries)*fingerprintWords:][:fingerprintWords]
			all = append(all, q)
		}
		return all
	}
	oneByOne := func(q tanimoto.Query) func(int) error {
		return func(threads int) error {
			for _, q := range queries(q) {
				if _, err := searchers[threads].Search(b.ctx, q); err != nil {
					return err
				}
			}
			return nil
		}
	}
	threshold := tanimoto.MustThreshold("0.7")
	return []gain{
		{"single queries, top 1000", 1.6, oneByOne(tanimoto.Query{K: 1000})},
		{"single queries, threshold 0.5", 1.6, oneByOne(tanimoto.Query{Threshold: tanimoto.MustThreshold("0.5")})},
		{"batch, top 20", 1.8, func(threads int) error {
			return searchers[threads].SearchAll(b.ctx, queries(tanimoto.Query{K: 20}), func(int, []tanimoto.Hit) error { return nil })
		}},
		{fmt.Sprintf("pairs of %d, 0.7", b.some.Len()), 1.8, func(threads int) error {
			return paired[threads].Pairs(b.ctx, tanimoto.PairQuery{Threshold: threshold}, func(tanimoto.Pair) error { return nil })
		}},
	}
}
