// Package local runs a whole Job in this process, without a server: plan,
// every task, reduce. It is the reference for what a distributed run must
// give, byte for byte, and what `scimesh run` does.
//
// Shards and partial results are temporary files, so memory is that of the
// workload's own parts; disk use is about the size of the uncompressed input.
package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/workloads"
)

// Request is a Job to run.
type Request struct {
	Workload workloads.Workload
	// Plan is the request to plan; its Files are ignored. Its Parameters have
	// passed Validate.
	Plan workloads.PlanRequest
	// OpenChunk opens an input of Plan.Chunks; nil if there are none.
	OpenChunk func(ctx context.Context, c v1.InputChunk) (io.ReadCloser, error)
	// TempDir is where a temporary folder is made; "" is the system's.
	TempDir string
	// Threads is how many goroutines compute.
	Threads int
	// Output gets the result, and Rejects, if not nil, the rejects, once both
	// are known to be whole.
	Output, Rejects io.Writer
	// Formats are the files wanted beside the result; Outputs get them.
	Formats []string
	Outputs map[string]io.Writer
	// Order, if not nil, is a permutation of so many numbers: the order in which
	// the tasks of a stage are computed; it must not matter.
	Order func(tasks int) []int
	// Progress, if not nil, is told of each task that has ended.
	Progress func(done, total int)
	// Logf, if not nil, gets the tasks' logs.
	Logf func(format string, args ...any)
}

// Run runs the Job. Output and Rejects get nothing unless all of it succeeds.
func Run(ctx context.Context, req Request) (_ workloads.ReduceResult, err error) {
	path, err := os.MkdirTemp(req.TempDir, "scimesh-run-")
	if err != nil {
		return workloads.ReduceResult{}, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(path)) }()
	r := &runner{req: req, dir: NewDir(path)}
	if err := r.plan(ctx); err != nil {
		return workloads.ReduceResult{}, err
	}
	if err := r.execute(ctx); err != nil {
		return workloads.ReduceResult{}, err
	}
	if r.tasks.More {
		if err := r.extend(ctx); err != nil {
			return workloads.ReduceResult{}, err
		}
		if err := r.execute(ctx); err != nil {
			return workloads.ReduceResult{}, err
		}
	}
	result, err := req.Workload.Reduce(ctx, r.reduceRequest())
	if err != nil {
		return workloads.ReduceResult{}, err
	}
	return result, r.deliver(result)
}

// runner is the state of one run.
type runner struct {
	req      Request
	dir      *Dir
	tasks    workloads.Plan
	partials []workloads.File // of the tasks that are computed, by chunk index
}

func (r *runner) plan(ctx context.Context) (err error) {
	req := r.req.Plan
	req.Files = r.dir
	r.tasks, err = r.req.Workload.Plan(ctx, req)
	return err
}

// extend adds the tasks of the second stage.
func (r *runner) extend(ctx context.Context) error {
	staged, ok := r.req.Workload.(workloads.Staged)
	if !ok {
		return fmt.Errorf("workload %s planned more tasks than it can", r.req.Workload.Name())
	}
	extension, err := staged.Extend(ctx, r.extendRequest())
	if err != nil {
		return err
	}
	r.tasks.Tasks = append(r.tasks.Tasks, extension.Tasks...)
	r.tasks.Notes = extension.Notes
	return nil
}

// execute computes the tasks that have not been computed yet.
func (r *runner) execute(ctx context.Context) error {
	before, total := len(r.partials), len(r.tasks.Tasks)
	r.partials = append(r.partials, make([]workloads.File, total-before)...)
	order := make([]int, total-before)
	for i := range order {
		order[i] = i
	}
	if r.req.Order != nil {
		order = r.req.Order(len(order))
	}
	for done, i := range order {
		if err := r.executeTask(ctx, before+i); err != nil {
			return fmt.Errorf("task %d: %w", before+i, err)
		}
		if r.req.Progress != nil {
			r.req.Progress(before+done+1, total)
		}
	}
	return nil
}

func (r *runner) executeTask(ctx context.Context, i int) error {
	task := r.tasks.Tasks[i]
	parameters, err := workloads.MergeParameters(r.tasks.Shared, task.Parameters)
	if err != nil {
		return err
	}
	in, err := r.openInput(ctx, i)
	if err != nil {
		return err
	}
	defer in.Close()
	others := make([]io.Reader, len(task.Inputs))
	for n, input := range task.Inputs {
		f, err := r.dir.Open(input.SHA256)
		if err != nil {
			return err
		}
		defer f.Close()
		others[n] = f
	}
	out, err := r.dir.Create(ctx, fmt.Sprintf("partial-%05d", i), "")
	if err != nil {
		return err
	}
	defer out.Abort()
	if _, err := r.req.Workload.Execute(ctx, workloads.TaskRequest{
		Input: in, Inputs: others, InputSize: task.Input.SizeBytes, Parameters: parameters, Output: out,
		Threads: max(1, r.req.Threads), TempDir: r.dir.path, Logf: r.req.Logf,
	}); err != nil {
		return err
	}
	r.partials[i], err = out.Commit()
	return err
}

func (r *runner) openInput(ctx context.Context, i int) (io.ReadCloser, error) {
	if input := r.tasks.Tasks[i].Input; input.SHA256 != "" {
		return r.dir.Open(input.SHA256)
	}
	if r.req.OpenChunk == nil || i >= len(r.req.Plan.Chunks) {
		return nil, errors.New("its input cannot be opened in this process")
	}
	return r.req.OpenChunk(ctx, r.req.Plan.Chunks[i])
}

func (r *runner) extendRequest() workloads.ExtendRequest {
	all := r.reduceRequest()
	return workloads.ExtendRequest{
		Parameters: all.Parameters, Shared: all.Shared, Notes: all.Notes, RowsRead: all.RowsRead, PlanRejects: all.PlanRejects,
		Tasks: all.Tasks, Partials: all.Partials, Files: all.Files, TempDir: all.TempDir,
	}
}

func (r *runner) reduceRequest() workloads.ReduceRequest {
	req := workloads.ReduceRequest{
		Parameters: r.req.Plan.Parameters,
		Shared:     r.tasks.Shared, Notes: r.tasks.Notes, RowsRead: r.tasks.RowsRead,
		Tasks: len(r.partials), Partials: r.all(), Files: r.dir, TempDir: r.dir.path, Formats: r.req.Formats,
	}
	if rejects := r.tasks.Rejects; rejects != nil {
		req.PlanRejects = r.opener(*rejects)
	}
	return req
}

// all yields the partial results by chunk index.
func (r *runner) all() iter.Seq2[workloads.Partial, error] {
	return func(yield func(workloads.Partial, error) bool) {
		for i, file := range r.partials {
			p := workloads.Partial{ChunkIndex: int32(i), Notes: r.tasks.Tasks[i].Notes, File: file, Open: r.opener(file)}
			if !yield(p, nil) {
				return
			}
		}
	}
}

func (r *runner) opener(f workloads.File) func(context.Context) (io.ReadCloser, error) {
	return func(context.Context) (io.ReadCloser, error) { return r.dir.Open(f.SHA256) }
}

// deliver copies the final files to where the caller wants them.
func (r *runner) deliver(result workloads.ReduceResult) error {
	if err := r.copyTo(r.req.Output, &result.Result); err != nil {
		return err
	}
	for i := range result.Outputs {
		if err := r.copyTo(r.req.Outputs[r.req.Formats[i]], &result.Outputs[i]); err != nil {
			return err
		}
	}
	return r.copyTo(r.req.Rejects, result.Rejects)
}

func (r *runner) copyTo(w io.Writer, file *workloads.File) error {
	if w == nil || file == nil {
		return nil
	}
	f, err := r.dir.Open(file.SHA256)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(w, f)
	return err
}
