package similaritysearch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/workloads"
	"scimesh.dev/scimesh/workloads/shards"
	"scimesh.dev/scimesh/workloads/table"
)

// checkEvery is how many rows are read between looks at the context.
const checkEvery = 1024

// Plan reads the input once, cuts it into shards and finds the query.
func (w *Workload) Plan(ctx context.Context, req workloads.PlanRequest) (workloads.Plan, error) {
	var p parameters
	if err := json.Unmarshal(req.Parameters, &p); err != nil {
		return workloads.Plan{}, fmt.Errorf("similarity-search parameters: %w", err)
	}
	if err := w.load(ctx, &p, req.OpenFile); err != nil {
		return workloads.Plan{}, err
	}
	if req.Open == nil {
		return w.planChunks(req, p)
	}
	in, err := req.Open(ctx)
	if err != nil {
		return workloads.Plan{}, err
	}
	defer in.Close()
	r, err := table.NewReader(&shards.ContextReader{Ctx: ctx, R: in}, table.OptionsFor(req.Layout))
	if err != nil {
		return workloads.Plan{}, err
	}
	defer r.Close()
	layout := r.Layout()
	if err := shards.CheckType(layout.Fingerprints, p.kind()); err != nil {
		return workloads.Plan{}, err
	}

	s := shards.NewCutter(ctx, req.Files, req.Sharding.Rows)
	defer s.Abort()
	if layout.Fingerprints != nil {
		s.CutFingerprints(p.kind())
	}
	finder := newFinder(w, p.kind(), p.QueryID)
	if err := scan(ctx, r, p.MaxRows, s, finder, req.Progress); err != nil {
		return workloads.Plan{}, err
	}
	if err := finder.result(&p); err != nil {
		return workloads.Plan{}, err
	}
	cut, err := s.Finish()
	if err != nil {
		return workloads.Plan{}, err
	}
	p.MaxRows = 0
	return workloads.Plan{
		Tasks: cut.Tasks, Shared: p.encode(), Notes: shards.EmptyObject, RowsRead: cut.RowsRead, Rejects: cut.Rejects,
		Summary: fmt.Sprintf("%d input rows in %d tasks; input: %s", cut.RowsRead, len(cut.Tasks), layout),
	}, nil
}

// scan gives the first maxRows rows (0: all) to the cutter, and all rows to
// the finder until it is done.
func scan(ctx context.Context, r *table.Reader, maxRows int64, s *shards.Cutter, f *finder, progress func(int64)) error {
	for n := 0; ; n++ {
		if n%checkEvery == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
			if progress != nil {
				progress(r.Offset())
			}
		}
		beyond := maxRows > 0 && r.Rows() >= maxRows
		if beyond && f.done() {
			return nil
		}
		row, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if !beyond {
			if err := s.Add(row); err != nil {
				return err
			}
		}
		f.see(row)
	}
	if progress != nil {
		progress(r.Offset())
	}
	if r.Rows() == 0 {
		return workloads.Errorf(workloads.ReasonInputInvalid, "the input has a header but no rows")
	}
	return nil
}

// planChunks makes a task of each chunk. Nothing of them can be read here.
func (w *Workload) planChunks(req workloads.PlanRequest, p parameters) (workloads.Plan, error) {
	refuse := func(what string) (workloads.Plan, error) {
		return workloads.Plan{}, workloads.Errorf(workloads.ReasonInvalidParameters, "%s", what)
	}
	switch {
	case p.QueryID != nil:
		return refuse("query_id cannot be looked up in an input of chunks, which only workers read; use query_smiles")
	case p.MaxRows > 0:
		return refuse("max_rows cannot be used with an input of chunks, whose rows are not known beforehand")
	case len(req.Chunks) == 0 || len(req.Chunks) > shards.MaxTasks:
		return refuse(fmt.Sprintf("an input of chunks must have 1 to %d of them", shards.MaxTasks))
	}
	if req.Layout != (v1.InputLayout{}) {
		p.Input = &req.Layout
	}
	tasks := make([]workloads.TaskPlan, len(req.Chunks))
	for i := range tasks {
		tasks[i] = workloads.TaskPlan{Parameters: shards.EmptyObject, Notes: shards.EmptyObject}
	}
	return workloads.Plan{Tasks: tasks, Shared: p.encode(), Notes: shards.EmptyObject, RowsRead: -1}, nil
}
