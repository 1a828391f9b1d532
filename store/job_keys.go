package store

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// The queries below give the reconcilers their keys at a resync. Each is
// served by a partial index over jobs that have not ended, or that wait for
// just this, so it costs the same however many jobs have ended. Jobs that
// another coordinator works on are in them: taking the step tells them apart.

const jobsToPlanSQL = `
SELECT id
FROM   jobs
WHERE  status IN ('created', 'planning')
AND    cancel_requested_at IS NULL
ORDER BY priority DESC, created_at, id
LIMIT  @limit`

// JobsToPlan returns the ids of jobs that wait for the planner, most important first.
func (s *Store) JobsToPlan(ctx context.Context, limit int) (_ []uuid.UUID, err error) {
	defer wrapf(&err, "list jobs to plan")
	return s.jobKeys(ctx, jobsToPlanSQL, limit)
}

const jobsToReduceSQL = `
SELECT id
FROM   jobs
WHERE  status IN ('running', 'reducing')
AND    (status = 'reducing' OR failed_tasks > 0 OR completed_tasks + failed_tasks + cancelled_tasks = total_tasks)
AND    cancel_requested_at IS NULL
ORDER BY priority DESC, created_at, id
LIMIT  @limit`

// JobsToReduce returns the ids of jobs that wait for the reducer: no open
// task is left, a task has failed for good, or a reduction was begun.
func (s *Store) JobsToReduce(ctx context.Context, limit int) (_ []uuid.UUID, err error) {
	defer wrapf(&err, "list jobs to reduce")
	return s.jobKeys(ctx, jobsToReduceSQL, limit)
}

const jobsToCancelSQL = `
SELECT id
FROM   jobs
WHERE  status IN ('created', 'planning', 'running', 'reducing')
AND    (cancel_requested_at IS NOT NULL OR active_deadline_seconds > 0)
UNION ALL
SELECT id
FROM   jobs
WHERE  status IN ('failed', 'cancelled')
AND    completed_tasks + failed_tasks + cancelled_tasks < total_tasks
LIMIT  @limit`

// JobsToCancel returns the ids of jobs with a cancellation requested or a
// deadline set that have not ended, and of ended ones with open tasks.
func (s *Store) JobsToCancel(ctx context.Context, limit int) (_ []uuid.UUID, err error) {
	defer wrapf(&err, "list jobs to cancel")
	return s.jobKeys(ctx, jobsToCancelSQL, limit)
}

const jobsToDeleteSQL = `
SELECT id
FROM   jobs
WHERE  deletion_requested_at IS NOT NULL
UNION
SELECT id
FROM   jobs
WHERE  completed_at IS NOT NULL
AND    ttl_seconds_after_finished > 0
AND    extract(epoch FROM coalesce(@now::timestamptz, now()) - completed_at) >= ttl_seconds_after_finished
LIMIT  @limit`

// JobsToDelete returns the ids of jobs whose deletion was requested or whose
// time to live after their end has passed.
func (s *Store) JobsToDelete(ctx context.Context, limit int) (_ []uuid.UUID, err error) {
	defer wrapf(&err, "list jobs to delete")
	return s.jobKeys(ctx, jobsToDeleteSQL, limit)
}

func (s *Store) jobKeys(ctx context.Context, sql string, limit int) ([]uuid.UUID, error) {
	rows, err := s.pool.Query(ctx, sql, pgx.NamedArgs{"limit": limit, "now": s.now()})
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
}
