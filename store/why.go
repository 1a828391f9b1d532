package store

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	v1 "scimesh.dev/scimesh/api/v1"
)

const whyTasksSQL = `
SELECT count(*) FILTER (WHERE not_before > coalesce(@now::timestamptz, now())),
       min(not_before) FILTER (WHERE not_before > coalesce(@now::timestamptz, now()))
FROM   tasks
WHERE  job_id = @job
AND    lease_owner IS NULL
AND    completed_at IS NULL
AND    last_failed_by IS NOT NULL`

const whyAheadSQL = `
SELECT count(*)
FROM   jobs j
WHERE  j.status = 'running'
AND    NOT j.suspend
AND    j.cancel_requested_at IS NULL
AND    j.priority > @priority
AND    EXISTS (SELECT FROM tasks t WHERE t.job_id = j.id AND t.lease_owner IS NULL AND t.completed_at IS NULL)`

const whyWorkersSQL = `
WITH active AS (
    SELECT DISTINCT lease_owner
    FROM   tasks
    WHERE  lease_owner IS NOT NULL
), seen AS (
    SELECT w.capabilities ? @workload AS capable, w.status <> 'offline' AS online,
           @engine::text = '' OR ` + sameEngine + ` AS same_engine,
           w.quarantined_until IS NULL OR w.quarantined_until <= coalesce(@now::timestamptz, now()) AS healthy,
           w.quarantined_until, a.lease_owner IS NULL AS idle
    FROM   workers w
    LEFT JOIN active a ON a.lease_owner = w.id
)
SELECT count(*),
       count(*) FILTER (WHERE capable),
       count(*) FILTER (WHERE capable AND online),
       count(*) FILTER (WHERE capable AND online AND same_engine),
       count(*) FILTER (WHERE capable AND online AND same_engine AND healthy),
       count(*) FILTER (WHERE capable AND online AND same_engine AND healthy AND idle),
       min(quarantined_until) FILTER (WHERE capable AND online AND same_engine AND NOT healthy)
FROM   seen`

// Why gathers what an explanation of a waiting Job needs. A damaged Job is
// ErrDamaged, with the Job in the snapshot.
func (s *Store) Why(ctx context.Context, job uuid.UUID) (_ WhySnapshot, err error) {
	defer wrapf(&err, "look into job %s", job)

	var snap WhySnapshot
	err = pgx.BeginTxFunc(ctx, s.pool, readSnapshot, func(tx pgx.Tx) error {
		snap = WhySnapshot{}
		r, err := collectOne[jobRow](ctx, tx, getJobSQL, s.refArgs(job.String()))
		if err != nil {
			return err
		}
		snap.Job = r.job()
		args := pgx.NamedArgs{
			"job": job, "priority": r.Priority, "workload": r.Workload, "engine": r.Engine, "now": s.now(),
		}
		var retryAt, quarantine *time.Time
		if err := tx.QueryRow(ctx, whyTasksSQL, args).Scan(&snap.Waiting, &retryAt); err != nil {
			return err
		}
		if err := tx.QueryRow(ctx, whyAheadSQL, args).Scan(&snap.JobsAhead); err != nil {
			return err
		}
		w := &snap.Workers
		err = tx.QueryRow(ctx, whyWorkersSQL, args).
			Scan(&w.Registered, &w.Capable, &w.Online, &w.SameEngine, &w.Healthy, &w.Idle, &quarantine)
		snap.NextRetryAt, w.QuarantineEndsAt = utc(retryAt), utc(quarantine)
		snap.Ready = max(0, snap.Job.Tasks.Pending-snap.Waiting)
		return err
	})
	if err != nil {
		return snap, err
	}
	return snap, snap.Job.damageError()
}

const statsJobsSQL = `
SELECT status, count(*), coalesce(sum(total_tasks), 0)::bigint, coalesce(sum(completed_tasks), 0)::bigint,
       coalesce(sum(failed_tasks), 0)::bigint, coalesce(sum(cancelled_tasks), 0)::bigint
FROM   jobs
GROUP BY status`

const statsLeasesSQL = `
SELECT count(*) FILTER (WHERE status = 'leased'), count(*) FILTER (WHERE status = 'running')
FROM   tasks
WHERE  lease_owner IS NOT NULL`

const statsAgesSQL = `
SELECT coalesce(extract(epoch FROM coalesce(@now::timestamptz, now()) - (
           SELECT min(t.created_at)
           FROM   jobs j
           CROSS JOIN LATERAL (
               SELECT created_at FROM tasks
               WHERE  job_id = j.id AND lease_owner IS NULL AND completed_at IS NULL AND last_failed_by IS NULL
               ORDER BY chunk_index LIMIT 1
           ) t
           WHERE  j.status = 'running')), 0)::float8,
       coalesce((SELECT extract(epoch FROM max(now() - xact_start))
                 FROM   pg_stat_activity
                 WHERE  datname = current_database() AND backend_xmin IS NOT NULL AND pid <> pg_backend_pid()), 0)::float8`

// QueueStats reads gauges over the whole queue.
func (s *Store) QueueStats(ctx context.Context) (_ QueueStats, err error) {
	defer wrapf(&err, "read queue statistics")

	st := QueueStats{JobsByPhase: map[v1.JobPhase]int64{}, Workers: map[v1.WorkerPhase]int64{}}
	err = pgx.BeginTxFunc(ctx, s.pool, readSnapshot, func(tx pgx.Tx) error {
		if err := st.readJobs(ctx, tx); err != nil {
			return err
		}
		if err := tx.QueryRow(ctx, statsLeasesSQL).Scan(&st.Tasks.Leased, &st.Tasks.Running); err != nil {
			return err
		}
		t := &st.Tasks
		t.Pending = max(0, t.Total-t.Leased-t.Running-t.Completed-t.Failed-t.Cancelled)
		var pending, snapshot float64
		if err := tx.QueryRow(ctx, statsAgesSQL, pgx.NamedArgs{"now": s.now()}).Scan(&pending, &snapshot); err != nil {
			return err
		}
		st.OldestPendingAge, st.OldestSnapshotAge = seconds(pending), seconds(snapshot)
		return st.readWorkers(ctx, tx)
	})
	return st, err
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// readJobs counts all jobs by phase, and the tasks of those that have not ended.
func (st *QueueStats) readJobs(ctx context.Context, q querier) error {
	rows, err := q.Query(ctx, statsJobsSQL)
	if err != nil {
		return err
	}
	var phase v1.JobPhase
	var jobs, total, completed, failed, cancelled int64
	_, err = pgx.ForEachRow(rows, []any{&phase, &jobs, &total, &completed, &failed, &cancelled}, func() error {
		st.JobsByPhase[phase] = jobs
		if !phase.Final() {
			st.Tasks.Total += total
			st.Tasks.Completed += completed
			st.Tasks.Failed += failed
			st.Tasks.Cancelled += cancelled
		}
		return nil
	})
	return err
}

func (st *QueueStats) readWorkers(ctx context.Context, q querier) error {
	rows, err := q.Query(ctx, `SELECT status, count(*) FROM workers GROUP BY status`)
	if err != nil {
		return err
	}
	var phase v1.WorkerPhase
	var n int64
	_, err = pgx.ForEachRow(rows, []any{&phase, &n}, func() error {
		st.Workers[phase] = n
		return nil
	})
	return err
}
