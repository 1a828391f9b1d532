// Package reducer ends a Job whose tasks have ended: it merges the partial
// results into the final file (running → reducing → completed), or fails the
// Job when a task has failed for good.
//
// One coordinator at a time reduces a Job, under a lease on the Job's row. If
// it dies, another reduces again from the same partial results, to the same
// bytes. The final artifact becomes visible together with the Job's end. A
// partial result that cannot be read costs its task an attempt, not the Job:
// the Job returns to running until that task has been computed again.
package reducer

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"go.uber.org/zap"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/artifacts"
	"scimesh.dev/scimesh/controllers/jobstep"
	"scimesh.dev/scimesh/reconcile"
	"scimesh.dev/scimesh/store"
	"scimesh.dev/scimesh/workloads"
)

// Store is what the reducer needs of the database.
type Store interface {
	jobstep.Store
	GetJobByID(ctx context.Context, id uuid.UUID) (store.Job, error)
	ListTasks(ctx context.Context, f store.TaskFilter, p store.Page) (store.List[store.Task], error)
	EndJob(ctx context.Context, p store.EndJobParams) error
	ListCompletedResults(ctx context.Context, job uuid.UUID, after int32, limit int) ([]store.PartialResult, error)
	FinishReduce(ctx context.Context, token store.StepToken, p store.FinishReduceParams) error
	RetryPartial(ctx context.Context, token store.StepToken, chunkIndex int32, code, message string) error
}

// Reconciler reduces Jobs. Its keys are Job ids.
type Reconciler struct {
	store     Store
	artifacts artifacts.Store
	workloads *workloads.Registry
	step      jobstep.Runner
	log       *zap.Logger
}

// New returns a reducer for the process that env describes.
func New(s Store, blobs artifacts.Store, registry *workloads.Registry, env jobstep.Env) *Reconciler {
	return &Reconciler{store: s, artifacts: blobs, workloads: registry, log: env.Log, step: jobstep.Runner{
		Store: s, Env: env,
		From: []v1.JobPhase{v1.JobRunning, v1.JobReducing}, To: v1.JobReducing,
		Condition: v1.JobConditionReduced, GaveUp: v1.ReasonReductionFailed,
	}}
}

// Reconcile ends the Job if its tasks allow it.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	id, err := jobstep.ParseKey(req)
	if err != nil {
		return reconcile.Result{}, err
	}
	job, err := r.store.GetJobByID(ctx, id)
	if errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrDamaged) {
		return reconcile.Result{}, nil // gone, or the canceller's to report
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	switch decide(job) {
	case fail:
		return reconcile.Result{}, r.failJob(ctx, job)
	case reduce:
		if held := r.step.Held(job); held > 0 {
			return reconcile.Result{RequeueAfter: held + jobstep.Slack}, nil
		}
		return r.step.Run(ctx, id, r.reduce)
	}
	return reconcile.Result{}, nil
}

type decision int

const (
	wait decision = iota
	reduce
	fail
)

// decide is pure: all it knows is in the Job.
func decide(job store.Job) decision {
	if job.Phase != v1.JobRunning && job.Phase != v1.JobReducing {
		return wait
	}
	if !job.CancelRequestedAt.IsZero() || !job.DeletionRequestedAt.IsZero() {
		return wait
	}
	if job.Tasks.Failed > 0 {
		return fail
	}
	if job.Tasks.Completed == job.Tasks.Total && (job.Plan == nil || !job.Plan.More) {
		return reduce
	}
	return wait
}

// failJob ends a Job of which a task has failed for good, and names the task.
func (r *Reconciler) failJob(ctx context.Context, job store.Job) error {
	failed, err := r.store.ListTasks(ctx, store.TaskFilter{Job: job.ID, Phases: []v1.TaskPhase{v1.TaskFailed}}, store.Page{Limit: 1})
	if err != nil {
		return err
	}
	if len(failed.Items) == 0 {
		return fmt.Errorf("job %s counts %d failed tasks but has none", job.Name, job.Tasks.Failed)
	}
	task := failed.Items[0]
	message := fmt.Sprintf("task %d failed: %s: %s", task.ChunkIndex, task.ErrorCode, task.ErrorMessage)
	err = r.store.EndJob(ctx, store.EndJobParams{Job: job.ID, Phase: v1.JobFailed, Failure: store.Failure{
		Code: v1.ReasonTaskFailed, Message: message,
		Conditions: []v1.Condition{jobstep.Observed(job, v1.JobConditionFailed, v1.ConditionTrue, v1.ReasonTaskFailed, message)},
	}})
	if errors.Is(err, store.ErrConflict) {
		return nil // it has ended meanwhile
	}
	if err == nil {
		r.log.Info("job failed", zap.String("job_id", job.ID.String()), zap.String("task_id", task.ID.String()), zap.String("reason", task.ErrorCode))
	}
	return err
}
