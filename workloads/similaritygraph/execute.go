package similaritygraph

import (
	"context"
	"errors"
	"fmt"
	"io"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/workloads"
	"scimesh.dev/scimesh/workloads/blocks"
	"scimesh.dev/scimesh/workloads/shards"
)

// Execute makes the block of a shard, or compares a pair of blocks.
func (w *Workload) Execute(ctx context.Context, req workloads.TaskRequest) (workloads.TaskResult, error) {
	p, c, err := decodeTask(req.Parameters)
	if err != nil {
		return workloads.TaskResult{}, err
	}
	if p.Pair == nil {
		return makeBlock(ctx, req, p.Input)
	}
	return comparePair(ctx, req, p, c)
}

func logf(req workloads.TaskRequest, format string, args ...any) {
	if req.Logf != nil {
		req.Logf(format, args...)
	}
}

func makeBlock(ctx context.Context, req workloads.TaskRequest, layout *v1.InputLayout) (workloads.TaskResult, error) {
	maker := blocks.Maker{Threads: req.Threads, Progress: req.Progress}
	if layout != nil {
		maker.Layout = *layout
	}
	l, err := maker.Make(ctx, req.Input, req.Output)
	if err != nil {
		return workloads.TaskResult{}, err
	}
	rejected := rejectedOf(l)
	logf(req, "read %d rows: %d molecules, %d rejected", l.RowsRead, l.Scored, rejected)
	return workloads.TaskResult{ContentType: blocks.ContentType, Metrics: map[string]any{
		"processed_rows": l.RowsRead, "scored_rows": l.Scored, "rejected_rows": rejected,
	}}, nil
}

func rejectedOf(l v1.Ledger) (n int64) {
	for _, m := range l.Rejected {
		n += m
	}
	return n
}

func comparePair(ctx context.Context, req workloads.TaskRequest, p taskParameters, c criterion) (workloads.TaskResult, error) {
	left, err := loadBlock(ctx, req.Input)
	if err != nil {
		return workloads.TaskResult{}, fmt.Errorf("left block: %w", err)
	}
	right := left
	if p.Pair.Left != p.Pair.Right {
		if len(req.Inputs) != 1 {
			return workloads.TaskResult{}, workloads.Errorf(workloads.ReasonInvalidParameters,
				"the task comes with %d further inputs; its second block is needed", len(req.Inputs))
		}
		if right, err = loadBlock(ctx, req.Inputs[0]); err != nil {
			return workloads.TaskResult{}, fmt.Errorf("right block: %w", err)
		}
	}
	s := &comparison{req: req, criterion: c, pair: *p.Pair, left: left, right: right, limit: p.MaxEdges}
	if err := s.run(ctx); err != nil {
		return workloads.TaskResult{}, err
	}
	logf(req, "blocks %d and %d: %d and %d molecules, %d pairs compared, %d edges",
		p.Pair.Left, p.Pair.Right, left.index.Len(), right.index.Len(), s.pairs(), s.edges)
	return workloads.TaskResult{ContentType: shards.CSVType, Metrics: map[string]any{
		"compared_pairs": s.pairs(), "edges": s.edges,
	}}, nil
}

// loadBlock reads a block. What is wrong with its bytes, whose checksum was
// right, is the fault of who made it.
func loadBlock(ctx context.Context, r io.Reader) (*block, error) {
	in := &shards.ContextReader{Ctx: ctx, R: r}
	b, err := readMolecules(in)
	switch {
	case err == nil:
		return b, nil
	case in.Err != nil:
		return nil, in.Err
	}
	return nil, workloads.Errorf(workloads.ReasonInputCorrupt, "%v", err)
}

func readMolecules(r io.Reader) (*block, error) {
	x, table, err := blocks.Load(r)
	if err != nil {
		return nil, err
	}
	b := &block{index: x}
	for {
		m, err := table.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if m.Reject == "" {
			b.add(m.ID)
		}
	}
	if len(b.ends) != x.Len() {
		return nil, fmt.Errorf("%d molecules and %d fingerprints", len(b.ends), x.Len())
	}
	b.rank()
	return b, nil
}
