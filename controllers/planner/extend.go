package planner

import (
	"cmp"
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

// extend plans the tasks that follow from the results of the first ones. A
// result that cannot be used costs its task an attempt, not the Job.
func (r *Reconciler) extend(ctx context.Context, job store.Job, token store.StepToken) error {
	begin := time.Now()
	extension, err := r.makeExtension(ctx, job)
	if partial, ok := errors.AsType[*workloads.PartialError](err); ok {
		r.log.Warn("partial result cannot be used", zap.String("job_id", job.ID.String()), zap.Int32("chunk_index", partial.ChunkIndex), zap.Error(partial.Err))
		return r.store.RetryPartial(ctx, token, partial.ChunkIndex, workloads.ReasonPartialCorrupt, blobfiles.PartialMessage(partial.Err))
	}
	if err != nil {
		return err
	}
	message := cmp.Or(extension.Summary, fmt.Sprintf("%d further tasks", len(extension.Tasks)))
	err = r.store.ExtendPlan(ctx, token, store.ExtendPlanParams{
		Tasks: plannedTasks(extension.Tasks, true), Notes: extension.Notes, More: extension.More,
		Conditions: []v1.Condition{jobstep.Observed(job, v1.JobConditionPlanned, v1.ConditionTrue, v1.ReasonPlanned, message)},
	})
	if err != nil {
		return err
	}
	r.log.Info("job planned further", zap.String("job_id", job.ID.String()), zap.Int("tasks", len(extension.Tasks)), zap.Duration("took", time.Since(begin)))
	return nil
}

// makeExtension has the workload plan the tasks of its second stage.
func (r *Reconciler) makeExtension(ctx context.Context, job store.Job) (workloads.Extension, error) {
	w, ok := r.workloads.Get(job.Spec.Workload)
	if !ok {
		return workloads.Extension{}, workloads.Errorf(v1.ReasonUnknownWorkload,
			"this coordinator does not have the workload %q", job.Spec.Workload)
	}
	staged, ok := w.(workloads.Staged)
	if !ok {
		return workloads.Extension{}, workloads.Errorf(v1.ReasonPlanningFailed,
			"this coordinator's workload %q has no second stage, which the plan asks for", job.Spec.Workload)
	}
	parameters, faults := w.Validate(field.NewPath("spec", "parameters"), job.Spec.Parameters)
	if len(faults) > 0 {
		return workloads.Extension{}, workloads.Errorf(workloads.ReasonInvalidParameters, "%v", faults.ToAggregate())
	}
	files := blobfiles.Files{Store: r.artifacts}
	req := workloads.ExtendRequest{
		Parameters: parameters, Shared: job.Plan.Shared, Notes: job.Plan.Notes, RowsRead: job.Plan.RowsRead,
		Tasks: int(job.Tasks.Total), Partials: files.Partials(ctx, r.store, job.ID), Files: files,
	}
	if rejects := job.Plan.Rejects; rejects != nil {
		req.PlanRejects = files.Opener(artifacts.Blob{SHA256: rejects.SHA256, SizeBytes: rejects.SizeBytes})
	}
	return staged.Extend(ctx, req)
}
