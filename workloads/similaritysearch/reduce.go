package similaritysearch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/workloads"
	"scimesh.dev/scimesh/workloads/csvfile"
)

// Reduce merges the partial results, each of which it reads once and checks.
func (w *Workload) Reduce(ctx context.Context, req workloads.ReduceRequest) (_ workloads.ReduceResult, err error) {
	r := reducer{ctx: ctx, req: req, ledger: newLedger()}
	if r.search, err = decodeSearch(req.Shared); err != nil {
		return workloads.ReduceResult{}, err
	}
	r.hits = newTopK(r.search.order, r.search.TopK)
	planned, closePlanned, err := r.openPlanRejects()
	if err != nil {
		return workloads.ReduceResult{}, err
	}
	defer closePlanned()
	r.rejects = newRejectsMerger(ctx, req.Files, planned, &r.ledger)
	defer r.rejects.abort()

	if err := r.mergeAll(); err != nil {
		return workloads.ReduceResult{}, err
	}
	return r.finish()
}

// reducer is the state of one reduction.
type reducer struct {
	ctx     context.Context // lives as long as Reduce
	req     workloads.ReduceRequest
	search  search
	hits    *topK
	rejects *rejectsMerger
	ledger  v1.Ledger
}

func (r *reducer) openPlanRejects() (_ *planRejects, closeFile func(), err error) {
	if r.req.PlanRejects == nil {
		planned, err := newPlanRejects(nil)
		return planned, func() {}, err
	}
	file, err := r.req.PlanRejects(r.ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("open planner's rejects: %w", err)
	}
	planned, err := newPlanRejects(&contextReader{ctx: r.ctx, r: file})
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	return planned, func() { file.Close() }, nil
}

func (r *reducer) mergeAll() error {
	next := int32(0)
	for partial, err := range r.req.Partials {
		if err != nil {
			return err
		}
		if partial.ChunkIndex != next {
			return fmt.Errorf("partial result of chunk %d where chunk %d was expected", partial.ChunkIndex, next)
		}
		if err := r.merge(partial); err != nil {
			return err
		}
		next++
	}
	if int(next) != r.req.Tasks {
		return fmt.Errorf("%d partial results of %d tasks", next, r.req.Tasks)
	}
	if r.rejects.planned.more || r.req.RowsRead >= 0 && r.ledger.RowsRead != r.req.RowsRead {
		return workloads.Errorf(workloads.ReasonLedgerMismatch,
			"the tasks account for %d rows, the planner read %d", r.ledger.RowsRead, r.req.RowsRead)
	}
	return nil
}

// merge reads one partial result. What is wrong with it is a PartialError.
func (r *reducer) merge(partial workloads.Partial) error {
	if err := r.rejects.begin(partial.ChunkIndex, partial.Notes, r.req.RowsRead < 0); err != nil {
		return err
	}
	file, err := partial.Open(r.ctx)
	if err != nil {
		return r.broken(partial, err)
	}
	defer file.Close()
	in := &contextReader{ctx: r.ctx, r: file}
	p, err := newPartialReader(in, &r.search)
	for err == nil {
		var rec record
		if rec, err = p.next(); err != nil {
			break
		}
		if rec.kind == kindHit {
			r.hits.offer(rec.common, rec.union, rec.id, rec.smiles)
		} else if err := r.rejects.shardReject(rec.row, rec.id, rec.reason); err != nil {
			return err
		}
	}
	switch {
	case in.err != nil:
		return r.broken(partial, in.err)
	case !errors.Is(err, io.EOF):
		return r.broken(partial, workloads.Errorf(workloads.ReasonPartialCorrupt, "%v", err))
	}
	l := p.ledger()
	addLedger(&r.ledger, l)
	return r.rejects.end(partial.ChunkIndex, l.RowsRead)
}

// broken blames a partial result, unless the reduction itself was ended.
func (r *reducer) broken(partial workloads.Partial, err error) error {
	if ended := r.ctx.Err(); ended != nil {
		return ended
	}
	return &workloads.PartialError{ChunkIndex: partial.ChunkIndex, Err: err}
}

// finish writes the result.
func (r *reducer) finish() (workloads.ReduceResult, error) {
	var out output
	if err := out.create(r.ctx, r.req.Files, "result.csv", csvType); err != nil {
		return workloads.ReduceResult{}, err
	}
	defer out.abort()
	hits := r.hits.sorted()
	line := csvfile.AppendRecord(nil, "rank", "chembl_id", "canonical_smiles", "similarity")
	for i, h := range hits {
		line = csvfile.AppendRecord(line, strconv.Itoa(i+1), h.id, h.smiles, h.similarity())
		if err := out.add(line, "", nil, ""); err != nil {
			return workloads.ReduceResult{}, err
		}
		line = line[:0]
	}
	if err := out.add(line, "", nil, ""); err != nil { // the header, if there was no hit
		return workloads.ReduceResult{}, err
	}
	rejects, err := r.rejects.commit()
	if err != nil {
		return workloads.ReduceResult{}, err
	}
	result, err := out.commit()
	if err != nil {
		return workloads.ReduceResult{}, err
	}
	return workloads.ReduceResult{
		Result: result, Rows: int64(len(hits)), Ledger: r.ledger,
		Rejects: rejects, RejectRows: r.rejects.rows,
	}, nil
}
