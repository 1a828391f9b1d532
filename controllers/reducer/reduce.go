package reducer

import (
	"context"
	"errors"
	"fmt"
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

// reduce does the step under its lease.
func (r *Reconciler) reduce(ctx context.Context, job store.Job, token store.StepToken) error {
	begin := time.Now()
	result, err := r.merge(ctx, job)
	if partial, ok := errors.AsType[*workloads.PartialError](err); ok {
		r.log.Warn("partial result cannot be used", zap.String("job_id", job.ID.String()), zap.Int32("chunk_index", partial.ChunkIndex), zap.Error(partial.Err))
		return r.store.RetryPartial(ctx, token, partial.ChunkIndex, workloads.ReasonPartialCorrupt, blobfiles.PartialMessage(partial.Err))
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
		Tasks: int(job.Tasks.Total), Partials: files.Partials(ctx, r.store, job.ID), Files: files, Formats: job.Spec.Output.Formats,
	}
	if rejects := job.Plan.Rejects; rejects != nil {
		req.PlanRejects = files.Opener(artifacts.Blob{SHA256: rejects.SHA256, SizeBytes: rejects.SizeBytes})
	}
	return w.Reduce(ctx, req)
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
	for _, f := range result.Outputs {
		params.Outputs = append(params.Outputs, blobfiles.Ref(f))
	}
	if result.Rejects != nil {
		rejects := blobfiles.Ref(*result.Rejects)
		params.Rejects = &rejects
	}
	return params
}
