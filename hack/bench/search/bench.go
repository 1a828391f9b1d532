package main

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"time"
	"unsafe"

	"scimesh.dev/scimesh/chem/tanimoto"
)

// bench measures everything in passes, so that a disturbance of the machine meets
// all alike.
type bench struct {
	options
	rows      []uint64
	all, some *tanimoto.Index
	ctx       context.Context

	read     time.Duration // R
	measures []*measure
}

// measure is one row of the table.
type measure struct {
	kernel, name string
	goal         float64
	reads        float64                // how often a search of rows would read all of them
	run          func(int) (int, error) // makes one of the searches and returns its hits
	best         []time.Duration        // of each search
	hits         []int
}

func (b *bench) newMeasure(kernel, name string, searches int, assembly, plain float64) *measure {
	m := &measure{kernel: kernel, name: name, goal: assembly, reads: 1, hits: make([]int, searches)}
	if kernel == "portable" {
		m.goal = plain
	}
	for range searches {
		m.best = append(m.best, math.MaxInt64)
	}
	b.measures = append(b.measures, m)
	return m
}

// pass makes every search once, after all of them once unmeasured: what came
// before has taken the cache.
func (m *measure) pass() error {
	if len(m.best) > 1 {
		for i := range m.best {
			if _, err := m.run(i); err != nil {
				return fmt.Errorf("%s, %s: %w", m.kernel, m.name, err)
			}
		}
	}
	for i := range m.best {
		clock := startClock()
		hits, err := m.run(i)
		if err != nil {
			return fmt.Errorf("%s, %s: %w", m.kernel, m.name, err)
		}
		m.best[i] = min(m.best[i], clock.elapsed())
		m.hits[i] = hits
	}
	return nil
}

// seconds is the mean time of a search.
func (m *measure) seconds() float64 {
	var sum time.Duration
	for _, d := range m.best {
		sum += d
	}
	return sum.Seconds() / float64(len(m.best))
}

// meanHits is the mean number of hits of a search.
func (m *measure) meanHits() float64 {
	sum := 0
	for _, h := range m.hits {
		sum += h
	}
	return float64(sum) / float64(len(m.hits))
}

// timesR is how many times faster it was than reading rows, of which one pass takes r.
func (m *measure) timesR(r float64) float64 { return r * m.reads / m.seconds() }

// kinds are the searches measured, with goals for assembly and portable kernels.
// At so low a threshold as that of the count nothing can be left out: the bits in
// common with every fingerprint are counted.
var kinds = []struct {
	name            string
	query           tanimoto.Query
	count           bool
	assembly, plain float64
}{
	{"full exact count", tanimoto.Query{Threshold: tanimoto.MustThreshold("0.1")}, true, 25, 4},
	{"threshold 0.9", tanimoto.Query{Threshold: tanimoto.MustThreshold("0.9")}, false, 400, 80},
	{"threshold 0.7", tanimoto.Query{Threshold: tanimoto.MustThreshold("0.7")}, false, 90, 18},
	{"threshold 0.5", tanimoto.Query{Threshold: tanimoto.MustThreshold("0.5")}, false, 41, 10},
	{"top 20", tanimoto.Query{K: 20}, false, 25, 6},
	{"top 100", tanimoto.Query{K: 100}, false, 16, 5},
	{"top 1000", tanimoto.Query{K: 1000}, false, 8, 3},
}

// RDKit's loop runs at about 0.04 R, so 5000 and 500 times its speed are these
// times R.
const pairsAssembly, pairsPlain = 200, 20

func (b *bench) measure() error {
	for _, kernel := range tanimoto.Kernels() {
		if err := b.add(kernel); err != nil {
			return err
		}
	}
	b.read = math.MaxInt64
	for range b.passes {
		for range 3 {
			b.read = min(b.read, readOnce(b.rows))
		}
		for _, m := range b.measures {
			if err := m.pass(); err != nil {
				return err
			}
		}
	}
	return b.agree()
}

// add lists the measures of a kernel.
func (b *bench) add(kernel string) error {
	s, p := b.all.Searcher(), b.some.Searcher()
	for _, searcher := range []*tanimoto.Searcher{s, p} {
		if err := searcher.UseKernel(kernel); err != nil {
			return err
		}
	}
	for _, kind := range kinds {
		m := b.newMeasure(kernel, kind.name, b.queries, kind.assembly, kind.plain)
		m.run = func(i int) (int, error) {
			// Queries are rows from all over the table.
			row := i * (b.all.Len() / b.queries)
			q := kind.query
			q.Fingerprint = b.rows[row*fingerprintWords:][:fingerprintWords]
			if kind.count {
				return s.Count(b.ctx, q.Fingerprint, q.Threshold)
			}
			found, err := s.Search(b.ctx, q)
			return len(found), err
		}
	}
	n := float64(b.some.Len())
	m := b.newMeasure(kernel, fmt.Sprintf("pairs of %.0f, 0.7", n), 1, pairsAssembly, pairsPlain)
	m.reads = n / 2 * n / float64(b.all.Len())
	m.run = func(int) (pairs int, err error) {
		err = p.Pairs(b.ctx, tanimoto.PairQuery{Threshold: tanimoto.MustThreshold("0.7")}, func(tanimoto.Pair) error { pairs++; return nil })
		return pairs, err
	}
	return nil
}

// agree compares the hits of all kernels.
func (b *bench) agree() error {
	hits := map[string][]int{}
	for _, m := range b.measures {
		if want, ok := hits[m.name]; ok && !slices.Equal(want, m.hits) {
			return fmt.Errorf("%s: %s finds %v hits, another kernel %v", m.name, m.kernel, m.hits, want)
		}
		hits[m.name] = m.hits
	}
	return nil
}

// readOnce is the time to read all rows, by the faster of two ways.
func readOnce(rows []uint64) time.Duration {
	b := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(rows))), len(rows)*8)
	clock := startClock()
	runtime.KeepAlive(bytes.Count(b, []byte{255}))
	counted := clock.elapsed()

	clock = startClock()
	var s0, s1, s2, s3 uint64
	for i := 0; i+8 <= len(rows); i += 8 {
		r := rows[i : i+8 : i+8]
		s0 += r[0] ^ r[4]
		s1 += r[1] ^ r[5]
		s2 += r[2] ^ r[6]
		s3 += r[3] ^ r[7]
	}
	runtime.KeepAlive(s0 + s1 + s2 + s3)
	return min(counted, clock.elapsed())
}
