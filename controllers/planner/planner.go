// Package planner moves a Job from created through planning to running: it
// has the Job's workload read the input and cut it into tasks, and stores the
// plan whole or not at all. A plan may ask for a second look once its tasks have
// completed: then the Job comes by again, from running, for further tasks.
//
// One coordinator at a time plans a Job, under a lease on the Job's row. If it
// dies, the lease runs out and another plans again from the start; shards that
// the first one wrote are equal bytes or unreferenced blobs. A plan that the
// input or the parameters make impossible fails the Job with condition
// Planned=False; any other error is tried again with back-off.
package planner

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/artifacts"
	"scimesh.dev/scimesh/controllers/blobfiles"
	"scimesh.dev/scimesh/controllers/jobstep"
	"scimesh.dev/scimesh/reconcile"
	"scimesh.dev/scimesh/store"
	"scimesh.dev/scimesh/workloads"
)

// Store is what the planner needs of the database.
type Store interface {
	jobstep.Store
	FindArtifact(ctx context.Context, sha256 string) (store.Artifact, error)
	GetJobByID(ctx context.Context, id uuid.UUID) (store.Job, error)
	FinishPlanning(ctx context.Context, token store.StepToken, p store.FinishPlanningParams) error
	ExtendPlan(ctx context.Context, token store.StepToken, p store.ExtendPlanParams) error
	blobfiles.Results
	RetryPartial(ctx context.Context, token store.StepToken, chunkIndex int32, code, message string) error
}

// Reconciler plans Jobs. Its keys are Job ids.
type Reconciler struct {
	store     Store
	artifacts artifacts.Store
	workloads *workloads.Registry
	step      jobstep.Runner
	log       *zap.Logger
}

// New returns a planner for the process that env describes.
func New(s Store, blobs artifacts.Store, registry *workloads.Registry, env jobstep.Env) *Reconciler {
	return &Reconciler{store: s, artifacts: blobs, workloads: registry, log: env.Log, step: jobstep.Runner{
		Store: s, Env: env,
		From: []v1.JobPhase{v1.JobCreated, v1.JobPlanning, v1.JobRunning}, To: v1.JobPlanning,
		Condition: v1.JobConditionPlanned, GaveUp: v1.ReasonPlanningFailed,
	}}
}

// Reconcile plans the Job if it waits for a plan.
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
	if !waitsForPlan(job) {
		return reconcile.Result{}, nil
	}
	if held := r.step.Held(job); held > 0 {
		return reconcile.Result{RequeueAfter: held + jobstep.Slack}, nil
	}
	return r.step.Run(ctx, id, r.plan)
}

func waitsForPlan(job store.Job) bool {
	if !job.CancelRequestedAt.IsZero() || !job.DeletionRequestedAt.IsZero() {
		return false
	}
	switch job.Phase {
	case v1.JobCreated, v1.JobPlanning:
		return true
	case v1.JobRunning:
		return job.Plan != nil && job.Plan.More && job.Tasks.Completed == job.Tasks.Total
	}
	return false
}

// plan does the step under its lease.
func (r *Reconciler) plan(ctx context.Context, job store.Job, token store.StepToken) error {
	begin := time.Now()
	if job.Plan != nil {
		return r.extend(ctx, job, token)
	}
	params, err := r.makePlan(ctx, job)
	if err != nil {
		return err
	}
	if err := r.store.FinishPlanning(ctx, token, params); err != nil {
		return err
	}
	r.log.Info("job planned", zap.String("job_id", job.ID.String()), zap.Int("tasks", len(params.Tasks)), zap.Duration("took", time.Since(begin)))
	return nil
}
