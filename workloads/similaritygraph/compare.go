package similaritygraph

import (
	"bufio"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"scimesh.dev/scimesh/chem/tanimoto"
	"scimesh.dev/scimesh/workloads"
	"scimesh.dev/scimesh/workloads/extsort"
)

// edgeMemory is how much memory the edges of a task take while they are sorted.
const edgeMemory = 64 << 20

// rankedEdge is an edge by the ranks of its ids: key is that of the source, then
// that of the target; score the common bits, then those of the union.
type rankedEdge struct {
	key   uint64
	score uint32
}

func newRankedEdge(source, target uint32, s tanimoto.Score) rankedEdge {
	return rankedEdge{uint64(source)<<32 | uint64(target), uint32(s.Common)<<16 | uint32(s.Union)}
}

var rankedCodec = extsort.Codec[rankedEdge]{
	Append: func(dst []byte, e rankedEdge) []byte {
		return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint64(dst, e.key), e.score)
	},
	Decode: func(b []byte) (rankedEdge, error) {
		if len(b) != 12 {
			return rankedEdge{}, errors.New("temporary file of edges is damaged")
		}
		return rankedEdge{binary.BigEndian.Uint64(b), binary.BigEndian.Uint32(b[8:])}, nil
	},
}

// comparison compares a pair of blocks.
type comparison struct {
	req         workloads.TaskRequest
	criterion   criterion
	pair        pair
	left, right *block
	limit       int64 // of edges
	edges       int64
}

// pairs is how many pairs of molecules there are.
func (c *comparison) pairs() int64 {
	if c.left == c.right {
		return pairsOf(int64(c.left.index.Len()), false)
	}
	return int64(c.left.index.Len()) * int64(c.right.index.Len())
}

// comparing is the share of the progress that the comparisons have; the rest is
// for sorting and writing.
const comparing = 0.9

func (c *comparison) run(ctx context.Context) (err error) {
	sorter := &extsort.Sorter[rankedEdge]{
		Merger: extsort.Merger[rankedEdge]{
			Dir: c.req.TempDir, Codec: rankedCodec,
			Compare: func(a, b rankedEdge) int { return cmp.Compare(a.key, b.key) },
		},
		Limit: edgeMemory, Size: func(rankedEdge) int { return 16 },
	}
	defer func() { err = errors.Join(err, sorter.Close()) }()
	if err := c.find(ctx, sorter); err != nil {
		return err
	}
	out := newEdgeWriter(bufio.NewWriterSize(c.req.Output, 64<<10))
	err = sorter.Each(ctx, func(e rankedEdge) error {
		source, target := c.left.byID[e.key>>32], c.right.byID[uint32(e.key)]
		return out.edge(edge{
			sourceID: c.left.id(source), targetID: c.right.id(target),
			source: c.pair.LeftFirst + int64(source), target: c.pair.RightFirst + int64(target),
			Score: tanimoto.Score{Common: int32(e.score >> 16), Union: int32(e.score & 0xffff)},
		})
	})
	if err == nil {
		err = out.end(c.pairs())
	}
	if err != nil {
		return err
	}
	c.progress(1)
	return nil
}

// find adds all edges to the sorter.
func (c *comparison) find(ctx context.Context, sorter *extsort.Sorter[rankedEdge]) error {
	query := tanimoto.PairQuery{
		Threshold: c.criterion.threshold, Farthest: c.criterion.less,
		Progress: func(done, total int) { c.progress(comparing * float64(done) / float64(max(1, total))) },
	}
	take := func(p tanimoto.Pair) error {
		if c.edges++; c.edges > c.limit {
			return workloads.Errorf(ReasonTooManyEdges, "this pair of blocks alone has more than the %d edges that the job may have", c.limit)
		}
		return sorter.Add(newRankedEdge(c.left.ranks[p.A], c.right.ranks[p.B], p.Score))
	}
	search := c.right.index.Parallel(max(1, c.req.Threads))
	var err error
	if c.left == c.right {
		err = search.Pairs(ctx, query, take)
	} else {
		err = search.PairsWith(ctx, c.left.index, query, take)
	}
	if err != nil {
		return fmt.Errorf("compare blocks: %w", err)
	}
	return nil
}

func (c *comparison) progress(share float64) {
	if c.req.Progress != nil {
		c.req.Progress(share)
	}
}
