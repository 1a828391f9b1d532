package similaritygraph

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/workloads"
	"scimesh.dev/scimesh/workloads/blocks"
	"scimesh.dev/scimesh/workloads/shards"
	"scimesh.dev/scimesh/workloads/table"
)

// checkEvery is how many rows are read between looks at the context.
const checkEvery = 1024

// ReasonTooManyEdges says that a Job would have more edges than are allowed.
const ReasonTooManyEdges = "TooManyEdges"

// Plan reads the input once and cuts it into the shards of the first stage.
func (w *Workload) Plan(ctx context.Context, req workloads.PlanRequest) (workloads.Plan, error) {
	var p parameters
	if err := json.Unmarshal(req.Parameters, &p); err != nil {
		return workloads.Plan{}, fmt.Errorf("similarity-graph parameters: %w", err)
	}
	task := taskParameters{Threshold: p.Threshold, ThresholdDirection: p.ThresholdDirection, MaxEdges: w.maxEdges}
	if req.Open == nil {
		return planChunks(req, p, task)
	}
	rows := p.BlockSize
	if rows == 0 {
		if rows = req.Sharding.Rows; rows > maxBlockSize {
			return workloads.Plan{}, workloads.Errorf(workloads.ReasonInvalidParameters,
				"sharding.rows of %d makes blocks of more than %d rows; set block_size", rows, maxBlockSize)
		}
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
	if err := shards.CheckType(layout.Fingerprints, blocks.Type); err != nil {
		return workloads.Plan{}, err
	}

	cutter := shards.NewCutter(ctx, req.Files, rows)
	defer cutter.Abort()
	if layout.Fingerprints != nil {
		cutter.CutFingerprints(blocks.Type)
	}
	sample := newSample()
	if err := scan(ctx, r, p.MaxRows, req.Progress, func(row table.Row) error {
		sample.see(row)
		if err := cutter.Add(row); err != nil {
			return err
		}
		return checkBlocks(cutter.Shards(), rows)
	}); err != nil {
		return workloads.Plan{}, err
	}
	cut, err := cutter.Finish()
	if err != nil {
		return workloads.Plan{}, err
	}
	e, err := sample.estimate(ctx, p)
	if err != nil {
		return workloads.Plan{}, err
	}
	if e.edges > w.maxEdges {
		return workloads.Plan{}, workloads.Errorf(ReasonTooManyEdges,
			"about %d edges are expected, going by %d molecules; %d are allowed: choose a stricter threshold, or fewer rows with max_rows",
			e.edges, e.sampled, w.maxEdges)
	}
	return workloads.Plan{
		Tasks: cut.Tasks, Shared: encode(task), Notes: shards.EmptyObject, RowsRead: cut.RowsRead, Rejects: cut.Rejects,
		More: true, Summary: fmt.Sprintf("%s; input: %s", e.summary(cut.RowsRead, len(cut.Tasks)), layout),
	}, nil
}

// scan gives the first maxRows rows (0: all) to take.
func scan(ctx context.Context, r *table.Reader, maxRows int64, progress func(int64), take func(table.Row) error) error {
	for n := 0; maxRows == 0 || r.Rows() < maxRows; n++ {
		if n%checkEvery == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
			if progress != nil {
				progress(r.Offset())
			}
		}
		row, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if err := take(row); err != nil {
			return err
		}
	}
	if progress != nil {
		progress(r.Offset())
	}
	if r.Rows() == 0 {
		return workloads.Errorf(workloads.ReasonInputInvalid, "the input has a header but no rows")
	}
	return nil
}

// pairsOf is the number of pairs of so many things, each with itself or not.
func pairsOf[N int | int64](n N, itself bool) N {
	if itself {
		return n * (n + 1) / 2
	}
	return n * (n - 1) / 2
}

// checkBlocks refuses blocks whose pairs are too many tasks.
func checkBlocks(n int, rows int64) error {
	if n+pairsOf(n, true) > shards.MaxTasks {
		return workloads.Errorf(workloads.ReasonInvalidParameters,
			"blocks of %d rows have more than %d pairs; choose a larger block_size", rows, shards.MaxTasks)
	}
	return nil
}

// planChunks makes a block of each chunk. Nothing of them can be read here.
func planChunks(req workloads.PlanRequest, p parameters, task taskParameters) (workloads.Plan, error) {
	n := len(req.Chunks)
	switch {
	case p.MaxRows > 0 || p.BlockSize > 0:
		return workloads.Plan{}, workloads.Errorf(workloads.ReasonInvalidParameters,
			"max_rows and block_size cannot be used with an input of chunks, each of which is a block")
	case n == 0 || n+pairsOf(n, true) > shards.MaxTasks:
		return workloads.Plan{}, workloads.Errorf(workloads.ReasonInvalidParameters,
			"an input of chunks must have at least one, and its pairs of chunks must be fewer than %d", shards.MaxTasks)
	}
	if req.Layout != (v1.InputLayout{}) {
		task.Input = &req.Layout
	}
	tasks := make([]workloads.TaskPlan, n)
	for i := range tasks {
		tasks[i] = workloads.TaskPlan{Parameters: shards.EmptyObject, Notes: shards.EmptyObject}
	}
	return workloads.Plan{Tasks: tasks, Shared: encode(task), Notes: shards.EmptyObject, RowsRead: -1, More: true}, nil
}
