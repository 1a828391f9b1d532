package store

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	v1 "scimesh.dev/scimesh/api/v1"
)

// touch notes a sign of life of a worker. It is written with the next flush:
// thousands of workers cost one statement a second.
func (s *Store) touch(worker uuid.UUID) {
	s.touchMu.Lock()
	defer s.touchMu.Unlock()
	s.touched[worker] = struct{}{}
}

const flushTouchesSQL = `
UPDATE workers
SET    last_heartbeat_at = greatest(last_heartbeat_at, coalesce(@now::timestamptz, now()))
WHERE  id IN (SELECT id FROM workers WHERE id = ANY (@ids::uuid[]) ORDER BY id FOR NO KEY UPDATE)`

// flushTouches writes the signs of life noted since the last flush. If that
// fails they are kept for the next one.
func (s *Store) flushTouches(ctx context.Context) (err error) {
	defer wrapf(&err, "write signs of life")
	s.touchMu.Lock()
	ids := make([]uuid.UUID, 0, len(s.touched))
	for id := range s.touched {
		ids = append(ids, id)
	}
	clear(s.touched)
	s.touchMu.Unlock()
	if len(ids) == 0 {
		return nil
	}
	if _, err = s.pool.Exec(ctx, flushTouchesSQL, pgx.NamedArgs{"ids": ids, "now": s.now()}); err != nil {
		for _, id := range ids {
			s.touch(id)
		}
	}
	return err
}

const sweepWorkersSQL = `
WITH active AS (
    SELECT lease_owner, count(*) AS tasks
    FROM   tasks
    WHERE  lease_owner IS NOT NULL
    GROUP BY lease_owner
), next AS (
    SELECT w.id, w.status AS old,
           CASE WHEN w.last_heartbeat_at < coalesce(@now::timestamptz, now()) - @offline_after::interval THEN 'offline'
                WHEN a.tasks > 0 THEN 'busy'
                ELSE 'online' END AS new
    FROM   workers w
    LEFT JOIN active a ON a.lease_owner = w.id
)
UPDATE workers w
SET    status = next.new, updated_at = coalesce(@now::timestamptz, now())
FROM   next
WHERE  w.id = next.id
AND    w.status = next.old
AND    next.old <> next.new
RETURNING w.id, w.name, next.old, next.new`

// SweepWorkers sets the phase of every worker by its last sign of life and its
// leases, and returns the changes.
func (s *Store) SweepWorkers(ctx context.Context, offlineAfter time.Duration) (changes []WorkerChange, err error) {
	defer wrapf(&err, "sweep workers")

	if err := s.flushTouches(ctx); err != nil {
		return nil, err
	}
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, sweepWorkersSQL, pgx.NamedArgs{"offline_after": offlineAfter, "now": s.now()})
		if err != nil {
			return err
		}
		changes, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (c WorkerChange, err error) {
			err = row.Scan(&c.Worker, &c.Name, &c.From, &c.To)
			return c, err
		})
		if err != nil {
			return err
		}
		return s.recordEvents(ctx, tx, workerEvents(changes)...)
	})
	for _, c := range changes {
		s.workers.forget(c.Worker)
	}
	return changes, err
}

// workerEvents tell of workers that went or came back; being busy is no event.
func workerEvents(changes []WorkerChange) []Event {
	var events []Event
	for _, c := range changes {
		switch {
		case c.To == v1.WorkerOffline:
			events = append(events, Event{WorkerID: c.Worker, Type: v1.EventWarning, Reason: "WorkerOffline",
				Message: fmt.Sprintf("%s has not been heard of", c.Name)})
		case c.From == v1.WorkerOffline:
			events = append(events, Event{WorkerID: c.Worker, Type: v1.EventNormal, Reason: "WorkerOnline",
				Message: fmt.Sprintf("%s is back", c.Name)})
		}
	}
	return events
}
