package reducer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"

	"go.uber.org/zap"
	"k8s.io/apimachinery/pkg/util/validation/field"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/artifacts"
	"scimesh.dev/scimesh/controllers/blobfiles"
	"scimesh.dev/scimesh/controllers/jobstep"
	"scimesh.dev/scimesh/store"
	"scimesh.dev/scimesh/workloads"
)

// resultsPage is how many partial results are listed at a time.
const resultsPage = 500

// reduce does the step under its lease.
func (r *Reconciler) reduce(ctx context.Context, job store.Job, token store.StepToken) error {
	begin := time.Now()
	result, err := r.merge(ctx, job)
	if partial, ok := errors.AsType[*workloads.PartialError](err); ok {
		r.log.Warn("partial result cannot be used", zap.String("job_id", job.ID.String()), zap.Int32("chunk_index", partial.ChunkIndex), zap.Error(partial.Err))
		return r.store.RetryPartial(ctx, token, partial.ChunkIndex, workloads.ReasonPartialCorrupt, partialMessage(partial.Err))
	}
	if err != nil {
		return err
	}
	if err := r.store.FinishReduce(ctx, token, finishParams(job, result)); err != nil {
		return err
	}
	r.log.Info("job completed", zap.String("job_id", job.ID.String()), zap.Int64("rows", result.Rows), zap.Duration("took", time.Since(begin)))
	return nil
}

// partialMessage says what is wrong with a partial result, for users.
func partialMessage(err error) string {
	var user *workloads.Error
	switch {
	case errors.As(err, &user):
		return user.Message
	case errors.Is(err, artifacts.ErrCorrupt):
		return "the stored partial result differs from its checksum"
	case errors.Is(err, artifacts.ErrNotFound):
		return "the stored partial result is gone"
	}
	return "the stored partial result cannot be read"
}

// merge has the workload reduce the Job.
func (r *Reconciler) merge(ctx context.Context, job store.Job) (workloads.ReduceResult, error) {
	w, ok := r.workloads.Get(job.Spec.Workload)
	if !ok {
		return workloads.ReduceResult{}, workloads.Errorf(v1.ReasonUnknownWorkload, "this coordinator does not have the workload %q", job.Spec.Workload)
	}
	parameters, faults := w.Validate(field.NewPath("spec", "parameters"), job.Spec.Parameters)
	if len(faults) > 0 {
		return workloads.ReduceResult{}, workloads.Errorf(workloads.ReasonInvalidParameters, "%v", faults.ToAggregate())
	}
	if job.Plan == nil {
		return workloads.ReduceResult{}, workloads.Errorf(v1.ReasonReductionFailed, "the plan of the job is missing")
	}
	files := blobfiles.Files{Store: r.artifacts}
	req := workloads.ReduceRequest{
		Parameters: parameters, Shared: job.Plan.Shared, Notes: job.Plan.Notes, RowsRead: job.Plan.RowsRead,
		Tasks: int(job.Tasks.Total), Partials: r.partials(ctx, job, files), Files: files,
	}
	if rejects := job.Plan.Rejects; rejects != nil {
		req.PlanRejects = files.Opener(artifacts.Blob{SHA256: rejects.SHA256, SizeBytes: rejects.SizeBytes})
	}
	return w.Reduce(ctx, req)
}

// partials yields the partial results in order of chunk index, a page at a
// time. An error in opening or reading one names its chunk.
func (r *Reconciler) partials(ctx context.Context, job store.Job, files blobfiles.Files) iter.Seq2[workloads.Partial, error] {
	return func(yield func(workloads.Partial, error) bool) {
		for after := int32(-1); ; {
			page, err := r.store.ListCompletedResults(ctx, job.ID, after, resultsPage)
			if err != nil {
				yield(workloads.Partial{}, fmt.Errorf("list partial results: %w", err))
				return
			}
			for _, p := range page {
				after = p.ChunkIndex
				if !yield(partial(p, files), nil) {
					return
				}
			}
			if len(page) < resultsPage {
				return
			}
		}
	}
}

func partial(p store.PartialResult, files blobfiles.Files) workloads.Partial {
	open := files.Opener(artifacts.Blob{SHA256: p.Artifact.SHA256, SizeBytes: p.Artifact.SizeBytes})
	return workloads.Partial{ChunkIndex: p.ChunkIndex, Notes: p.Notes, Open: func(ctx context.Context) (io.ReadCloser, error) {
		f, err := open(ctx)
		if err != nil {
			return nil, blobError(p.ChunkIndex, err)
		}
		return &partialReader{ReadCloser: f, chunk: p.ChunkIndex}, nil
	}}
}

// partialReader names the chunk in the error of a damaged blob, whatever the workload makes of it.
type partialReader struct {
	io.ReadCloser
	chunk int32
}

func (p *partialReader) Read(b []byte) (int, error) {
	n, err := p.ReadCloser.Read(b)
	if err == nil || errors.Is(err, io.EOF) {
		return n, err
	}
	return n, blobError(p.chunk, err)
}

// blobError tells a damaged or missing blob, which the task has to make again,
// from a fault of the machine, which passes.
func blobError(chunk int32, err error) error {
	if errors.Is(err, artifacts.ErrCorrupt) || errors.Is(err, artifacts.ErrNotFound) {
		return &workloads.PartialError{ChunkIndex: chunk, Err: err}
	}
	return fmt.Errorf("partial result of chunk %d: %w", chunk, err)
}

func finishParams(job store.Job, result workloads.ReduceResult) store.FinishReduceParams {
	message := fmt.Sprintf("%d rows from %d partial results", result.Rows, job.Tasks.Total)
	params := store.FinishReduceParams{
		Result: blobfiles.Ref(result.Result), Rows: result.Rows, Ledger: result.Ledger, RejectRows: result.RejectRows,
		Conditions: []v1.Condition{
			jobstep.Observed(job, v1.JobConditionReduced, v1.ConditionTrue, v1.ReasonReduced, message),
			jobstep.Observed(job, v1.JobConditionComplete, v1.ConditionTrue, v1.ReasonReduced, message),
		},
	}
	if result.Rejects != nil {
		rejects := blobfiles.Ref(*result.Rejects)
		params.Rejects = &rejects
	}
	return params
}
