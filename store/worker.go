package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	v1 "scimesh.dev/scimesh/api/v1"
)

const workerColumns = `
       w.id, w.name, w.capabilities, w.engine, w.cpu_count, w.memory_mb, w.status, w.last_heartbeat_at,
       cardinality(w.failure_streak) AS consecutive_failures, w.quarantines, w.quarantined_until, w.quarantine_reason,
       w.created_at, w.updated_at, coalesce(@now::timestamptz, now()) AS read_at,
       coalesce(l.active, 0) AS active`

// The leases are counted in one pass over their partial index.
const workerTables = `
FROM   workers w
LEFT JOIN (
    SELECT lease_owner, count(*) AS active
    FROM   tasks
    WHERE  lease_owner IS NOT NULL
    GROUP BY lease_owner
) l ON l.lease_owner = w.id`

type workerRow struct {
	ID                  uuid.UUID
	Name                string
	Capabilities        []byte
	Engine              string
	CPUCount            int32
	MemoryMB            int64
	Status              string
	LastHeartbeatAt     time.Time
	ConsecutiveFailures int32
	Quarantines         int32
	QuarantinedUntil    *time.Time
	QuarantineReason    string
	CreatedAt           time.Time
	UpdatedAt           time.Time
	ReadAt              time.Time
	Active              int64
}

func (r workerRow) worker() Worker {
	w := Worker{
		ID: r.ID, Name: r.Name, Engine: r.Engine, CPUCount: r.CPUCount, MemoryMB: r.MemoryMB,
		Phase: v1.WorkerPhase(r.Status), LastHeartbeatAt: r.LastHeartbeatAt.UTC(), ActiveTasks: r.Active,
		ConsecutiveFailures: r.ConsecutiveFailures, Quarantines: r.Quarantines,
		QuarantinedUntil: utc(r.QuarantinedUntil), QuarantineReason: r.QuarantineReason,
		CreatedAt: r.CreatedAt.UTC(), UpdatedAt: r.UpdatedAt.UTC(), ReadAt: r.ReadAt.UTC(),
	}
	// A damaged list is a worker that can do nothing.
	if json.Unmarshal(r.Capabilities, &w.Capabilities) != nil {
		w.Capabilities = nil
	}
	return w
}

const registerWorkerSQL = `
INSERT INTO workers AS w (id, name, capabilities, engine, cpu_count, memory_mb, status,
                          last_heartbeat_at, created_at, updated_at)
VALUES (@id, @name, @capabilities, @engine, @cpu_count, @memory_mb, 'online',
        coalesce(@now::timestamptz, now()), coalesce(@now::timestamptz, now()), coalesce(@now::timestamptz, now()))
ON CONFLICT (id) DO UPDATE
SET    name = excluded.name, capabilities = excluded.capabilities, engine = excluded.engine,
       cpu_count = excluded.cpu_count, memory_mb = excluded.memory_mb,
       status = CASE WHEN w.status = 'offline' THEN 'online' ELSE w.status END,
       last_heartbeat_at = excluded.last_heartbeat_at, updated_at = excluded.updated_at`

// RegisterWorker stores what a worker said of itself and makes it online. A
// known id keeps its history, its leases and its quarantine; an unknown one is
// accepted as new.
func (s *Store) RegisterWorker(ctx context.Context, p RegisterWorkerParams) (_ Worker, err error) {
	defer wrapf(&err, "register worker %q", p.Name)

	if p.ID == uuid.Nil {
		p.ID = NewID()
	}
	if p.Capabilities == nil {
		p.Capabilities = []string{}
	}
	var w Worker
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, registerWorkerSQL, pgx.NamedArgs{
			"id": p.ID, "name": p.Name, "capabilities": p.Capabilities, "engine": p.Engine,
			"cpu_count": p.CPUCount, "memory_mb": p.MemoryMB, "now": s.now(),
		})
		if err != nil {
			return err
		}
		w, err = s.getWorker(ctx, tx, p.ID)
		if err != nil {
			return err
		}
		return s.recordEvents(ctx, tx, Event{
			WorkerID: p.ID, Type: v1.EventNormal, Reason: "WorkerRegistered",
			Message: fmt.Sprintf("%s registered with %d CPUs", p.Name, p.CPUCount),
		})
	})
	s.workers.forget(p.ID)
	return w, err
}

const getWorkerSQL = `
SELECT` + workerColumns + workerTables + `
WHERE  w.id = @id`

// GetWorker returns a worker.
func (s *Store) GetWorker(ctx context.Context, id uuid.UUID) (_ Worker, err error) {
	defer wrapf(&err, "get worker %s", id)
	return s.getWorker(ctx, s.pool, id)
}

func (s *Store) getWorker(ctx context.Context, q querier, id uuid.UUID) (Worker, error) {
	r, err := collectOne[workerRow](ctx, q, getWorkerSQL, pgx.NamedArgs{"id": id, "now": s.now()})
	return r.worker(), err
}

const listWorkersSQL = `
SELECT` + workerColumns + workerTables + `
WHERE  (@after_name::text IS NULL OR (w.name, w.id) > (@after_name, @after_id::uuid))
AND    (@phases::text[] IS NULL OR w.status = ANY (@phases))
AND    (@capability::text IS NULL OR w.capabilities ? @capability)
ORDER BY w.name, w.id
LIMIT  @limit`

type nameCursor struct {
	Name string    `json:"n"`
	ID   uuid.UUID `json:"i"`
}

// ListWorkers lists workers by name.
func (s *Store) ListWorkers(ctx context.Context, f WorkerFilter, p Page) (_ List[Worker], err error) {
	defer wrapf(&err, "list workers")

	after, err := decodeCursor[nameCursor](p)
	if err != nil {
		return List[Worker]{}, err
	}
	rows, err := collect[workerRow](ctx, s.pool, listWorkersSQL, pgx.NamedArgs{
		"after_name": textOrNil(after.Name), "after_id": after.ID, "phases": textArray(f.Phases),
		"capability": textOrNil(f.Capability), "limit": p.limit() + 1, "now": s.now(),
	})
	if err != nil {
		return List[Worker]{}, err
	}
	workers := make([]Worker, len(rows))
	for i, r := range rows {
		workers[i] = r.worker()
	}
	return page(workers, p, func(w Worker) any { return nameCursor{w.Name, w.ID} }), nil
}
