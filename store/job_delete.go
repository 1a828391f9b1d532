package store

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	v1 "scimesh.dev/scimesh/api/v1"
)

// In this order no foreign key is in the way. The tasks' artifacts refer to
// tasks and the tasks to artifacts; the former are checked at commit.
var deleteTasksSQL = []string{
	`DELETE FROM task_logs WHERE task_id = ANY ($1)`,
	`DELETE FROM attempts WHERE task_id = ANY ($1)`,
	`DELETE FROM tasks WHERE id = ANY ($1)`,
	`DELETE FROM artifacts WHERE task_id = ANY ($1)`,
}

// The job goes before its artifacts: their references to it are checked at commit.
var deleteJobSQL = []string{
	`DELETE FROM jobs WHERE id = $1`,
	`DELETE FROM artifacts WHERE job_id = $1`,
	`DELETE FROM events WHERE job_id = $1`,
}

const markDeletionSQL = `
UPDATE jobs
SET    deletion_requested_at = coalesce(@now::timestamptz, now())
WHERE  id = @job
AND    deletion_requested_at IS NULL`

// DeleteJob removes up to limit tasks, with all that belongs to them, of a
// Job that has ended, and in the end the Job. It reports whether the Job is
// gone. Blobs are left to the janitor. The counters of a Job whose tasks are
// going say what it had.
func (s *Store) DeleteJob(ctx context.Context, job uuid.UUID, limit int) (gone bool, err error) {
	defer wrapf(&err, "delete job %s", job)
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		gone = false
		var phase v1.JobPhase
		if err := tx.QueryRow(ctx, `SELECT status FROM jobs WHERE id = $1 FOR UPDATE`, job).Scan(&phase); err != nil {
			return err
		}
		if !phase.Final() {
			return &PhaseError{Phase: string(phase)}
		}
		if _, err := tx.Exec(ctx, markDeletionSQL, pgx.NamedArgs{"job": job, "now": s.now()}); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, `SELECT id FROM tasks WHERE job_id = $1 LIMIT $2`, job, limit)
		if err != nil {
			return err
		}
		tasks, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
		if err != nil {
			return err
		}
		if len(tasks) > 0 {
			return execAll(ctx, tx, deleteTasksSQL, tasks)
		}
		gone = true
		return execAll(ctx, tx, deleteJobSQL, job)
	})
	return gone, err
}

func execAll(ctx context.Context, q querier, statements []string, arg any) error {
	for _, sql := range statements {
		if _, err := q.Exec(ctx, sql, arg); err != nil {
			return err
		}
	}
	return nil
}
