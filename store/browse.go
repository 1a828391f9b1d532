package store

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	v1 "scimesh.dev/scimesh/api/v1"
)

const pageTasksSQL = `
SELECT` + taskColumns + taskTables + `
WHERE  t.job_id = @job
AND    (@phases::text[] IS NULL OR t.status = ANY (@phases))
ORDER BY t.chunk_index
OFFSET @offset
LIMIT  @limit`

// PageTasks returns limit tasks of a Job in the order of their chunk index,
// from the one at offset among those of the given phases on. No phase means all.
func (s *Store) PageTasks(ctx context.Context, job uuid.UUID, phases []v1.TaskPhase, offset, limit int) (_ []Task, err error) {
	defer wrapf(&err, "page through tasks of job %s", job)
	rows, err := collect[taskRow](ctx, s.pool, pageTasksSQL, pgx.NamedArgs{
		"job": job, "phases": textArray(phases), "offset": offset, "limit": limit,
	})
	tasks := make([]Task, len(rows))
	for i, r := range rows {
		tasks[i] = r.task()
	}
	return tasks, err
}

// TaskCell counts neighbouring tasks of a Job by phase.
type TaskCell struct {
	// First is the chunk index of the first of them.
	First int32
	Tasks v1.TaskCounts
}

const taskCellsSQL = `
SELECT chunk_index / @size::int, count(*),
       count(*) FILTER (WHERE status = 'pending'), count(*) FILTER (WHERE status = 'leased'),
       count(*) FILTER (WHERE status = 'running'), count(*) FILTER (WHERE status = 'completed'),
       count(*) FILTER (WHERE status = 'failed'), count(*) FILTER (WHERE status = 'cancelled')
FROM   tasks
WHERE  job_id = @job
GROUP BY 1
ORDER BY 1`

// TaskCells returns all tasks of a Job in cells of size neighbours each, the
// last of which may hold less.
func (s *Store) TaskCells(ctx context.Context, job uuid.UUID, size int32) (cells []TaskCell, err error) {
	defer wrapf(&err, "survey tasks of job %s", job)
	rows, err := s.pool.Query(ctx, taskCellsSQL, pgx.NamedArgs{"job": job, "size": max(1, size)})
	if err != nil {
		return nil, err
	}
	var c TaskCell
	n := &c.Tasks
	_, err = pgx.ForEachRow(rows, []any{&c.First, &n.Total, &n.Pending, &n.Leased, &n.Running, &n.Completed, &n.Failed, &n.Cancelled}, func() error {
		c.First *= max(1, size)
		cells = append(cells, c)
		return nil
	})
	return cells, err
}

const recentEventsSQL = `
SELECT e.id, e.job_id, j.name AS job_name, e.task_id, e.worker_id, e.type, e.reason, e.message, e.created_at
FROM   events e
LEFT JOIN jobs j ON j.id = e.job_id
WHERE  (@job::uuid IS NULL OR e.job_id = @job)
AND    (@worker::uuid IS NULL OR e.worker_id = @worker)
AND    (NOT @warnings OR e.type = 'Warning')
ORDER BY e.id DESC
LIMIT  @limit`

// RecentEvents returns the newest events, newest first; with warnings, those alone.
func (s *Store) RecentEvents(ctx context.Context, f EventFilter, warnings bool, limit int) (_ []Event, err error) {
	defer wrapf(&err, "list recent events")
	rows, err := collect[eventRow](ctx, s.pool, recentEventsSQL, pgx.NamedArgs{
		"job": idPtr(f.Job), "worker": idPtr(f.Worker), "warnings": warnings, "limit": limit,
	})
	events := make([]Event, len(rows))
	for i, r := range rows {
		events[i] = r.event()
	}
	return events, err
}

// Ids of artifacts ascend with time, so the recent ones are the end of the
// primary key, however many there are in all. The coordinators' clocks, which
// make the ids, may differ from the database's by the slack.
const completedSQL = `
SELECT t.completed_by, count(*)
FROM   artifacts a
JOIN   tasks t ON t.id = a.task_id AND t.result_artifact_id = a.id
WHERE  a.id >= @floor
AND    t.completed_at > coalesce(@now::timestamptz, now()) - @window::interval
GROUP BY 1`

const completedSlack = 10 * time.Minute

// CompletedTasks counts the tasks completed within the last window, at most an
// hour, by worker.
func (s *Store) CompletedTasks(ctx context.Context, window time.Duration) (byWorker map[uuid.UUID]int64, err error) {
	defer wrapf(&err, "count completed tasks")
	now := time.Now()
	if s.cfg.Now != nil {
		now = s.cfg.Now()
	}
	rows, err := s.pool.Query(ctx, completedSQL, pgx.NamedArgs{
		"floor": firstIDAt(now.Add(-window - completedSlack)), "window": window, "now": s.now(),
	})
	if err != nil {
		return nil, err
	}
	byWorker = map[uuid.UUID]int64{}
	var worker uuid.UUID
	var n int64
	_, err = pgx.ForEachRow(rows, []any{&worker, &n}, func() error {
		byWorker[worker] = n
		return nil
	})
	return byWorker, err
}

// firstIDAt is the smallest UUIDv7 of a time.
func firstIDAt(t time.Time) (id uuid.UUID) {
	ms := t.UnixMilli()
	for i := range 6 {
		id[i] = byte(ms >> (40 - 8*i))
	}
	id[6], id[8] = 0x70, 0x80
	return id
}

const pulseSQL = `
SELECT concat_ws(' ',
       (SELECT max(id) FROM events WHERE @job::uuid IS NULL OR job_id = @job),
       (SELECT concat(count(*), ':', sum(version)) FROM jobs WHERE @job::uuid IS NULL OR id = @job),
       (SELECT concat(count(*), ':', sum(attempt), ':', count(*) FILTER (WHERE status = 'running'), ':', sum(progress))
        FROM   tasks WHERE lease_owner IS NOT NULL AND (@job::uuid IS NULL OR job_id = @job)),
       (SELECT concat(count(*), ':', count(*) FILTER (WHERE status = 'offline'), ':', count(*) FILTER (WHERE status = 'busy'))
        FROM   workers))`

// Pulse returns a text that differs from an earlier one if something has
// changed that people watch: in a Job, or with uuid.Nil in any.
func (s *Store) Pulse(ctx context.Context, job uuid.UUID) (pulse string, err error) {
	defer wrapf(&err, "read the pulse")
	err = s.pool.QueryRow(ctx, pulseSQL, pgx.NamedArgs{"job": idPtr(job)}).Scan(&pulse)
	return pulse, err
}

// WorkerAttempt is an attempt with the task that it was of.
type WorkerAttempt struct {
	Attempt
	JobName    string
	ChunkIndex int32
}

const failedAttemptsSQL = `
SELECT a.attempt, a.worker_id, a.outcome, a.error_code, a.error_message, a.started_at, a.ended_at,
       j.name AS job_name, t.chunk_index
FROM   attempts a
JOIN   tasks t ON t.id = a.task_id
JOIN   jobs j ON j.id = t.job_id
WHERE  a.worker_id = @worker
AND    a.outcome IN ('failed', 'lost')
ORDER BY a.ended_at DESC
LIMIT  @limit`

// FailedAttempts returns what a worker failed, or lost its lease of, last, newest first.
func (s *Store) FailedAttempts(ctx context.Context, worker uuid.UUID, limit int) (_ []WorkerAttempt, err error) {
	defer wrapf(&err, "list failed attempts of worker %s", worker)
	type row struct {
		Attempt      int32
		WorkerID     uuid.UUID
		Outcome      string
		ErrorCode    string
		ErrorMessage string
		StartedAt    time.Time
		EndedAt      time.Time
		JobName      string
		ChunkIndex   int32
	}
	rows, err := collect[row](ctx, s.pool, failedAttemptsSQL, pgx.NamedArgs{"worker": worker, "limit": limit})
	attempts := make([]WorkerAttempt, len(rows))
	for i, r := range rows {
		attempts[i] = WorkerAttempt{JobName: r.JobName, ChunkIndex: r.ChunkIndex, Attempt: Attempt{
			Attempt: r.Attempt, Worker: r.WorkerID, Outcome: v1.AttemptOutcome(r.Outcome), ErrorCode: r.ErrorCode,
			ErrorMessage: r.ErrorMessage, StartedAt: r.StartedAt.UTC(), EndedAt: r.EndedAt.UTC(),
		}}
	}
	return attempts, err
}
