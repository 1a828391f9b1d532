package store

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// invariants are queries that return (object, detail) for each thing that
// breaks a rule. Rules that a CHECK constraint holds are not repeated. What may be
// under way (an ended job whose tasks are being cancelled, a lease that
// has just run out, a job being deleted) is given time first.
var invariants = []struct{ name, sql string }{
	{"counters", `
		SELECT 'job/' || j.name, format('counters say completed %s, failed %s, cancelled %s of %s; tasks say %s, %s, %s of %s',
		       j.completed_tasks, j.failed_tasks, j.cancelled_tasks, j.total_tasks,
		       t.completed, t.failed, t.cancelled, t.total)
		FROM   jobs j
		CROSS JOIN LATERAL (
		    SELECT count(*) AS total, count(*) FILTER (WHERE status = 'completed') AS completed,
		           count(*) FILTER (WHERE status = 'failed') AS failed,
		           count(*) FILTER (WHERE status = 'cancelled') AS cancelled
		    FROM   tasks WHERE job_id = j.id
		) t
		WHERE  j.deletion_requested_at IS NULL
		AND    (j.total_tasks, j.completed_tasks, j.failed_tasks, j.cancelled_tasks)
		       IS DISTINCT FROM (t.total, t.completed, t.failed, t.cancelled)`},
	{"chunks", `
		SELECT 'job/' || j.name, 'chunk indexes are not 0 to ' || (j.total_tasks - 1)
		FROM   jobs j
		CROSS JOIN LATERAL (SELECT min(chunk_index) AS low, max(chunk_index) AS high FROM tasks WHERE job_id = j.id) t
		WHERE  j.deletion_requested_at IS NULL
		AND    j.total_tasks > 0
		AND    (t.low, t.high) IS DISTINCT FROM (0, (j.total_tasks - 1)::int)`},
	{"final-result", `
		SELECT 'job/' || j.name, 'its result is no final_result of this job'
		FROM   jobs j
		LEFT JOIN artifacts a ON a.id = j.result_artifact_id
		WHERE  j.status = 'completed'
		AND    (a.job_id, a.kind) IS DISTINCT FROM (j.id, 'final_result')`},
	{"partial-result", `
		SELECT 'task/' || t.id, 'its result is no partial_result of this task and its last attempt'
		FROM   tasks t
		LEFT JOIN artifacts a ON a.id = t.result_artifact_id
		WHERE  t.status = 'completed'
		AND    (a.task_id, a.kind, a.attempt) IS DISTINCT FROM (t.id, 'partial_result', t.attempt)`},
	{"attempts", `
		SELECT 'task/' || t.id, format('attempt %s, but %s attempts have ended', t.attempt, count(a.attempt))
		FROM   tasks t
		LEFT JOIN attempts a ON a.task_id = t.id
		GROUP BY t.id
		HAVING count(a.attempt) <> t.attempt - CASE WHEN coalesce(t.lease_owner, t.completed_by) IS NULL THEN 0 ELSE 1 END`},
	{"budget", `
		SELECT 'task/' || t.id, format('%s failures and %s lost leases counted, %s and %s recorded, %s permitted',
		       t.failures, t.lost_leases, a.failed, a.lost, t.max_attempts)
		FROM   tasks t
		CROSS JOIN LATERAL (
		    SELECT count(*) FILTER (WHERE outcome = 'failed') AS failed, count(*) FILTER (WHERE outcome = 'lost') AS lost
		    FROM   attempts WHERE task_id = t.id
		) a
		WHERE  t.failures > a.failed
		OR     t.lost_leases <> a.lost
		OR     t.status IN ('pending', 'leased', 'running') AND greatest(t.failures, t.lost_leases) >= t.max_attempts`},
	{"lease-overdue", `
		SELECT 'task/' || id, 'its lease ran out at ' || lease_expires_at
		FROM   tasks
		WHERE  lease_owner IS NOT NULL
		AND    lease_expires_at < coalesce(@now::timestamptz, now()) - interval '5 minutes'`},
	{"lease-owner", `
		SELECT 'task/' || t.id, 'leased to worker ' || t.lease_owner || ', which does not exist'
		FROM   tasks t
		LEFT JOIN workers w ON w.id = t.lease_owner
		WHERE  t.lease_owner IS NOT NULL
		AND    w.id IS NULL`},
	{"parallelism", `
		SELECT 'job/' || j.name, format('%s tasks leased, %s permitted', t.leased, j.parallelism)
		FROM   jobs j
		CROSS JOIN LATERAL (
		    SELECT count(*) AS leased FROM tasks WHERE job_id = j.id AND lease_owner IS NOT NULL
		) t
		WHERE  j.parallelism > 0
		AND    j.generation = 1
		AND    t.leased > j.parallelism`},
	{"unsettled", `
		SELECT 'job/' || name, 'ended at ' || completed_at || ' and still has open tasks'
		FROM   jobs
		WHERE  status IN ('failed', 'cancelled')
		AND    completed_tasks + failed_tasks + cancelled_tasks < total_tasks
		AND    completed_at < coalesce(@now::timestamptz, now()) - interval '5 minutes'`},
	{"step", `
		SELECT 'job/' || name, 'in phase ' || status || ' and held by coordinator ' || step_owner
		FROM   jobs
		WHERE  step_owner IS NOT NULL
		AND    status NOT IN ('planning', 'reducing')`},
	{"input", `
		SELECT 'task/' || t.id, 'its input is no shard of this task'
		FROM   tasks t
		LEFT JOIN artifacts a ON a.id = t.input_artifact_id
		WHERE  t.input_artifact_id IS NOT NULL
		AND    (a.task_id, a.kind, a.sha256) IS DISTINCT FROM (t.id, 'shard', t.input_sha256)`},
	{"future-artifact", `
		SELECT 'artifact/' || a.id, format('of attempt %s of a task at attempt %s', a.attempt, t.attempt)
		FROM   artifacts a
		JOIN   tasks t ON t.id = a.task_id
		WHERE  a.attempt > t.attempt`},
}

// Verify checks the invariants that SQL can check, and that every job can be
// decoded, and returns what breaks them. It reads whole tables.
func (s *Store) Verify(ctx context.Context) (violations []Violation, err error) {
	defer wrapf(&err, "verify")

	err = pgx.BeginTxFunc(ctx, s.pool, readSnapshot, func(tx pgx.Tx) error {
		violations = nil
		if _, err := tx.Exec(ctx, `SELECT set_config('statement_timeout', $1, true)`, millis(planTimeout)); err != nil {
			return err
		}
		for _, inv := range invariants {
			rows, err := tx.Query(ctx, inv.sql, pgx.NamedArgs{"now": s.now()})
			if err != nil {
				return fmt.Errorf("%s: %w", inv.name, translate(err))
			}
			var object, detail string
			_, err = pgx.ForEachRow(rows, []any{&object, &detail}, func() error {
				violations = append(violations, Violation{Invariant: inv.name, Object: object, Detail: detail})
				return nil
			})
			if err != nil {
				return fmt.Errorf("%s: %w", inv.name, translate(err))
			}
		}
		damaged, err := s.verifyRows(ctx, tx)
		violations = append(violations, damaged...)
		return err
	})
	return violations, err
}

const verifyRowsSQL = `
SELECT` + jobColumns + `, j.plan` + jobTables + `
WHERE  j.id > @after
ORDER BY j.id
LIMIT  500`

// verifyRows decodes every job, some at a time.
func (s *Store) verifyRows(ctx context.Context, q querier) ([]Violation, error) {
	var violations []Violation
	for after := uuid.Nil; ; {
		rows, err := collect[jobRow](ctx, q, verifyRowsSQL, pgx.NamedArgs{"after": after, "now": s.now()})
		if err != nil || len(rows) == 0 {
			return violations, err
		}
		for _, r := range rows {
			if j := r.job(); j.Damage != "" {
				violations = append(violations, Violation{Invariant: "decodable", Object: "job/" + j.Name, Detail: j.Damage})
			}
			after = r.ID
		}
	}
}
