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
	"scimesh.dev/scimesh/workloads/shards"
)

// Reduce merges the partial results, each of which it reads once and checks.
func (w *Workload) Reduce(ctx context.Context, req workloads.ReduceRequest) (_ workloads.ReduceResult, err error) {
	r := reducer{ctx: ctx, req: req, ledger: shards.NewLedger()}
	if r.search, err = decodeSearch(req.Shared); err != nil {
		return workloads.ReduceResult{}, err
	}
	queries, err := w.all(&r.search)
	if err != nil {
		return workloads.ReduceResult{}, workloads.Errorf(ReasonQueryInvalid, "%s", err)
	}
	r.goals = r.search.goals(queries)
	r.heaps = newHeaps(r.goals, r.search.TopK)
	if r.rejects, err = shards.NewRejectsMerger(ctx, req.Files, req.PlanRejects, &r.ledger); err != nil {
		return workloads.ReduceResult{}, err
	}
	defer r.rejects.Abort()

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
	goals   []goal
	heaps   []*topK
	rejects *shards.RejectsMerger
	ledger  v1.Ledger
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
	if r.rejects.More() || r.req.RowsRead >= 0 && r.ledger.RowsRead != r.req.RowsRead {
		return workloads.Errorf(workloads.ReasonLedgerMismatch,
			"the tasks account for %d rows, the planner read %d", r.ledger.RowsRead, r.req.RowsRead)
	}
	return nil
}

// merge reads one partial result. What is wrong with it is a PartialError.
func (r *reducer) merge(partial workloads.Partial) error {
	if err := r.rejects.Begin(partial.ChunkIndex, partial.Notes, r.req.RowsRead < 0); err != nil {
		return err
	}
	file, err := partial.Open(r.ctx)
	if err != nil {
		return r.broken(partial, err)
	}
	defer file.Close()
	in := &shards.ContextReader{Ctx: r.ctx, R: file}
	p, err := newPartialReader(in, &r.search, r.goals)
	for err == nil {
		var rec record
		if rec, err = p.next(); err != nil {
			break
		}
		if rec.kind == kindHit {
			r.heaps[rec.goal].offer(rec.common, rec.union, rec.id, rec.smiles)
		} else if err := r.rejects.Reject(rec.row, rec.id, rec.reason); err != nil {
			return err
		}
	}
	switch {
	case in.Err != nil:
		return r.broken(partial, in.Err)
	case !errors.Is(err, io.EOF):
		return r.broken(partial, workloads.Errorf(workloads.ReasonPartialCorrupt, "%v", err))
	}
	l := p.ledger()
	shards.AddLedger(&r.ledger, l)
	return r.rejects.End(partial.ChunkIndex, l.RowsRead)
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
	var out shards.Output
	if err := out.Create(r.ctx, r.req.Files, "result.csv", shards.CSVType); err != nil {
		return workloads.ReduceResult{}, err
	}
	defer out.Abort()
	rows, err := r.write(&out)
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
	return workloads.ReduceResult{
		Result: result, Rows: rows, Ledger: r.ledger,
		Rejects: rejects, RejectRows: r.rejects.Rows(),
	}, nil
}

// write writes the hits of every query, in the order of the queries, whose ids come
// first where there are many of them.
func (r *reducer) write(out *shards.Output) (rows int64, err error) {
	fields := []string{"query_id", "rank", "chembl_id", "canonical_smiles", "similarity"}
	from := 1
	if r.search.Queries != nil {
		from = 0
	}
	line := csvfile.AppendRecord(nil, fields[from:]...)
	for g, hits := range sortedHits(r.heaps) {
		for i, h := range hits {
			if from == 0 {
				fields[0] = *r.goals[g].id
			}
			fields[1], fields[2], fields[3] = strconv.Itoa(i+1), h.id, h.smiles
			fields[4] = r.goals[g].order.measure.format(h.common, h.union)
			line = csvfile.AppendRecord(line, fields[from:]...)
			if err := out.Add(line, "", nil, ""); err != nil {
				return rows, err
			}
			line = line[:0]
			rows++
		}
	}
	return rows, out.Add(line, "", nil, "") // the header, if there was no hit
}
