package store

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	v1 "scimesh.dev/scimesh/api/v1"
)

// maxErrorMessage bounds an error message in a row of jobs, tasks or attempts, in bytes.
const maxErrorMessage = 4096

const endJobSQL = `
UPDATE jobs
SET    status = @phase::text, unsettled = completed_tasks + failed_tasks + cancelled_tasks < total_tasks, error_code = @code, error_message = @message, conditions = @conditions::jsonb,
       step_owner = NULL, step_expires_at = NULL, completed_at = coalesce(@now::timestamptz, now()),
       version = version + 1, updated_at = coalesce(@now::timestamptz, now())
WHERE  id = @job`

// EndJob moves a Job that has not ended to failed or cancelled, whoever holds
// its step. ErrConflict if it has ended. Its open tasks are left to CancelOpenTasks.
func (s *Store) EndJob(ctx context.Context, p EndJobParams) (err error) {
	defer wrapf(&err, "end job %s as %s", p.Job, p.Phase)
	if p.Phase != v1.JobFailed && p.Phase != v1.JobCancelled {
		return fmt.Errorf("%w: a job cannot be ended as %q", ErrInvalid, p.Phase)
	}
	return s.inTx(ctx, func(tx pgx.Tx) error {
		job, err := s.lockJob(ctx, tx, p.Job)
		if err != nil {
			return err
		}
		if job.Phase.Final() {
			return &PhaseError{Phase: string(job.Phase)}
		}
		return s.endJob(ctx, tx, job, p.Phase, p.Failure)
	})
}

// FailJob ends a Job whose step failed for good. Its open tasks are left to
// CancelOpenTasks.
func (s *Store) FailJob(ctx context.Context, t StepToken, f Failure) (err error) {
	defer wrapf(&err, "fail job %s", t.Job)
	return s.inTx(ctx, func(tx pgx.Tx) error {
		job, err := s.lockStep(ctx, tx, t)
		if err != nil {
			return err
		}
		return s.endJob(ctx, tx, job, v1.JobFailed, f)
	})
}

func (s *Store) endJob(ctx context.Context, tx pgx.Tx, job Job, phase v1.JobPhase, f Failure) error {
	_, err := tx.Exec(ctx, endJobSQL, pgx.NamedArgs{
		"job": job.ID, "phase": string(phase), "code": f.Code, "message": cutText(f.Message, maxErrorMessage),
		"conditions": withConditions(job, f.Conditions), "now": s.now(),
	})
	if err != nil {
		return err
	}
	event := Event{JobID: job.ID, Type: v1.EventWarning, Reason: "JobFailed", Message: f.Code + ": " + f.Message}
	if phase == v1.JobCancelled {
		event.Type, event.Reason, event.Message = v1.EventNormal, "JobCancelled", "the job was cancelled"
	}
	if err := s.recordEvents(ctx, tx, event); err != nil {
		return err
	}
	return notifyJob(ctx, tx, job.ID)
}

// Each kind of open task has a partial index of its own, so each is looked for
// apart; a scan of all tasks of the job would read the ended ones again and again.
var openTasksSQL = []string{
	`lease_owner IS NULL AND completed_at IS NULL AND last_failed_by IS NULL`,
	`lease_owner IS NULL AND completed_at IS NULL AND last_failed_by IS NOT NULL`,
	`lease_owner IS NOT NULL`,
}

const cancelTasksSQL = `
WITH open AS (
    SELECT id, lease_owner, attempt, leased_at
    FROM   tasks
    WHERE  job_id = @job
    AND    %s
    ORDER BY id
    LIMIT  @limit
    FOR UPDATE
), ended AS (
    INSERT INTO attempts (task_id, attempt, worker_id, outcome, started_at, ended_at)
    SELECT id, attempt, lease_owner, 'cancelled', leased_at, coalesce(@now::timestamptz, now())
    FROM   open
    WHERE  lease_owner IS NOT NULL
)
UPDATE tasks t
SET    status = 'cancelled', lease_owner = NULL, lease_expires_at = NULL, progress = NULL,
       completed_at = coalesce(@now::timestamptz, now()), version = t.version + 1
FROM   open
WHERE  t.id = open.id`

// CancelOpenTasks cancels up to limit open tasks of a Job that has ended as
// failed or cancelled. It reports whether open tasks are left.
func (s *Store) CancelOpenTasks(ctx context.Context, job uuid.UUID, limit int) (more bool, err error) {
	defer wrapf(&err, "cancel tasks of job %s", job)
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		more = false
		var phase v1.JobPhase
		if err := tx.QueryRow(ctx, `SELECT status FROM jobs WHERE id = $1`, job).Scan(&phase); err != nil {
			return err
		}
		if phase != v1.JobFailed && phase != v1.JobCancelled {
			return &PhaseError{Phase: string(phase)}
		}
		cancelled := 0
		for _, open := range openTasksSQL {
			tag, err := tx.Exec(ctx, fmt.Sprintf(cancelTasksSQL, open), pgx.NamedArgs{"job": job, "limit": limit - cancelled, "now": s.now()})
			if err != nil {
				return err
			}
			if cancelled += int(tag.RowsAffected()); cancelled >= limit {
				break
			}
		}
		return tx.QueryRow(ctx, `
			UPDATE jobs
			SET    cancelled_tasks = cancelled_tasks + $2::int, version = version + sign($2::int)::int,
			       unsettled = completed_tasks + failed_tasks + cancelled_tasks + $2::int < total_tasks
			WHERE  id = $1
			RETURNING unsettled`, job, cancelled).Scan(&more)
	})
	return more, err
}
