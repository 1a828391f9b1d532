package store

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	v1 "scimesh.dev/scimesh/api/v1"
)

const finishReduceSQL = `
UPDATE jobs
SET    status = 'completed', result_artifact_id = @result, result_rows = @rows, rejects_artifact_id = @rejects,
       rejects_rows = @reject_rows, ledger = @ledger, conditions = @conditions::jsonb,
       step_owner = NULL, step_expires_at = NULL, error_code = '', error_message = '',
       completed_at = coalesce(@now::timestamptz, now()),
       version = version + 1, updated_at = coalesce(@now::timestamptz, now())
WHERE  id = @job`

// FinishReduce records the final artifacts and moves the Job to completed, or
// changes nothing and returns ErrLeaseLost.
func (s *Store) FinishReduce(ctx context.Context, t StepToken, p FinishReduceParams) (err error) {
	defer wrapf(&err, "complete job %s", t.Job)
	return s.inTx(ctx, func(tx pgx.Tx) error {
		job, err := s.lockStep(ctx, tx, t)
		if err != nil {
			return err
		}
		if job.Phase != v1.JobReducing {
			return ErrLeaseLost
		}
		result, err := insertJobArtifact(ctx, tx, job.ID, v1.ArtifactFinal, p.Result, job.ReadAt)
		if err != nil {
			return err
		}
		var rejects *uuid.UUID
		if p.Rejects != nil {
			artifact, err := insertJobArtifact(ctx, tx, job.ID, v1.ArtifactRejects, *p.Rejects, job.ReadAt)
			if err != nil {
				return err
			}
			rejects = &artifact
		}
		for _, f := range p.Outputs {
			if _, err := insertJobArtifact(ctx, tx, job.ID, v1.ArtifactOutput, f, job.ReadAt); err != nil {
				return err
			}
		}
		ledger, err := json.Marshal(p.Ledger)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, finishReduceSQL, pgx.NamedArgs{
			"job": job.ID, "result": result, "rows": p.Rows, "rejects": rejects, "reject_rows": p.RejectRows,
			"ledger": ledger, "conditions": withConditions(job, p.Conditions), "now": s.now(),
		})
		if err != nil {
			return err
		}
		event := Event{JobID: job.ID, Type: v1.EventNormal, Reason: "JobCompleted", Message: fmt.Sprintf("the result has %d rows", p.Rows)}
		if err := s.recordEvents(ctx, tx, event); err != nil {
			return err
		}
		return notifyJob(ctx, tx, job.ID)
	})
}

// The attempt that made the result becomes a failed one, so that its worker
// cannot deliver it again.
const retryPartialSQL = `
WITH old AS (
    SELECT id, attempt, failures + 1 AS failures, max_attempts, result_artifact_id, completed_by, leased_at, completed_at
    FROM   tasks
    WHERE  job_id = @job AND chunk_index = @chunk AND status = 'completed'
    FOR UPDATE
), ended AS (
    INSERT INTO attempts (task_id, attempt, worker_id, outcome, error_code, error_message, started_at, ended_at)
    SELECT id, attempt, completed_by, 'failed', @code, @message, leased_at, completed_at
    FROM   old
)
UPDATE tasks t
SET    status = CASE WHEN old.failures < old.max_attempts THEN 'pending' ELSE 'failed' END,
       completed_at = CASE WHEN old.failures < old.max_attempts THEN NULL ELSE coalesce(@now::timestamptz, now()) END,
       failures = old.failures, result_artifact_id = NULL, completed_by = NULL, metrics = NULL, progress = NULL,
       last_failed_by = old.completed_by, not_before = coalesce(@now::timestamptz, now()),
       error_code = @code, error_message = @message, version = t.version + 1
FROM   old
WHERE  t.id = old.id
RETURNING t.id, t.status, old.result_artifact_id`

const backToRunningSQL = `
UPDATE jobs
SET    status = 'running', completed_tasks = completed_tasks - 1, failed_tasks = failed_tasks + @failed::int,
       step_owner = NULL, step_expires_at = NULL,
       version = version + 1, updated_at = coalesce(@now::timestamptz, now())
WHERE  id = @job`

// RetryPartial takes back the result of one task because it cannot be used, by the
// reducer or for planning further tasks: the Job
// returns to running and the task to pending, at the cost of a failure; at
// max_attempts the task fails. It gives up the step.
func (s *Store) RetryPartial(ctx context.Context, t StepToken, chunkIndex int32, code, message string) (err error) {
	defer wrapf(&err, "retry chunk %d of job %s", chunkIndex, t.Job)
	message = cutText(message, maxErrorMessage)
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		job, err := s.lockStep(ctx, tx, t)
		if err != nil {
			return err
		}
		if job.Phase != v1.JobReducing && (job.Phase != v1.JobPlanning || job.Plan == nil) {
			return ErrLeaseLost
		}
		var task, artifact uuid.UUID
		var status string
		err = tx.QueryRow(ctx, retryPartialSQL, pgx.NamedArgs{
			"job": t.Job, "chunk": chunkIndex, "code": code, "message": message, "now": s.now(),
		}).Scan(&task, &status, &artifact)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `DELETE FROM artifacts WHERE id = $1`, artifact); err != nil {
			return err
		}
		failed := status == string(v1.TaskFailed)
		if _, err := tx.Exec(ctx, backToRunningSQL, pgx.NamedArgs{"job": t.Job, "failed": boolInt(failed), "now": s.now()}); err != nil {
			return err
		}
		event := Event{JobID: t.Job, TaskID: task, Type: v1.EventWarning, Reason: "PartialResultRejected", Message: message}
		if err := s.recordEvents(ctx, tx, event); err != nil {
			return err
		}
		return notifyJob(ctx, tx, t.Job)
	})
	if err == nil {
		s.dispatch.poke()
	}
	return err
}

const listCompletedSQL = `
SELECT t.id, t.chunk_index, a.attempt, t.notes, a.id AS artifact_id, a.sha256, a.size_bytes, a.filename, a.content_type
FROM   tasks t
JOIN   artifacts a ON a.id = t.result_artifact_id
WHERE  t.job_id = @job
AND    t.chunk_index > @after
AND    t.status = 'completed'
ORDER BY t.chunk_index
LIMIT  @limit`

// ListCompletedResults returns up to limit results with a chunk index above
// after, in ascending order. Begin with after = -1.
func (s *Store) ListCompletedResults(ctx context.Context, job uuid.UUID, after int32, limit int) (_ []PartialResult, err error) {
	defer wrapf(&err, "list results of job %s", job)
	rows, err := s.pool.Query(ctx, listCompletedSQL, pgx.NamedArgs{"job": job, "after": after, "limit": limit})
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (r PartialResult, err error) {
		err = row.Scan(&r.Task, &r.ChunkIndex, &r.Attempt, &r.Notes, &r.Artifact.Artifact, &r.Artifact.SHA256, &r.Artifact.SizeBytes, &r.Filename, &r.ContentType)
		return r, err
	})
}
