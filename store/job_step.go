package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	v1 "scimesh.dev/scimesh/api/v1"
)

// Another coordinator that is taking the step right now holds the row lock: it
// is skipped, not waited for.
const lockStepSQL = `
SELECT` + jobColumns + `, j.plan` + jobTables + `
WHERE  j.id = @job
FOR NO KEY UPDATE OF j SKIP LOCKED`

const acquireStepSQL = `
UPDATE jobs
SET    status = @to::text, step_owner = @owner, step_expires_at = coalesce(@now::timestamptz, now()) + @ttl::interval,
       step_failures = CASE WHEN status = @to::text THEN step_failures ELSE 0 END,
       started_at = coalesce(started_at, @now::timestamptz, now()),
       version = version + 1, updated_at = coalesce(@now::timestamptz, now())
WHERE  id = @job`

// AcquireJobStep takes the planning or the reduction of a Job. The step must be free,
// expired, or the owner's own, and no cancellation may have been requested;
// reducing, and the planning of further tasks, also need all tasks to be
// completed. Else ErrConflict. A damaged
// Job is ErrDamaged.
func (s *Store) AcquireJobStep(ctx context.Context, p AcquireStepParams) (_ Job, _ StepToken, err error) {
	defer wrapf(&err, "take step %s of job %s", p.To, p.Job)

	var job Job
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		r, err := collectOne[jobRow](ctx, tx, lockStepSQL, pgx.NamedArgs{"job": p.Job, "now": s.now()})
		if errors.Is(err, pgx.ErrNoRows) {
			return s.absentOrLocked(ctx, tx, p.Job)
		}
		if err != nil {
			return err
		}
		job = r.job()
		if err := stepObstacle(job, p); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, acquireStepSQL, pgx.NamedArgs{
			"job": p.Job, "to": string(p.To), "owner": p.Owner, "ttl": p.TTL, "now": s.now(),
		})
		if err != nil {
			return err
		}
		job, err = s.lockJob(ctx, tx, p.Job)
		return err
	})
	if err != nil {
		return job, StepToken{}, err
	}
	return job, StepToken{Job: p.Job, Owner: p.Owner}, nil
}

func (s *Store) absentOrLocked(ctx context.Context, q querier, job uuid.UUID) error {
	var exists bool
	if err := q.QueryRow(ctx, `SELECT EXISTS (SELECT FROM jobs WHERE id = $1)`, job).Scan(&exists); err != nil {
		return err
	}
	if !exists {
		return ErrNotFound
	}
	return fmt.Errorf("%w: another transaction holds the job", ErrConflict)
}

// stepObstacle says why a step cannot be taken; nil if it can.
func stepObstacle(j Job, p AcquireStepParams) error {
	held := j.StepOwner != uuid.Nil && j.StepOwner != p.Owner && j.StepExpiresAt.After(j.ReadAt)
	switch {
	case j.Damage != "":
		return j.damageError()
	case !slices.Contains(p.From, j.Phase):
		return &PhaseError{Phase: string(j.Phase)}
	case held:
		return fmt.Errorf("%w: another coordinator does this step", ErrConflict)
	case !j.CancelRequestedAt.IsZero():
		return fmt.Errorf("%w: cancellation was requested", ErrConflict)
	case (p.To == v1.JobReducing || p.To == v1.JobPlanning && j.Plan != nil) && j.Tasks.Completed != j.Tasks.Total:
		return fmt.Errorf("%w: %d of %d tasks are completed", ErrConflict, j.Tasks.Completed, j.Tasks.Total)
	case p.To == v1.JobReducing && j.Plan != nil && j.Plan.More:
		return fmt.Errorf("%w: further tasks are still to be planned", ErrConflict)
	case p.To == v1.JobPlanning && j.Plan != nil && !j.Plan.More:
		return fmt.Errorf("%w: the plan is complete", ErrConflict)
	}
	return nil
}

const renewStepSQL = `
UPDATE jobs
SET    step_expires_at = coalesce(@now::timestamptz, now()) + @ttl::interval
WHERE  id = @job
AND    step_owner = @owner
AND    step_expires_at > coalesce(@now::timestamptz, now())
AND    cancel_requested_at IS NULL`

// RenewJobStep extends the hold on a step by ttl. It returns ErrLeaseLost if
// the step is held no longer or the Job is to be cancelled: stop the work.
func (s *Store) RenewJobStep(ctx context.Context, t StepToken, ttl time.Duration) (err error) {
	defer wrapf(&err, "renew step of job %s", t.Job)
	tag, err := s.pool.Exec(ctx, renewStepSQL, pgx.NamedArgs{"job": t.Job, "owner": t.Owner, "ttl": ttl, "now": s.now()})
	if err == nil && tag.RowsAffected() == 0 {
		return ErrLeaseLost
	}
	return err
}

const releaseStepSQL = `
UPDATE jobs
SET    step_owner = NULL, step_expires_at = NULL, step_failures = step_failures + @failures::int,
       conditions = @conditions::jsonb, version = version + 1, updated_at = coalesce(@now::timestamptz, now())
WHERE  id = @job`

// ReleaseJobStep gives a step up so that another attempt can come at once. The phase
// stays. failed counts the attempt in Job.StepFailures.
func (s *Store) ReleaseJobStep(ctx context.Context, t StepToken, failed bool, conditions ...v1.Condition) (err error) {
	defer wrapf(&err, "release step of job %s", t.Job)
	return s.inTx(ctx, func(tx pgx.Tx) error {
		job, err := s.lockStep(ctx, tx, t)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, releaseStepSQL, pgx.NamedArgs{
			"job": t.Job, "failures": boolInt(failed), "conditions": withConditions(job, conditions), "now": s.now(),
		})
		return err
	})
}

// lockStep locks the job of a token that still holds its step, else ErrLeaseLost.
func (s *Store) lockStep(ctx context.Context, tx pgx.Tx, t StepToken) (Job, error) {
	job, err := s.lockJob(ctx, tx, t.Job)
	if errors.Is(err, pgx.ErrNoRows) {
		return Job{}, ErrLeaseLost
	}
	if err != nil {
		return Job{}, err
	}
	if job.StepOwner != t.Owner || !job.StepExpiresAt.After(job.ReadAt) || job.Phase.Final() {
		return Job{}, ErrLeaseLost
	}
	return job, nil
}

// withConditions returns the conditions of a job after setting some, as a JSON
// argument. What cannot be decoded is replaced.
func withConditions(j Job, set []v1.Condition) json.RawMessage {
	conditions, _ := setConditions(j, set)
	return conditions
}

func setConditions(j Job, set []v1.Condition) (_ json.RawMessage, changed bool) {
	conditions := j.Conditions
	for _, c := range set {
		c.LastTransitionTime, c.ObservedGeneration = v1.NewTime(j.ReadAt), j.Generation
		var differs bool
		conditions, differs = v1.SetCondition(conditions, c)
		changed = changed || differs
	}
	if len(conditions) == 0 {
		return json.RawMessage(`[]`), changed
	}
	data, err := json.Marshal(conditions)
	if err != nil {
		panic(fmt.Sprintf("store: encode conditions: %v", err)) // plain structs
	}
	return data, changed
}

// SetJobConditions sets conditions of a Job, whatever its phase. Transition
// times and generation are filled in. Nothing is written if nothing differs.
func (s *Store) SetJobConditions(ctx context.Context, job uuid.UUID, conditions ...v1.Condition) (err error) {
	defer wrapf(&err, "set conditions of job %s", job)
	return s.inTx(ctx, func(tx pgx.Tx) error {
		j, err := s.lockJob(ctx, tx, job)
		if err != nil {
			return err
		}
		data, changed := setConditions(j, conditions)
		if !changed {
			return nil
		}
		_, err = tx.Exec(ctx, `
			UPDATE jobs
			SET    conditions = @conditions::jsonb, version = version + 1, updated_at = coalesce(@now::timestamptz, now())
			WHERE  id = @job`, pgx.NamedArgs{"job": job, "conditions": data, "now": s.now()})
		return err
	})
}
