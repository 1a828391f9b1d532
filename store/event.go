package store

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	v1 "scimesh.dev/scimesh/api/v1"
)

const insertEventsSQL = `
INSERT INTO events (job_id, task_id, worker_id, type, reason, message, created_at)
SELECT nullif(e.job, @nil::uuid), nullif(e.task, @nil::uuid), nullif(e.worker, @nil::uuid),
       e.type, e.reason, e.message, coalesce(@now::timestamptz, now())
FROM   unnest(@jobs::uuid[], @tasks::uuid[], @workers::uuid[], @types::text[], @reasons::text[], @messages::text[])
       AS e(job, task, worker, type, reason, message)`

// maxEventMessage bounds the message of an event, in bytes.
const maxEventMessage = 1024

// recordEvents stores events, in the transaction of what they tell about.
func (s *Store) recordEvents(ctx context.Context, q querier, events ...Event) error {
	if len(events) == 0 {
		return nil
	}
	var jobs, tasks, workers []uuid.UUID
	var types, reasons, messages []string
	for _, e := range events {
		jobs, tasks, workers = append(jobs, e.JobID), append(tasks, e.TaskID), append(workers, e.WorkerID)
		types, reasons = append(types, string(e.Type)), append(reasons, e.Reason)
		messages = append(messages, cutText(e.Message, maxEventMessage))
	}
	_, err := q.Exec(ctx, insertEventsSQL, pgx.NamedArgs{
		"nil": uuid.Nil, "now": s.now(), "jobs": jobs, "tasks": tasks, "workers": workers,
		"types": types, "reasons": reasons, "messages": messages,
	})
	return err
}

// RecordEvent stores an event; its id and time are filled in.
func (s *Store) RecordEvent(ctx context.Context, e Event) (err error) {
	defer wrapf(&err, "record event %s", e.Reason)
	return s.recordEvents(ctx, s.pool, e)
}

type eventRow struct {
	ID        int64
	JobID     *uuid.UUID
	JobName   *string
	TaskID    *uuid.UUID
	WorkerID  *uuid.UUID
	Type      string
	Reason    string
	Message   string
	CreatedAt time.Time
}

func (r eventRow) event() Event {
	return Event{
		ID: r.ID, JobID: id(r.JobID), JobName: deref(r.JobName), TaskID: id(r.TaskID), WorkerID: id(r.WorkerID),
		Type: v1.EventType(r.Type), Reason: r.Reason, Message: r.Message, CreatedAt: r.CreatedAt.UTC(),
	}
}

const listEventsSQL = `
SELECT e.id, e.job_id, j.name AS job_name, e.task_id, e.worker_id, e.type, e.reason, e.message, e.created_at
FROM   events e
LEFT JOIN jobs j ON j.id = e.job_id
WHERE  e.id > @after
AND    (@job::uuid IS NULL OR e.job_id = @job)
AND    (@worker::uuid IS NULL OR e.worker_id = @worker)
ORDER BY e.id
LIMIT  @limit`

// ListEvents lists events, oldest first, in the order in which they were recorded. An event
// whose transaction was long may appear behind one that a reader has passed.
func (s *Store) ListEvents(ctx context.Context, f EventFilter, p Page) (_ List[Event], err error) {
	defer wrapf(&err, "list events")

	after, err := decodeCursor[int64](p)
	if err != nil {
		return List[Event]{}, err
	}
	rows, err := collect[eventRow](ctx, s.pool, listEventsSQL, pgx.NamedArgs{
		"after": max(after, f.After), "job": idPtr(f.Job), "worker": idPtr(f.Worker), "limit": p.limit() + 1,
	})
	if err != nil {
		return List[Event]{}, err
	}
	events := make([]Event, len(rows))
	for i, r := range rows {
		events[i] = r.event()
	}
	return page(events, p, func(e Event) any { return e.ID }), nil
}

const deleteEventsSQL = `
DELETE FROM events
WHERE  id IN (
    SELECT id
    FROM   events
    WHERE  created_at < coalesce(@now::timestamptz, now()) - @age::interval
    LIMIT  @limit)`

// DeleteEvents removes up to limit events older than age, and returns how many.
func (s *Store) DeleteEvents(ctx context.Context, age time.Duration, limit int) (_ int, err error) {
	defer wrapf(&err, "delete events")
	tag, err := s.pool.Exec(ctx, deleteEventsSQL, pgx.NamedArgs{"now": s.now(), "age": age, "limit": limit})
	return int(tag.RowsAffected()), err
}

func deref[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}

// cutText cuts s to at most n bytes without splitting a character.
func cutText(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n]
}
