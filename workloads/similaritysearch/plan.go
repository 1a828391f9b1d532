package similaritysearch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"scimesh.dev/scimesh/workloads"
	"scimesh.dev/scimesh/workloads/table"
)

const (
	// defaultRows is the size of a shard if the Job does not say.
	defaultRows = 100_000
	// maxTasks bounds the tasks of a Job, which the plan holds in memory.
	maxTasks = 100_000
	// checkEvery is how many rows are read between looks at the context.
	checkEvery = 1024
)

// taskNotes are what the reducer has to know of a shard: it holds Rows of the
// Span input rows from FirstRow on; the others are in the plan's rejects.
type taskNotes struct {
	FirstRow int64 `json:"first_row"`
	Rows     int64 `json:"rows"`
	Span     int64 `json:"span"`
}

var emptyObject = json.RawMessage(`{}`)

// Plan reads the input once, cuts it into shards and finds the query.
func (w *Workload) Plan(ctx context.Context, req workloads.PlanRequest) (workloads.Plan, error) {
	var p parameters
	if err := json.Unmarshal(req.Parameters, &p); err != nil {
		return workloads.Plan{}, fmt.Errorf("similarity-search parameters: %w", err)
	}
	if req.Open == nil {
		return w.planChunks(req, p)
	}
	in, err := req.Open(ctx)
	if err != nil {
		return workloads.Plan{}, err
	}
	defer in.Close()
	r, err := table.NewReader(&contextReader{ctx: ctx, r: in}, table.Options{})
	if err != nil {
		return workloads.Plan{}, err
	}
	defer r.Close()

	s := newSharder(ctx, req.Files, req.Sharding.Rows)
	defer s.abort()
	finder := newFinder(w, p.QueryID)
	if err := scan(ctx, r, p.MaxRows, s, finder, req.Progress); err != nil {
		return workloads.Plan{}, err
	}
	if p.QuerySMILES == nil {
		if p.QuerySMILES, err = finder.result(); err != nil {
			return workloads.Plan{}, err
		}
	}
	return s.plan(p)
}

// scan gives the first maxRows rows (0: all) to the sharder, and all rows to
// the finder until it is done.
func scan(ctx context.Context, r *table.Reader, maxRows int64, s *sharder, f *finder, progress func(int64)) error {
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
			if err := s.add(row); err != nil {
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
	case len(req.Chunks) == 0 || len(req.Chunks) > maxTasks:
		return refuse(fmt.Sprintf("an input of chunks must have 1 to %d of them", maxTasks))
	}
	tasks := make([]workloads.TaskPlan, len(req.Chunks))
	for i := range tasks {
		tasks[i] = workloads.TaskPlan{Parameters: emptyObject, Notes: emptyObject}
	}
	return workloads.Plan{Tasks: tasks, Shared: p.encode(), Notes: emptyObject, RowsRead: -1}, nil
}

// contextReader stops reading when its context ends, and remembers the first
// error of reading, to tell it from what is wrong with what was read.
type contextReader struct {
	ctx context.Context // lives as long as the call that got it
	r   io.Reader
	err error
}

func (r *contextReader) Read(p []byte) (int, error) {
	if r.err = r.ctx.Err(); r.err != nil {
		return 0, r.err
	}
	n, err := r.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		r.err = err
	}
	return n, err
}
