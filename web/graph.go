package web

import (
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"slices"
	"strconv"
	"strings"
)

const (
	// maxStudied bounds the edges, maxMolecules the molecules that a study of a
	// graph takes in: some seconds, and some 100 MB while it lasts.
	maxStudied   = 3_000_000
	maxMolecules = 500_000
	// shownComponents is how many components a page lists, the largest ones.
	shownComponents = 15
	similarityBins  = 20
	checkEdges      = 1 << 14 // edges between looks at the context
)

// graphStudy is what a page says of a graph as a whole.
type graphStudy struct {
	Edges      int64
	Molecules  int64 // with at least one edge
	Components int64
	// Partly is true if the graph has more edges than were taken in.
	Partly     bool
	Similarity []bin
	Degrees    []bin
	Largest    []component
	// Hub is the molecule with the most neighbours.
	Hub string
}

// bin is a bar of a histogram.
type bin struct {
	Label string
	N     int64
	Share int // of the longest bar, in hundredths
}

// component is a set of molecules that hang together.
type component struct {
	Molecules, Edges int64
	// Hub is its molecule with the most neighbours.
	Hub string
}

// isGraph reports whether a result is a list of edges.
func isGraph(header []string) bool {
	return slices.Equal(header, []string{"source_id", "target_id", "similarity"})
}

// eachEdge gives the edges of a result, as far as take wants them.
func (d *Dashboard) eachEdge(ctx context.Context, sha256 string, take func(source, target, similarity string) bool) error {
	blob, err := d.blobs.Open(ctx, sha256)
	if err != nil {
		return err
	}
	defer blob.Close()
	in := csv.NewReader(blob)
	in.ReuseRecord, in.FieldsPerRecord = true, 3
	if _, err := in.Read(); err != nil {
		return err
	}
	for n := 1; ; n++ {
		row, err := in.Read()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case !take(row[0], row[1], row[2]):
			return nil
		case n%checkEdges == 0 && ctx.Err() != nil:
			return ctx.Err()
		}
	}
}

// study reads a graph once.
func (d *Dashboard) study(ctx context.Context, sha256 string) (*graphStudy, error) {
	s := newStudy()
	if err := d.eachEdge(ctx, sha256, s.add); err != nil {
		return nil, fmt.Errorf("study graph: %w", err)
	}
	return s.finish(), nil
}

// studying is a graph as far as it was read: molecules by number, joined into
// components by union and find.
type studying struct {
	study      graphStudy
	number     map[string]int32
	ids        []string
	degree     []int32
	parent     []int32
	similarity [similarityBins + 1]int64
}

func newStudy() *studying { return &studying{number: map[string]int32{}} }

// add takes in an edge; false if that is enough.
func (s *studying) add(source, target, similarity string) bool {
	if s.study.Edges == maxStudied || len(s.ids) >= maxMolecules {
		s.study.Partly = true
		return false
	}
	a, b := s.molecule(source), s.molecule(target)
	s.degree[a]++
	s.degree[b]++
	s.parent[s.root(a)] = s.root(b)
	if v, err := strconv.ParseFloat(similarity, 64); err == nil && v >= 0 && v <= 1 {
		s.similarity[int(v*similarityBins)]++
	}
	s.study.Edges++
	return true
}

// molecule is the number of an id.
func (s *studying) molecule(id string) int32 {
	if n, ok := s.number[id]; ok {
		return n
	}
	n := int32(len(s.ids))
	id = strings.Clone(id) // without the rest of its line
	s.number[id] = n
	s.ids, s.degree, s.parent = append(s.ids, id), append(s.degree, 0), append(s.parent, n)
	return n
}

// root is the molecule that stands for a component.
func (s *studying) root(n int32) int32 {
	for s.parent[n] != n {
		s.parent[n] = s.parent[s.parent[n]]
		n = s.parent[n]
	}
	return n
}

// finish makes what is shown.
func (s *studying) finish() *graphStudy {
	g := &s.study
	g.Molecules = int64(len(s.ids))
	g.Similarity, g.Degrees = s.similarities(), s.degrees()
	components := map[int32]*component{}
	hubs := map[int32]int32{} // the molecule with the most neighbours, by component
	for n := range s.ids {
		n := int32(n)
		root := s.root(n)
		c := components[root]
		if c == nil {
			c = &component{}
			components[root], hubs[root] = c, n
		}
		c.Molecules++
		c.Edges += int64(s.degree[n])
		if hub := hubs[root]; s.degree[n] > s.degree[hub] || s.degree[n] == s.degree[hub] && s.ids[n] < s.ids[hub] {
			hubs[root] = n
		}
	}
	for root, c := range components {
		c.Edges /= 2 // each was counted at both ends
		c.Hub = s.ids[hubs[root]]
		g.Largest = append(g.Largest, *c)
	}
	g.Components = int64(len(components))
	slices.SortFunc(g.Largest, func(a, b component) int {
		return cmp.Or(cmp.Compare(b.Molecules, a.Molecules), cmp.Compare(b.Edges, a.Edges), cmp.Compare(a.Hub, b.Hub))
	})
	g.Hub = s.hub()
	g.Largest = slices.Clone(g.Largest[:min(len(g.Largest), shownComponents)])
	return g
}

// hub is the molecule with the most neighbours, "" if there is none.
func (s *studying) hub() string {
	best := -1
	for n := range s.ids {
		if best < 0 || s.degree[n] > s.degree[best] || s.degree[n] == s.degree[best] && s.ids[n] < s.ids[best] {
			best = n
		}
	}
	if best < 0 {
		return ""
	}
	return s.ids[best]
}

// similarities are the edges by similarity, in steps of a twentieth; the last
// step holds 1 too.
func (s *studying) similarities() []bin {
	s.similarity[similarityBins-1] += s.similarity[similarityBins]
	var out []bin
	for i, n := range s.similarity[:similarityBins] {
		out = append(out, bin{Label: fmt.Sprintf("%.2f to %.2f", float64(i)/similarityBins, float64(i+1)/similarityBins), N: n})
	}
	return scaled(out)
}

// degrees are the molecules by number of neighbours, in steps that double.
func (s *studying) degrees() []bin {
	var counts []int64
	for _, n := range s.degree {
		step := bits.Len32(uint32(n)) - 1
		for len(counts) <= step {
			counts = append(counts, 0)
		}
		counts[step]++
	}
	var out []bin
	for step, n := range counts {
		label := count(int64(1) << step)
		if step > 0 {
			label += " to " + count(int64(1)<<(step+1)-1)
		}
		out = append(out, bin{Label: label, N: n})
	}
	return scaled(out)
}

// scaled gives the bars their lengths, and leaves out empty ones at both ends.
func scaled(bins []bin) []bin {
	var longest int64
	for _, b := range bins {
		longest = max(longest, b.N)
	}
	for i := range bins {
		bins[i].Share = percent(bins[i].N, longest)
		if bins[i].N > 0 {
			bins[i].Share = max(1, bins[i].Share)
		}
	}
	for len(bins) > 0 && bins[0].N == 0 {
		bins = bins[1:]
	}
	for len(bins) > 0 && bins[len(bins)-1].N == 0 {
		bins = bins[:len(bins)-1]
	}
	return bins
}
