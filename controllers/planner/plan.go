package planner

import (
	"context"
	"errors"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/util/validation/field"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/artifacts"
	"scimesh.dev/scimesh/controllers/blobfiles"
	"scimesh.dev/scimesh/controllers/jobstep"
	"scimesh.dev/scimesh/store"
	"scimesh.dev/scimesh/workloads"
)

// makePlan has the workload plan the Job and puts the plan into the store's form.
func (r *Reconciler) makePlan(ctx context.Context, job store.Job) (store.FinishPlanningParams, error) {
	w, ok := r.workloads.Get(job.Spec.Workload)
	if !ok {
		return store.FinishPlanningParams{}, workloads.Errorf(v1.ReasonUnknownWorkload,
			"this coordinator does not have the workload %q", job.Spec.Workload)
	}
	parameters, faults := w.Validate(field.NewPath("spec", "parameters"), job.Spec.Parameters)
	faults = append(faults, workloads.ValidateFormats(w, field.NewPath("spec", "output", "formats"), job.Spec.Output.Formats)...)
	if len(faults) > 0 {
		return store.FinishPlanningParams{}, workloads.Errorf(workloads.ReasonInvalidParameters, "%v", faults.ToAggregate())
	}
	files := blobfiles.Files{Store: r.artifacts}
	req := workloads.PlanRequest{Parameters: parameters, Sharding: job.Spec.Sharding, Files: files, Chunks: job.Spec.Input.Chunks,
		Layout: job.Spec.Input.InputLayout}
	req.OpenFile = func(ctx context.Context, sha256 string) (io.ReadCloser, error) {
		a, err := r.store.FindArtifact(ctx, sha256)
		if errors.Is(err, store.ErrNotFound) {
			return nil, workloads.Errorf(workloads.ReasonInvalidParameters, "the file of SHA-256 %s that the parameters name is not there; upload it again", sha256)
		}
		if err != nil {
			return nil, err
		}
		return files.Opener(artifacts.Blob{SHA256: a.SHA256, SizeBytes: a.SizeBytes})(ctx)
	}
	if len(req.Chunks) == 0 {
		if job.Input == nil {
			return store.FinishPlanningParams{}, workloads.Errorf(workloads.ReasonInputInvalid, "the input artifact is gone")
		}
		req.Open = files.Opener(artifacts.Blob{SHA256: job.Input.SHA256, SizeBytes: job.Input.SizeBytes})
	}
	plan, err := w.Plan(ctx, req)
	if err != nil {
		return store.FinishPlanningParams{}, inputError(err)
	}
	return planParams(job, plan)
}

// inputError turns a damaged blob into an error that the user can act on:
// reading it again gives the same.
func inputError(err error) error {
	switch {
	case errors.Is(err, artifacts.ErrCorrupt):
		return workloads.Errorf(workloads.ReasonInputCorrupt, "the stored input differs from its checksum; upload it again")
	case errors.Is(err, artifacts.ErrNotFound):
		return workloads.Errorf(workloads.ReasonInputInvalid, "the stored input is gone; upload it again")
	}
	return err
}

func planParams(job store.Job, plan workloads.Plan) (store.FinishPlanningParams, error) {
	chunks := job.Spec.Input.Chunks
	if len(chunks) > 0 && len(plan.Tasks) != len(chunks) {
		return store.FinishPlanningParams{}, fmt.Errorf("workload %s planned %d tasks for %d chunks", job.Spec.Workload, len(plan.Tasks), len(chunks))
	}
	tasks := plannedTasks(plan.Tasks, len(chunks) == 0)
	for i := range chunks {
		tasks[i].URI, tasks[i].SHA256 = chunks[i].URI, chunks[i].SHA256
	}
	params := store.FinishPlanningParams{
		Tasks: tasks, Shared: plan.Shared, Notes: plan.Notes, RowsRead: plan.RowsRead, More: plan.More,
		Conditions: []v1.Condition{jobstep.Observed(job, v1.JobConditionPlanned, v1.ConditionTrue, v1.ReasonPlanned, message(plan))},
	}
	if plan.Rejects != nil {
		rejects := blobfiles.Ref(*plan.Rejects)
		params.Rejects = &rejects
	}
	return params, nil
}

// plannedTasks puts tasks into the store's form, with their inputs if those are files.
func plannedTasks(plans []workloads.TaskPlan, files bool) []store.PlannedTask {
	tasks := make([]store.PlannedTask, len(plans))
	for i, t := range plans {
		tasks[i] = store.PlannedTask{Parameters: t.Parameters, Notes: t.Notes}
		for _, f := range t.Inputs {
			tasks[i].Inputs = append(tasks[i].Inputs, blobfiles.Ref(f))
		}
		if files {
			input := blobfiles.Ref(t.Input)
			tasks[i].Input, tasks[i].SHA256 = &input, input.SHA256
		}
	}
	return tasks
}

func message(plan workloads.Plan) string {
	if plan.Summary != "" {
		return plan.Summary
	}
	if plan.RowsRead < 0 {
		return fmt.Sprintf("%d tasks", len(plan.Tasks))
	}
	return fmt.Sprintf("%d input rows in %d tasks", plan.RowsRead, len(plan.Tasks))
}
