package store

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	v1 "scimesh.dev/scimesh/api/v1"
)

// CodeLeaseExpired is the error code of a task that lost too many leases.
const CodeLeaseExpired = "LeaseExpired"

// The leases alone are scanned, through their partial index.
const expireLeasesSQL = `
WITH gone AS (
    SELECT id, attempt, lease_owner, leased_at, lost_leases + 1 AS lost, max_attempts
    FROM   tasks
    WHERE  lease_owner IS NOT NULL
    AND    lease_expires_at <= coalesce(@now::timestamptz, now())
    ORDER BY id
    LIMIT  @limit
    FOR UPDATE SKIP LOCKED
), ended AS (
    INSERT INTO attempts (task_id, attempt, worker_id, outcome, error_code, error_message, started_at, ended_at)
    SELECT id, attempt, lease_owner, 'lost', @code, 'the lease expired', leased_at, coalesce(@now::timestamptz, now())
    FROM   gone
)
UPDATE tasks t
SET    status = CASE WHEN gone.lost < gone.max_attempts THEN 'pending' ELSE 'failed' END,
       completed_at = CASE WHEN gone.lost < gone.max_attempts THEN NULL ELSE coalesce(@now::timestamptz, now()) END,
       lost_leases = gone.lost, lease_owner = NULL, lease_expires_at = NULL, progress = NULL,
       error_code = @code, error_message = 'the lease expired', version = t.version + 1
FROM   gone
WHERE  t.id = gone.id
RETURNING t.id, t.job_id, t.chunk_index, t.status, gone.lease_owner AS worker, gone.attempt`

type expiredRow struct {
	ID         uuid.UUID
	JobID      uuid.UUID
	ChunkIndex int32
	Status     v1.TaskPhase
	Worker     uuid.UUID
	Attempt    int32
}

// ExpireLeases ends up to limit leases that have run out. Their tasks are
// pending again at once, or fail at the last lost lease that is permitted.
func (s *Store) ExpireLeases(ctx context.Context, limit int) (_ Expired, err error) {
	defer wrapf(&err, "expire leases")
	if err := s.ensureBeat(ctx); err != nil {
		return Expired{}, err
	}
	var rows []expiredRow
	err = s.inTx(ctx, func(tx pgx.Tx) (err error) {
		rows, err = collect[expiredRow](ctx, tx, expireLeasesSQL, pgx.NamedArgs{
			"limit": limit, "code": CodeLeaseExpired, "now": s.now(),
		})
		if err != nil {
			return err
		}
		failed, events := map[uuid.UUID]int{}, make([]Event, 0, len(rows))
		for _, r := range rows {
			events = append(events, r.event())
			if r.Status == v1.TaskFailed {
				failed[r.JobID]++
			}
		}
		return s.countFailed(ctx, tx, failed, events...)
	})
	if err != nil {
		return Expired{}, err
	}
	var sum Expired
	for _, r := range rows {
		s.dispatch.freed(r.JobID)
		if r.Status == v1.TaskFailed {
			sum.Failed++
			continue
		}
		sum.Requeued++
		s.dispatch.requeued(r.JobID, r.ChunkIndex)
	}
	return sum, nil
}

func (r expiredRow) event() Event {
	e := Event{JobID: r.JobID, TaskID: r.ID, WorkerID: r.Worker, Type: v1.EventWarning, Reason: "LeaseExpired",
		Message: fmt.Sprintf("attempt %d of task %d was lost with its worker", r.Attempt, r.ChunkIndex)}
	if r.Status == v1.TaskFailed {
		e.Reason = "TaskFailed"
		e.Message += "; no lost lease is permitted any more"
	}
	return e
}
