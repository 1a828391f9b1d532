// Package canceller ends Jobs from outside: on request, at the deadline, and
// when the stored Job is damaged it says so. It also cancels the open tasks of
// a Job that has ended, whoever ended it.
//
// Ending the Job comes first, in one guarded statement; its tasks follow in
// batches, so that a Job of a million tasks blocks nobody. A worker learns of
// it with its next heartbeat.
package canceller

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/controllers/jobstep"
	"scimesh.dev/scimesh/reconcile"
	"scimesh.dev/scimesh/store"
)

// batch is how many tasks are cancelled in one transaction.
const batch = 1000

// Store is what the canceller needs of the database.
type Store interface {
	GetJobByID(ctx context.Context, id uuid.UUID) (store.Job, error)
	EndJob(ctx context.Context, p store.EndJobParams) error
	CancelOpenTasks(ctx context.Context, job uuid.UUID, limit int) (more bool, err error)
	SetJobConditions(ctx context.Context, job uuid.UUID, conditions ...v1.Condition) error
}

// Reconciler ends Jobs. Its keys are Job ids.
type Reconciler struct {
	Store Store
	Log   *zap.Logger
}

// Reconcile ends the Job if that is due, and cancels what is left of an ended one.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	id, err := jobstep.ParseKey(req)
	if err != nil {
		return reconcile.Result{}, err
	}
	job, err := r.Store.GetJobByID(ctx, id)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return reconcile.Result{}, nil
	case errors.Is(err, store.ErrDamaged):
		if err := r.carryOut(ctx, job, decide(job)); err != nil {
			return reconcile.Result{}, err
		}
		return reconcile.Result{}, r.reportDamage(ctx, job, err)
	case err != nil:
		return reconcile.Result{}, err
	}
	next := decide(job)
	if err := r.carryOut(ctx, job, next); err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: next.recheck}, nil
}

// carryOut does what was decided. It goes by columns alone, so a damaged Job
// can be cancelled and deleted like any other.
func (r *Reconciler) carryOut(ctx context.Context, job store.Job, next decision) error {
	if next.end != nil {
		if err := r.end(ctx, job, *next.end); err != nil {
			return err
		}
	}
	if next.cancelTasks {
		return r.cancelTasks(ctx, job.ID)
	}
	return nil
}

// decision is what to do with a Job.
type decision struct {
	end         *store.EndJobParams
	cancelTasks bool
	recheck     time.Duration
}

// decide is pure: all it knows, the time included, is in the Job.
func decide(job store.Job) decision {
	switch {
	case job.Phase == v1.JobCompleted:
		return decision{}
	case job.Phase.Final():
		open := job.Tasks.Total - job.Tasks.Completed - job.Tasks.Failed - job.Tasks.Cancelled
		return decision{cancelTasks: open > 0}
	case !job.CancelRequestedAt.IsZero():
		return ending(job, v1.JobCancelled, v1.JobConditionCancelled, v1.ReasonCancelRequested, "cancelled on request")
	case !job.DeletionRequestedAt.IsZero():
		return ending(job, v1.JobCancelled, v1.JobConditionCancelled, v1.ReasonCancelRequested, "cancelled because its deletion was requested")
	}
	limit := job.Spec.ActiveDeadlineSeconds
	if limit == 0 {
		return decision{}
	}
	deadline := job.CreatedAt.Add(time.Duration(limit) * time.Second)
	if left := deadline.Sub(job.ReadAt); left > 0 {
		return decision{recheck: left}
	}
	return ending(job, v1.JobFailed, v1.JobConditionFailed, v1.ReasonDeadlineExceeded,
		fmt.Sprintf("not finished within activeDeadlineSeconds (%d)", limit))
}

func ending(job store.Job, phase v1.JobPhase, condition, reason, message string) decision {
	return decision{cancelTasks: true, end: &store.EndJobParams{Job: job.ID, Phase: phase, Failure: store.Failure{
		Code: reason, Message: message,
		Conditions: []v1.Condition{jobstep.Observed(job, condition, v1.ConditionTrue, reason, message)},
	}}}
}

func (r *Reconciler) end(ctx context.Context, job store.Job, p store.EndJobParams) error {
	err := r.Store.EndJob(ctx, p)
	if errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrNotFound) {
		return nil // it has ended meanwhile
	}
	if err == nil {
		r.Log.Info("job ended", zap.String("job_id", job.ID.String()), zap.String("phase", string(p.Phase)), zap.String("reason", p.Code))
	}
	return err
}

// cancelTasks cancels the open tasks of an ended Job. A Job that completed
// after all has none that are open.
func (r *Reconciler) cancelTasks(ctx context.Context, id uuid.UUID) error {
	for {
		more, err := r.Store.CancelOpenTasks(ctx, id, batch)
		if errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrNotFound) {
			return nil
		}
		if err != nil || !more {
			return err
		}
	}
}

// reportDamage puts a condition on a Job that cannot be read: no step is taken
// in it, and it can only be ended and deleted.
func (r *Reconciler) reportDamage(ctx context.Context, job store.Job, cause error) error {
	r.Log.Error("stored job is damaged", zap.String("job_id", job.ID.String()), zap.Error(cause))
	err := r.Store.SetJobConditions(ctx, job.ID, jobstep.Observed(job, v1.JobConditionDamaged, v1.ConditionTrue,
		v1.ReasonDamaged, "the stored job cannot be read: "+job.Damage))
	if err != nil {
		return err
	}
	return reconcile.TerminalError(cause)
}
