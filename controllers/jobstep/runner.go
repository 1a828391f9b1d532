package jobstep

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"
	"k8s.io/utils/clock"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/reconcile"
	"scimesh.dev/scimesh/store"
	"scimesh.dev/scimesh/workloads"
)

// MaxFailures is how often a step is tried when the machine is to blame,
// before the Job fails.
const MaxFailures = 8

// Store is what a step needs of the database.
type Store interface {
	AcquireJobStep(ctx context.Context, p store.AcquireStepParams) (store.Job, store.StepToken, error)
	RenewJobStep(ctx context.Context, token store.StepToken, ttl time.Duration) error
	ReleaseJobStep(ctx context.Context, token store.StepToken, failed bool, conditions ...v1.Condition) error
	FailJob(ctx context.Context, token store.StepToken, f store.Failure) error
}

// Slack is added to the end of another's lease before looking again.
const Slack = 50 * time.Millisecond

// lookAgain is the pause before looking again at a step that could not be taken.
const lookAgain = 200 * time.Millisecond

// Env is the coordinator process that takes steps.
type Env struct {
	// Owner identifies the process.
	Owner uuid.UUID
	Clock clock.WithTicker
	Log   *zap.Logger
}

// Runner takes one kind of step for a coordinator process.
type Runner struct {
	Env
	Store Store

	// From are the phases in which the step begins, To the one in which it is done.
	From []v1.JobPhase
	To   v1.JobPhase
	// Condition becomes False when the step fails the Job, with GaveUp as the
	// reason if the machine was to blame.
	Condition string
	GaveUp    string
}

// Held returns how long another process may still hold the step of the Job; 0 if none does.
func (r *Runner) Held(job store.Job) time.Duration {
	if job.StepOwner == uuid.Nil || job.StepOwner == r.Owner || !job.StepExpiresAt.After(job.ReadAt) {
		return 0
	}
	return job.StepExpiresAt.Sub(job.ReadAt)
}

// Run takes the step and does work under its lease; work ends with a write
// that names the token. How a failed step ends is decided here:
//
//   - a *workloads.Error fails the Job, since trying again gives the same;
//   - a lost lease changes nothing, whoever has the step goes on;
//   - any other error gives the step back and is retried with back-off, up to
//     MaxFailures times. The end of ctx gives it back without counting.
//
// A step that another process holds, or a Job that is past it, is no error.
func (r *Runner) Run(ctx context.Context, id uuid.UUID, work func(context.Context, store.Job, store.StepToken) error) (reconcile.Result, error) {
	job, token, err := r.Store.AcquireJobStep(ctx, store.AcquireStepParams{Job: id, From: r.From, To: r.To, Owner: r.Owner, TTL: TTL})
	if errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrNotFound) {
		// Another process took the step, or has the row locked for a moment: the
		// next look tells which.
		return reconcile.Result{RequeueAfter: lookAgain}, nil
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	lost, err := r.underLease(ctx, job, token, work)
	return reconcile.Result{}, r.settle(ctx, job, token, err, lost)
}

func (r *Runner) underLease(ctx context.Context, job store.Job, token store.StepToken, work func(context.Context, store.Job, store.StepToken) error) (lost bool, err error) {
	kept, stop := Keep(ctx, r.Clock,
		func(ctx context.Context) error { return r.Store.RenewJobStep(ctx, token, TTL) },
		func(err error) bool { return errors.Is(err, store.ErrLeaseLost) })
	// A panic must not leave the renewals running: the step would be held for ever.
	defer stop()
	err = work(kept, job, token)
	return errors.Is(context.Cause(kept), ErrLost) || errors.Is(err, store.ErrLeaseLost), err
}

func (r *Runner) settle(ctx context.Context, job store.Job, token store.StepToken, err error, lost bool) error {
	var user *workloads.Error
	switch {
	case err == nil:
		return nil
	case lost:
		return reconcile.Conflict(fmt.Errorf("%s job %s: %w", r.To, job.Name, errors.Join(ErrLost, err)))
	case errors.As(err, &user):
		return r.fail(ctx, job, token, user.Reason, user.Message)
	case ctx.Err() == nil && job.StepFailures+1 >= MaxFailures:
		r.Log.Error("step given up", zap.String("operation", string(r.To)), zap.String("job_id", job.ID.String()), zap.Error(err))
		return r.fail(ctx, job, token, r.GaveUp, fmt.Sprintf("tried %d times; the coordinator's log has the cause", MaxFailures))
	}
	return errors.Join(fmt.Errorf("%s job %s: %w", r.To, job.Name, err), r.release(ctx, token))
}

// release gives the step back at once, even while the process is shutting
// down, so that another one need not wait for the lease to run out.
func (r *Runner) release(ctx context.Context, token store.StepToken) error {
	failed := ctx.Err() == nil
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), TTL/2)
	defer cancel()
	return r.Store.ReleaseJobStep(ctx, token, failed)
}

func (r *Runner) fail(ctx context.Context, job store.Job, token store.StepToken, reason, message string) error {
	r.Log.Info("job failed", zap.String("operation", string(r.To)), zap.String("job_id", job.ID.String()), zap.String("reason", reason))
	return r.Store.FailJob(ctx, token, store.Failure{Code: reason, Message: message, Conditions: []v1.Condition{
		Observed(job, r.Condition, v1.ConditionFalse, reason, message),
		Observed(job, v1.JobConditionFailed, v1.ConditionTrue, reason, message),
	}})
}

// Observed is a condition of the Job as it was read. Transition times are the store's.
func Observed(job store.Job, conditionType string, status v1.ConditionStatus, reason, message string) v1.Condition {
	return v1.Condition{
		Type: conditionType, Status: status, ObservedGeneration: job.Generation,
		LastTransitionTime: v1.NewTime(job.ReadAt), Reason: reason, Message: message,
	}
}

// ParseKey reads the Job id that a request names.
func ParseKey(req reconcile.Request) (uuid.UUID, error) {
	id, err := uuid.Parse(req.Key)
	if err != nil {
		return uuid.Nil, reconcile.TerminalError(fmt.Errorf("key %q is no job id: %w", req.Key, err))
	}
	return id, nil
}
