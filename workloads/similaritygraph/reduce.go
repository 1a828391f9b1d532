package similaritygraph

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/workloads"
	"scimesh.dev/scimesh/workloads/blocks"
	"scimesh.dev/scimesh/workloads/csvfile"
	"scimesh.dev/scimesh/workloads/extsort"
	"scimesh.dev/scimesh/workloads/shards"
)

// Reduce checks the blocks once more and merges the edges of all their pairs.
func (w *Workload) Reduce(ctx context.Context, req workloads.ReduceRequest) (_ workloads.ReduceResult, err error) {
	r := &reducer{ctx: ctx, req: req, ledger: shards.NewLedger()}
	p, c, err := decodeTask(req.Shared)
	if err != nil {
		return workloads.ReduceResult{}, err
	}
	r.criterion, r.maxEdges = c, p.MaxEdges
	if r.notes, err = decodeNotes(req.Notes); err != nil {
		return workloads.ReduceResult{}, err
	}
	if r.rejects, err = shards.NewRejectsMerger(ctx, req.Files, req.PlanRejects, &r.ledger); err != nil {
		return workloads.ReduceResult{}, err
	}
	defer r.rejects.Abort()
	if err := r.gather(); err != nil {
		return workloads.ReduceResult{}, err
	}
	return r.finish()
}

// reducer is the state of one reduction.
type reducer struct {
	ctx       context.Context // lives as long as Reduce
	req       workloads.ReduceRequest
	criterion criterion
	maxEdges  int64
	notes     graphNotes
	rejects   *shards.RejectsMerger
	ledger    v1.Ledger

	blocks  []workloads.Partial
	sources []extsort.Open[edge] // of the pairs of blocks
	pairs   int64
	edges   int64
}

// gather reads the blocks and takes note of the pairs, each of which must be
// there once and in order.
func (r *reducer) gather() error {
	planned := slices.Collect(r.notes.pairs)
	n := len(r.notes.Molecules)
	if r.req.Tasks != n+len(planned) {
		return workloads.Errorf(workloads.ReasonLedgerMismatch, "%d tasks for %d blocks", r.req.Tasks, n)
	}
	next := 0
	for partial, err := range r.req.Partials {
		if err != nil {
			return err
		}
		if int(partial.ChunkIndex) != next || next >= r.req.Tasks {
			return fmt.Errorf("partial result of chunk %d where chunk %d was expected", partial.ChunkIndex, next)
		}
		if next < n {
			err = r.block(partial)
		} else {
			err = r.pair(partial, planned[next-n])
		}
		if err != nil {
			return err
		}
		next++
	}
	if next != r.req.Tasks {
		return fmt.Errorf("%d partial results of %d tasks", next, r.req.Tasks)
	}
	if want := pairsOf(r.ledger.Scored, false); r.pairs != want {
		return workloads.Errorf(workloads.ReasonLedgerMismatch,
			"the tasks compare %d pairs; %d molecules have %d", r.pairs, r.ledger.Scored, want)
	}
	if r.rejects.More() || r.req.RowsRead >= 0 && r.ledger.RowsRead != r.req.RowsRead {
		return workloads.Errorf(workloads.ReasonLedgerMismatch,
			"the tasks account for %d rows, the planner read %d", r.ledger.RowsRead, r.req.RowsRead)
	}
	return nil
}

// block accounts for the rows of a block.
func (r *reducer) block(partial workloads.Partial) error {
	l, err := readBlock(r.ctx, partial, r.rejects.RowMap, r.req.RowsRead < 0, func(b blocks.Record, row int64) error {
		if b.Reject == "" {
			return nil
		}
		return r.rejects.RejectAt(row, b.ID, b.Reject)
	})
	if err != nil {
		return err
	}
	if want := r.notes.Molecules[partial.ChunkIndex]; l.Scored != want {
		return broken(r.ctx, partial, workloads.Errorf(workloads.ReasonPartialCorrupt, "%d molecules, and %d when the pairs were planned", l.Scored, want))
	}
	shards.AddLedger(&r.ledger, l)
	r.blocks = append(r.blocks, partial)
	return nil
}

// pair notes the result of a pair of blocks, to be opened in its turn.
func (r *reducer) pair(partial workloads.Partial, p pair) error {
	if !isPair(partial.Notes, p) {
		return workloads.Errorf(workloads.ReasonLedgerMismatch, "task %d is not the pair of blocks %d and %d", partial.ChunkIndex, p.Left, p.Right)
	}
	check := edgeReader{criterion: r.criterion, pair: p, left: r.notes.Molecules[p.Left], right: r.notes.Molecules[p.Right]}
	r.pairs += check.pairs()
	r.sources = append(r.sources, func() (extsort.Stream[edge], error) { return openEdges(r.ctx, partial, check) })
	return nil
}

// isPair reports whether the notes of a task are of that pair.
func isPair(notes json.RawMessage, p pair) bool {
	var got pair
	return json.Unmarshal(notes, &got) == nil && got == p
}

// edgeStream is the result of one pair of blocks being read.
type edgeStream struct {
	edgeReader
	ctx     context.Context // lives as long as Reduce
	partial workloads.Partial
	file    io.ReadCloser
	in      *shards.ContextReader
}

func openEdges(ctx context.Context, partial workloads.Partial, check edgeReader) (extsort.Stream[edge], error) {
	file, err := partial.Open(ctx)
	if err != nil {
		return nil, broken(ctx, partial, err)
	}
	s := &edgeStream{edgeReader: check, ctx: ctx, partial: partial, file: file, in: &shards.ContextReader{Ctx: ctx, R: file}}
	s.csv = csvfile.NewReader(bufio.NewReaderSize(s.in, 64<<10), maxRecordBytes)
	if err := s.header(); err != nil {
		_ = file.Close() // it was only read
		return nil, badPartial(ctx, partial, s.in, err)
	}
	return s, nil
}

// Next implements extsort.Stream. What is wrong is a PartialError.
func (s *edgeStream) Next() (edge, error) {
	e, err := s.edgeReader.Next()
	if err == nil || errors.Is(err, io.EOF) && s.in.Err == nil {
		return e, err
	}
	return e, badPartial(s.ctx, s.partial, s.in, err)
}

// Close implements extsort.Stream.
func (s *edgeStream) Close() error {
	_ = s.file.Close() // it was only read
	return nil
}

// finish merges the edges into the result.
func (r *reducer) finish() (workloads.ReduceResult, error) {
	var out shards.Output
	if err := out.Create(r.ctx, r.req.Files, "result.csv", shards.CSVType); err != nil {
		return workloads.ReduceResult{}, err
	}
	defer out.Abort()
	if err := out.Add(csvfile.AppendRecord(nil, "source_id", "target_id", "similarity"), "", nil, ""); err != nil {
		return workloads.ReduceResult{}, err
	}
	w := &resultWriter{out: &out}
	shape := newShape(r.ledger.Scored, r.req.Formats)
	err := r.merge(func(e edge) error {
		shape.join(e)
		return w.edge(e)
	})
	if err != nil {
		return workloads.ReduceResult{}, err
	}
	r.edges = w.edges
	outputs, err := r.writeFormats(shape)
	if err != nil {
		return workloads.ReduceResult{}, err
	}
	rejects, err := r.rejects.Commit()
	if err != nil {
		return workloads.ReduceResult{}, err
	}
	result, err := out.Commit()
	if err != nil {
		return workloads.ReduceResult{}, err
	}
	r.ledger.PairsChecked = r.pairs
	return workloads.ReduceResult{
		Result: result, Rows: r.edges, Ledger: r.ledger, Rejects: rejects, RejectRows: r.rejects.Rows(),
		Outputs: outputs,
	}, nil
}

// merge calls emit with all edges in the order of the result.
func (r *reducer) merge(emit func(edge) error) error {
	merger := extsort.Merger[edge]{Dir: r.req.TempDir, Compare: compareEdges, Codec: edgeCodec}
	return merger.Merge(r.ctx, r.sources, emit)
}

// resultWriter writes the final file.
type resultWriter struct {
	out   *shards.Output
	line  []byte
	edges int64
	last  edge
}

func (w *resultWriter) edge(e edge) error {
	if w.edges > 0 && compareEdges(w.last, e) >= 0 {
		return workloads.Errorf(workloads.ReasonLedgerMismatch, "the pair %q and %q is there twice", v1.Quote(string(e.sourceID)), v1.Quote(string(e.targetID)))
	}
	w.edges++
	w.last.sourceID, w.last.targetID = append(w.last.sourceID[:0], e.sourceID...), append(w.last.targetID[:0], e.targetID...)
	b := appendText(w.line[:0], e.sourceID)
	b = appendText(append(b, ','), e.targetID)
	b = e.similarity(append(b, ','))
	w.line = append(b, '\r', '\n')
	return w.out.Add(w.line, "", nil, "")
}
