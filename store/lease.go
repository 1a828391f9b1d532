package store

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"scimesh.dev/scimesh/store/batch"
)

// leaseArgs are the arguments @tasks, @workers and @attempts of a batch.
func leaseArgs[T any](items []T, lease func(T) Lease) (args pgx.NamedArgs) {
	tasks, workers, attempts := make([]uuid.UUID, len(items)), make([]uuid.UUID, len(items)), make([]int32, len(items))
	for i, item := range items {
		l := lease(item)
		tasks[i], workers[i], attempts[i] = l.Task, l.Worker, l.Attempt
	}
	return pgx.NamedArgs{"tasks": tasks, "workers": workers, "attempts": attempts}
}

// The fence of a lease: owner and expiry are set exactly while a task is leased
// or running (tasks_lease_check). A plain lease_owner = @worker would let the planner
// walk the index of leases instead of the primary key, when its statistics
// come from a moment without leases; IS NOT DISTINCT FROM means the same here and does not.
const checkLeaseSQL = `
SELECT lease_expires_at
FROM   tasks
WHERE  id = @task
AND    lease_owner IS NOT DISTINCT FROM @worker
AND    attempt = @attempt
AND    lease_expires_at > coalesce(@now::timestamptz, now())`

// CheckLease returns when a lease that is still held expires, or ErrLeaseLost.
func (s *Store) CheckLease(ctx context.Context, l Lease) (_ time.Time, err error) {
	defer wrapf(&err, "check lease on task %s", l.Task)
	if err := s.ensureBeat(ctx); err != nil {
		return time.Time{}, err
	}
	var expires time.Time
	err = s.pool.QueryRow(ctx, checkLeaseSQL, pgx.NamedArgs{
		"task": l.Task, "worker": l.Worker, "attempt": l.Attempt, "now": s.now(),
	}).Scan(&expires)
	if errors.Is(err, pgx.ErrNoRows) {
		return time.Time{}, ErrLeaseLost
	}
	return expires.UTC(), err
}

// A place in the lists of a batch is that of the task; see eachTaskOnce. The
// plan reads nothing but the tasks, by their keys.
const renewLeasesSQL = `
UPDATE tasks t
SET    lease_expires_at = coalesce(@now::timestamptz, now()) + @ttl::interval,
       status = 'running',
       progress = coalesce((@progress::real[])[array_position(@tasks::uuid[], t.id)], t.progress)
WHERE  t.id = ANY (@tasks::uuid[])
AND    t.lease_owner IS NOT DISTINCT FROM (@workers::uuid[])[array_position(@tasks::uuid[], t.id)]
AND    t.attempt = (@attempts::int[])[array_position(@tasks::uuid[], t.id)]
AND    t.lease_expires_at > coalesce(@now::timestamptz, now())
RETURNING t.id AS task, t.lease_owner AS worker, t.attempt, t.lease_expires_at,
          (SELECT j.status <> 'running' OR j.cancel_requested_at IS NOT NULL FROM jobs j WHERE j.id = t.job_id) AS cancel`

var renewLeases = newStatement(renewLeasesSQL)

type renewedRow struct {
	Lease
	LeaseExpiresAt time.Time
	Cancel         bool
}

// RenewLease extends a lease that its worker still holds, by the TTL from now.
// The first renewal makes the task running.
func (s *Store) RenewLease(ctx context.Context, p RenewLeaseParams) (_ Renewal, err error) {
	defer wrapf(&err, "renew lease on task %s", p.Task)
	if err := s.ensureBeat(ctx); err != nil {
		return Renewal{}, err
	}
	s.touch(p.Worker)
	return s.renewals.Do(ctx, p)
}

func (s *Store) newRenewals() *batch.Queue[RenewLeaseParams, Renewal] {
	run := eachTaskOnce(func(p RenewLeaseParams) uuid.UUID { return p.Task }, s.renewBatch)
	return batch.New(run, batch.Options[RenewLeaseParams, Renewal]{Timeout: s.cfg.QueryTimeout, Isolate: isolate})
}

func (s *Store) renewBatch(ctx context.Context, items []RenewLeaseParams) ([]batch.Result[Renewal], error) {
	args := leaseArgs(items, func(p RenewLeaseParams) Lease { return p.Lease })
	progress := make([]*float64, len(items))
	for i, p := range items {
		progress[i] = p.Progress
	}
	args["progress"], args["ttl"], args["now"] = progress, s.cfg.LeaseTTL, s.now()
	rows, err := again(func() ([]renewedRow, error) { return collectHot[renewedRow](ctx, s.renewPool, renewLeases, args) })
	if err != nil {
		return nil, err
	}
	renewed := make(map[Lease]Renewal, len(rows))
	for _, r := range rows {
		renewed[r.Lease] = Renewal{ExpiresAt: r.LeaseExpiresAt.UTC(), Cancel: r.Cancel}
	}
	results := make([]batch.Result[Renewal], len(items))
	for i, p := range items {
		if r, ok := renewed[p.Lease]; ok {
			results[i].Value = r
		} else {
			results[i].Err = ErrLeaseLost
		}
	}
	return results, nil
}

// eachTaskOnce runs a batch whose statement finds the place of a task in its
// lists: if a task comes twice, for instance with the leases of two attempts, it
// comes in two batches.
func eachTaskOnce[Req, Res any](task func(Req) uuid.UUID, run func(context.Context, []Req) ([]batch.Result[Res], error)) func(context.Context, []Req) ([]batch.Result[Res], error) {
	return func(ctx context.Context, items []Req) ([]batch.Result[Res], error) {
		now, later := distinct(items, task)
		if len(later) == 0 {
			return run(ctx, items)
		}
		results := make([]batch.Result[Res], len(items))
		for first := true; len(now) > 0; first = false {
			got, err := run(ctx, choose(items, now))
			if err != nil && first {
				return nil, err
			}
			for n, i := range now {
				if results[i].Err = err; err == nil {
					results[i] = got[n]
				}
			}
			next := later
			now, later = distinct(choose(items, next), task)
			now, later = choose(next, now), choose(next, later)
		}
		return results, nil
	}
}

// distinct returns the places of items whose task comes for the first time,
// and those of the others.
func distinct[T any](items []T, task func(T) uuid.UUID) (first, later []int) {
	seen := make(map[uuid.UUID]bool, len(items))
	for i, item := range items {
		if id := task(item); seen[id] {
			later = append(later, i)
		} else {
			seen[id] = true
			first = append(first, i)
		}
	}
	return first, later
}

// choose returns the items at some places.
func choose[T any](items []T, places []int) []T {
	chosen := make([]T, len(places))
	for n, i := range places {
		chosen[n] = items[i]
	}
	return chosen
}

// again runs a statement that stands alone, once more if the database broke it off for a deadlock.
func again[T any](fn func() (T, error)) (v T, err error) {
	for range txAttempts {
		if v, err = fn(); !retryable(err) {
			break
		}
	}
	return v, err
}

// A task of a job that is no longer running goes back too: the canceller takes it from there.
const releaseTaskSQL = `
WITH held AS (
    SELECT id, attempt, lease_owner, leased_at
    FROM   tasks
    WHERE  id = @task
    AND    lease_owner IS NOT DISTINCT FROM @worker
    AND    attempt = @attempt
    AND    lease_expires_at > coalesce(@now::timestamptz, now())
    FOR UPDATE
), ended AS (
    INSERT INTO attempts (task_id, attempt, worker_id, outcome, started_at, ended_at)
    SELECT id, attempt, lease_owner, 'released', leased_at, coalesce(@now::timestamptz, now())
    FROM   held
)
UPDATE tasks t
SET    status = 'pending', lease_owner = NULL, lease_expires_at = NULL, progress = NULL, version = t.version + 1
FROM   held
WHERE  t.id = held.id
RETURNING t.job_id, t.chunk_index`

// ReleaseTask hands a task back: it is pending again and nothing is counted.
// The attempt's number stays spent, so that the worker cannot come back to it.
func (s *Store) ReleaseTask(ctx context.Context, l Lease) (err error) {
	defer wrapf(&err, "hand back task %s", l.Task)
	if err := s.ensureBeat(ctx); err != nil {
		return err
	}
	var job uuid.UUID
	var chunk int32
	err = s.pool.QueryRow(ctx, releaseTaskSQL, pgx.NamedArgs{
		"task": l.Task, "worker": l.Worker, "attempt": l.Attempt, "now": s.now(),
	}).Scan(&job, &chunk)
	if errors.Is(err, pgx.ErrNoRows) {
		return ErrLeaseLost
	}
	if err == nil {
		s.dispatch.requeued(job, chunk)
	}
	return err
}
