package store

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// The queries below give the reconcilers their keys at a resync, a page at a
// time in order of id: those after the id after, at most limit. Each is served
// by a partial index over jobs that have not ended, or that wait for just this,
// so it costs the same however many jobs have ended. Jobs that another
// coordinator works on are in them: taking the step tells them apart.

const jobsToPlanSQL = `
SELECT id
FROM   jobs
WHERE  (status IN ('created', 'planning')
        OR status = 'running' AND completed_tasks = total_tasks AND plan -> 'more' = 'true')
AND    cancel_requested_at IS NULL
AND    id > @after
ORDER BY id
LIMIT  @limit`

// JobsToPlan returns the ids of jobs that wait for the planner: for a plan, or for
// further tasks after those that have completed.
func (s *Store) JobsToPlan(ctx context.Context, after uuid.UUID, limit int) (_ []uuid.UUID, err error) {
	defer wrapf(&err, "list jobs to plan")
	return s.jobKeys(ctx, jobsToPlanSQL, after, limit)
}

const jobsToReduceSQL = `
SELECT id
FROM   jobs
WHERE  status IN ('running', 'reducing')
AND    (status = 'reducing' OR failed_tasks > 0 OR completed_tasks + failed_tasks + cancelled_tasks = total_tasks)
AND    cancel_requested_at IS NULL
AND    id > @after
ORDER BY id
LIMIT  @limit`

// JobsToReduce returns the ids of jobs that wait for the reducer: no open
// task is left, a task has failed for good, or a reduction was begun.
func (s *Store) JobsToReduce(ctx context.Context, after uuid.UUID, limit int) (_ []uuid.UUID, err error) {
	defer wrapf(&err, "list jobs to reduce")
	return s.jobKeys(ctx, jobsToReduceSQL, after, limit)
}

const jobsToCancelSQL = `
SELECT id
FROM   jobs
WHERE  status IN ('created', 'planning', 'running', 'reducing')
AND    id > @after
UNION ALL
SELECT id
FROM   jobs
WHERE  unsettled
AND    id > @after
ORDER BY id
LIMIT  @limit`

// JobsToCancel returns the ids of jobs that have not ended, and of ended ones
// with open tasks. All open ones are in it, so that a damaged one is found too.
func (s *Store) JobsToCancel(ctx context.Context, after uuid.UUID, limit int) (_ []uuid.UUID, err error) {
	defer wrapf(&err, "list jobs to cancel")
	return s.jobKeys(ctx, jobsToCancelSQL, after, limit)
}

const jobsToDeleteSQL = `
SELECT id
FROM   jobs
WHERE  deletion_requested_at IS NOT NULL
AND    id > @after
UNION
SELECT id
FROM   jobs
WHERE  completed_at IS NOT NULL
AND    ttl_seconds_after_finished > 0
AND    extract(epoch FROM coalesce(@now::timestamptz, now()) - completed_at) >= ttl_seconds_after_finished
AND    id > @after
ORDER BY id
LIMIT  @limit`

// JobsToDelete returns the ids of jobs whose deletion was requested or whose
// time to live after their end has passed.
func (s *Store) JobsToDelete(ctx context.Context, after uuid.UUID, limit int) (_ []uuid.UUID, err error) {
	defer wrapf(&err, "list jobs to delete")
	return s.jobKeys(ctx, jobsToDeleteSQL, after, limit)
}

func (s *Store) jobKeys(ctx context.Context, sql string, after uuid.UUID, limit int) ([]uuid.UUID, error) {
	rows, err := s.pool.Query(ctx, sql, pgx.NamedArgs{"after": after, "limit": limit, "now": s.now()})
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
}
