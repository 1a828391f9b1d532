package store

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	v1 "scimesh.dev/scimesh/api/v1"
)

const (
	// quarantineStreak is how many distinct tasks a worker fails in a row before it is kept away from work.
	quarantineStreak = 3
	quarantineBase   = 30 * time.Second
	quarantineMax    = 30 * time.Minute
	// refundedQuarantines is how many quarantines in a row give the tasks
	// their failed attempts back. A worker that still fails everything after
	// that may not be the one to blame: then the tasks must be able to fail.
	refundedQuarantines = 2
	backoffMax          = 5 * time.Minute
)

type failingTask struct {
	JobID       uuid.UUID
	ChunkIndex  int32
	Failures    int32
	MaxAttempts int32
}

type failingWorker struct {
	Name          string
	FailureStreak []uuid.UUID
	Quarantines   int32
}

// failureDecision is what one failure leads to.
type failureDecision struct {
	phase    v1.TaskPhase
	failures int32
	backoff  time.Duration
	// streak is the worker's new row of failed tasks.
	streak []uuid.UUID
	// quarantine is how long the worker is kept away; 0 if it is not.
	quarantine time.Duration
	// refund are other tasks that get a failed attempt back.
	refund []uuid.UUID
}

// decideFailure is pure; jitter is between 0 and 1. A failure that cannot be
// retried is the task's fault and says nothing about the worker.
func decideFailure(t failingTask, w failingWorker, task uuid.UUID, retry bool, jitter float64) failureDecision {
	if !retry {
		return failureDecision{phase: v1.TaskFailed, failures: t.Failures + 1, streak: w.FailureStreak}
	}
	d := failureDecision{phase: v1.TaskPending, failures: t.Failures + 1, streak: w.FailureStreak}
	if !slices.Contains(d.streak, task) {
		d.streak = append(slices.Clone(d.streak), task)
	}
	if len(d.streak) >= quarantineStreak {
		d.quarantine = min(quarantineBase<<min(w.Quarantines, 10), quarantineMax)
		if w.Quarantines < refundedQuarantines {
			d.refund, d.failures = d.streak, t.Failures
		}
		d.streak = []uuid.UUID{}
	}
	if d.failures >= t.MaxAttempts {
		d.phase = v1.TaskFailed
	}
	d.backoff = backoff(d.failures, jitter)
	return d
}

// backoff is 2^failures seconds, at most five minutes, shortened by up to half.
func backoff(failures int32, jitter float64) time.Duration {
	full := min(time.Second<<min(failures, 20), backoffMax)
	return time.Duration(float64(full) * (1 - jitter/2))
}

const lockFailingTaskSQL = `
SELECT job_id, chunk_index, failures, max_attempts
FROM   tasks
WHERE  id = @task
AND    lease_owner IS NOT DISTINCT FROM @worker
AND    attempt = @attempt
AND    lease_expires_at > coalesce(@now::timestamptz, now())
FOR UPDATE`

const lockFailingWorkerSQL = `
SELECT name, failure_streak, quarantines
FROM   workers
WHERE  id = @worker
FOR NO KEY UPDATE`

const failTaskSQL = `
WITH ended AS (
    INSERT INTO attempts (task_id, attempt, worker_id, outcome, error_code, error_message, started_at, ended_at)
    SELECT id, attempt, lease_owner, 'failed', @code, @message, leased_at, coalesce(@now::timestamptz, now())
    FROM   tasks
    WHERE  id = @task
)
UPDATE tasks
SET    status = @phase::text, failures = @failures::int, lease_owner = NULL, lease_expires_at = NULL, progress = NULL,
       last_failed_by = @worker, not_before = coalesce(@now::timestamptz, now()) + @backoff::interval,
       completed_at = CASE WHEN @phase = 'failed' THEN coalesce(@now::timestamptz, now()) END,
       error_code = @code, error_message = @message, version = version + 1
WHERE  id = @task
RETURNING not_before`

const refundSQL = `
UPDATE tasks
SET    failures = failures - 1, version = version + 1
WHERE  id = ANY (@refund::uuid[])
AND    id <> @task
AND    status = 'pending'
AND    last_failed_by = @worker
AND    failures > 0`

const updateStreakSQL = `
UPDATE workers
SET    failure_streak = @streak,
       quarantines = quarantines + @quarantined::int,
       quarantined_until = CASE WHEN @quarantined::int = 1 THEN coalesce(@now::timestamptz, now()) + @quarantine::interval ELSE quarantined_until END,
       quarantine_reason = CASE WHEN @quarantined::int = 1 THEN @reason ELSE quarantine_reason END,
       updated_at = coalesce(@now::timestamptz, now())
WHERE  id = @worker`

// FailTask records a failed attempt. A task with attempts left waits for a
// back-off that grows with its failures. A worker that fails three different
// tasks in a row is put into quarantine, and the tasks get that attempt back:
// a broken machine must not use up a job's attempts.
func (s *Store) FailTask(ctx context.Context, p FailTaskParams) (_ FailedTask, err error) {
	defer wrapf(&err, "fail task %s", p.Task)
	if err := s.ensureBeat(ctx); err != nil {
		return FailedTask{}, err
	}
	s.touch(p.Worker)
	p.Message, p.Code = cutText(p.Message, maxErrorMessage), cutText(p.Code, 256)
	jitter := rand.Float64()
	var failed FailedTask
	var chunk int32
	err = s.inTx(ctx, func(tx pgx.Tx) (err error) {
		failed, chunk, err = s.failTask(ctx, tx, p, jitter)
		return err
	})
	if err != nil {
		return FailedTask{}, err
	}
	s.dispatch.freed(failed.JobID)
	if failed.Quarantined {
		s.workers.forget(p.Worker)
	}
	if failed.Phase == v1.TaskPending {
		s.dispatch.requeued(failed.JobID, chunk)
	}
	return failed, nil
}

func (s *Store) failTask(ctx context.Context, tx pgx.Tx, p FailTaskParams, jitter float64) (FailedTask, int32, error) {
	args := pgx.NamedArgs{
		"task": p.Task, "worker": p.Worker, "attempt": p.Attempt, "code": p.Code, "message": p.Message, "now": s.now(),
	}
	t, err := collectOne[failingTask](ctx, tx, lockFailingTaskSQL, args)
	if errors.Is(err, pgx.ErrNoRows) {
		return FailedTask{}, 0, ErrLeaseLost
	}
	if err != nil {
		return FailedTask{}, 0, err
	}
	w, err := collectOne[failingWorker](ctx, tx, lockFailingWorkerSQL, args)
	if err != nil {
		return FailedTask{}, 0, err
	}
	d := decideFailure(t, w, p.Task, p.Retryable, jitter)
	args["phase"], args["failures"], args["backoff"] = string(d.phase), d.failures, d.backoff
	var notBefore time.Time
	if err := tx.QueryRow(ctx, failTaskSQL, args).Scan(&notBefore); err != nil {
		return FailedTask{}, 0, err
	}
	if err := s.punish(ctx, tx, p, w, d, args); err != nil {
		return FailedTask{}, 0, err
	}
	failed := FailedTask{JobID: t.JobID, Phase: d.phase, Quarantined: d.quarantine > 0}
	if d.phase == v1.TaskPending {
		failed.NotBefore = notBefore.UTC()
		return failed, t.ChunkIndex, nil
	}
	event := Event{JobID: t.JobID, TaskID: p.Task, WorkerID: p.Worker, Type: v1.EventWarning, Reason: "TaskFailed",
		Message: fmt.Sprintf("task %d failed: %s", t.ChunkIndex, p.Code)}
	return failed, t.ChunkIndex, s.countFailed(ctx, tx, map[uuid.UUID]int{t.JobID: 1}, event)
}

// punish writes the worker's streak and quarantine.
func (s *Store) punish(ctx context.Context, tx pgx.Tx, p FailTaskParams, w failingWorker, d failureDecision, args pgx.NamedArgs) error {
	reason := fmt.Sprintf("failed %d different tasks in a row; last error: %s", quarantineStreak, p.Code)
	args["streak"], args["quarantined"], args["quarantine"], args["reason"] = d.streak, boolInt(d.quarantine > 0), d.quarantine, reason
	if _, err := tx.Exec(ctx, updateStreakSQL, args); err != nil || d.quarantine == 0 {
		return err
	}
	args["refund"] = d.refund
	if _, err := tx.Exec(ctx, refundSQL, args); err != nil {
		return err
	}
	return s.recordEvents(ctx, tx, Event{WorkerID: p.Worker, Type: v1.EventWarning, Reason: "WorkerQuarantined",
		Message: fmt.Sprintf("%s gets no task for %s: it %s", w.Name, d.quarantine, reason)})
}

const countFailedSQL = `
UPDATE jobs
SET    failed_tasks = failed_tasks + @tasks, version = version + 1, updated_at = coalesce(@now::timestamptz, now())
WHERE  id = @job`

// countFailed counts tasks that failed for good in their jobs, in order of id,
// and wakes the reconcilers: one failed task decides a job.
func (s *Store) countFailed(ctx context.Context, tx pgx.Tx, failed map[uuid.UUID]int, events ...Event) error {
	jobs := make([]uuid.UUID, 0, len(failed))
	for job := range failed {
		jobs = append(jobs, job)
	}
	slices.SortFunc(jobs, func(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) })
	for _, job := range jobs {
		if _, err := tx.Exec(ctx, countFailedSQL, pgx.NamedArgs{"job": job, "tasks": failed[job], "now": s.now()}); err != nil {
			return err
		}
		if err := notifyJob(ctx, tx, job); err != nil {
			return err
		}
	}
	return s.recordEvents(ctx, tx, events...)
}
