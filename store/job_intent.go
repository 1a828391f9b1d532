package store

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	v1 "scimesh.dev/scimesh/api/v1"
)

const requestCancelSQL = `
UPDATE jobs
SET    cancel_requested_at = coalesce(@now::timestamptz, now()),
       version = version + 1, updated_at = coalesce(@now::timestamptz, now())
WHERE  (id = @id OR name = @name)
AND    cancel_requested_at IS NULL
AND    status NOT IN ('completed', 'failed', 'cancelled')
RETURNING id`

// RequestCancel records that the Job is to be cancelled. It returns the Job
// and has no effect on one that has ended.
func (s *Store) RequestCancel(ctx context.Context, ref string) (_ Job, err error) {
	defer wrapf(&err, "cancel job %q", ref)
	return s.request(ctx, ref, requestCancelSQL, "CancelRequested", "cancellation was requested")
}

const requestDeleteSQL = `
UPDATE jobs
SET    deletion_requested_at = coalesce(@now::timestamptz, now()),
       cancel_requested_at = CASE
           WHEN status IN ('completed', 'failed', 'cancelled') THEN cancel_requested_at
           ELSE coalesce(cancel_requested_at, @now::timestamptz, now())
       END,
       version = version + 1, updated_at = coalesce(@now::timestamptz, now())
WHERE  (id = @id OR name = @name)
AND    deletion_requested_at IS NULL
RETURNING id`

// RequestDelete records that the Job is to be cancelled, if it has not ended,
// and deleted.
func (s *Store) RequestDelete(ctx context.Context, ref string) (_ Job, err error) {
	defer wrapf(&err, "delete job %q", ref)
	return s.request(ctx, ref, requestDeleteSQL, "DeletionRequested", "deletion was requested")
}

// request runs an UPDATE that records an intent once, and returns the Job.
func (s *Store) request(ctx context.Context, ref, sql, reason, message string) (Job, error) {
	var job Job
	err := s.inTx(ctx, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, sql, s.refArgs(ref))
		if err != nil {
			return err
		}
		changed, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
		if err != nil {
			return err
		}
		for _, id := range changed {
			event := Event{JobID: id, Type: v1.EventNormal, Reason: reason, Message: message}
			if err := s.recordEvents(ctx, tx, event); err != nil {
				return err
			}
			if err := notifyJob(ctx, tx, id); err != nil {
				return err
			}
		}
		r, err := collectOne[jobRow](ctx, tx, getJobSQL, s.refArgs(ref))
		job = r.job()
		return err
	})
	return job, err
}
