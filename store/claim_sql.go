package store

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// claimTasksSQL leases the first tasks of one job, one to each worker of a list. Job and
// workers are checked here once more, because the lists in memory lag behind. Tasks
// that others are claiming right now are skipped.
const claimTasksSQL = `
WITH candidate AS (
    SELECT id
    FROM   tasks
    WHERE  job_id = @job
    AND    lease_owner IS NULL
    AND    completed_at IS NULL
    AND    last_failed_by IS NULL
    AND    chunk_index >= @floor
    ORDER BY chunk_index
    LIMIT  @limit
    FOR UPDATE SKIP LOCKED
), picked AS (
    SELECT ARRAY (SELECT id FROM candidate) AS tasks
)` + leasePairsSQL

// leasePairsSQL gives each task of picked to the worker at its place in the
// list. All that is joined are lists: so there is one plan, which reads the
// rows of the batch by their keys, whatever the statistics say.
const leasePairsSQL = `, fit AS (
    SELECT ARRAY (
        SELECT w.id
        FROM   workers w
        WHERE  w.id = ANY (@workers::uuid[])` + workerFence + `
    ) AS workers
)
UPDATE tasks t
SET    status = 'leased', attempt = t.attempt + 1, lease_owner = (@workers::uuid[])[array_position(picked.tasks, t.id)],
       lease_expires_at = coalesce(@now::timestamptz, now()) + @ttl::interval,
       leased_at = coalesce(@now::timestamptz, now()),
       started_at = coalesce(t.started_at, @now::timestamptz, now()),
       version = t.version + 1
FROM   picked, fit
WHERE  t.id = ANY (picked.tasks)
AND    (@workers::uuid[])[array_position(picked.tasks, t.id)] = ANY (fit.workers)
AND    EXISTS (
    SELECT FROM jobs j
    WHERE  j.id = @job
    AND    j.status = 'running'
    AND    NOT j.suspend
    AND    j.cancel_requested_at IS NULL
    AND    j.deletion_requested_at IS NULL
    AND    (j.engine IS NULL OR j.engine = @engine)
)
RETURNING t.id, t.lease_owner AS worker, t.attempt, t.lease_expires_at, t.chunk_index, t.input_uri, t.input_sha256, t.inputs, t.parameters,
          (SELECT a.size_bytes FROM artifacts a WHERE a.id = t.input_artifact_id) AS input_bytes`

const workerFence = `
        AND    w.status <> 'offline'
        AND    ` + sameEngine + `
        AND    w.capabilities ? @workload
        AND    (w.quarantined_until IS NULL OR w.quarantined_until <= coalesce(@now::timestamptz, now()))`

// sameEngine compares the engine of a worker with that of a Job, which is a model
// if any engine of that model may compute it.
const sameEngine = `(w.engine = @engine
                         OR @engine LIKE 'rdkit-model/%' AND right(w.engine, length(@engine) + 1) = ' ' || @engine)`

var claimTasks = newStatement(claimTasksSQL)

type claimedRow struct {
	ID             uuid.UUID
	Worker         uuid.UUID
	Attempt        int32
	LeaseExpiresAt time.Time
	ChunkIndex     int32
	InputURI       *string
	InputSHA256    string
	Inputs         []byte
	Parameters     []byte
	InputBytes     *int64
}

// claimResult is what a group of claims found.
type claimResult struct {
	byWorker map[uuid.UUID][]*LeasedTask
	// floor is the highest chunk index among the fresh tasks.
	floor int32
	// noRetry says that no failed task is due.
	noRetry bool
	// engine is the job's engine, if it was read under lock or decided here.
	engine *string
	// otherEngine says that nothing was claimed because the job has another engine.
	otherEngine bool
}

// plain reports whether claims need no lock on their job.
func (g *claimGroup) plain() bool { return g.job.parallelism == 0 && g.job.engine != nil }

// claimInJob leases tasks of one job to workers. Failed tasks that are due come
// first, once a refresh, so that a job that cannot succeed fails early.
func (s *Store) claimInJob(ctx context.Context, g *claimGroup, owners []uuid.UUID) (claimResult, error) {
	if g.plain() {
		return s.claimIn(ctx, s.batchPool, g, owners, len(owners))
	}
	var got claimResult
	err := s.claimTx(ctx, func(tx pgx.Tx) (err error) {
		got, err = s.claimLocked(ctx, tx, g, owners)
		return err
	})
	return got, err
}

const lockForClaimSQL = `
SELECT j.engine, j.parallelism
FROM   jobs j
WHERE  j.id = @job
FOR NO KEY UPDATE`

const countLeasedSQL = `
SELECT count(*)
FROM   tasks
WHERE  job_id = $1
AND    lease_owner IS NOT NULL`

// claimLocked claims under the lock of the job's row: so the number of
// leases stays within the parallelism, and two engines cannot both be the first.
func (s *Store) claimLocked(ctx context.Context, tx pgx.Tx, g *claimGroup, owners []uuid.UUID) (claimResult, error) {
	var engine *string
	var parallelism int32
	err := tx.QueryRow(ctx, lockForClaimSQL, pgx.NamedArgs{"job": g.job.id}).Scan(&engine, &parallelism)
	if errors.Is(err, pgx.ErrNoRows) {
		return claimResult{}, nil
	}
	if err != nil || (engine != nil && *engine != g.engine) {
		return claimResult{engine: engine, otherEngine: true}, err
	}
	limit := len(owners)
	if parallelism > 0 {
		var leased int
		if err := tx.QueryRow(ctx, countLeasedSQL, g.job.id).Scan(&leased); err != nil {
			return claimResult{}, err
		}
		limit = min(limit, int(parallelism)-leased)
	}
	if limit <= 0 {
		return claimResult{engine: engine}, nil
	}
	got, err := s.claimIn(ctx, tx, g, owners, limit)
	if err != nil || engine != nil || len(got.byWorker) == 0 {
		got.engine = engine
		return got, err
	}
	got.engine = &g.engine
	_, err = tx.Exec(ctx, `UPDATE jobs SET engine = $2, version = version + 1 WHERE id = $1`, g.job.id, g.engine)
	return got, err
}

// claimIn leases up to limit tasks, one to each of the first owners.
func (s *Store) claimIn(ctx context.Context, q querier, g *claimGroup, owners []uuid.UUID, limit int) (claimResult, error) {
	got := claimResult{byWorker: map[uuid.UUID][]*LeasedTask{}}
	owners = owners[:limit]
	if g.job.retry {
		rows, err := s.claimRetries(ctx, q, g, owners)
		if err != nil {
			return got, err
		}
		owners = got.add(g, rows, owners)
		got.noRetry = len(owners) > 0
		got.floor = 0 // failed tasks say nothing about where the fresh ones begin
	}
	err := s.claimFresh(ctx, q, g, owners, &got, g.job.floor, 0)
	return got, err
}

// claimFresh leases tasks that never failed, above each floor in turn.
func (s *Store) claimFresh(ctx context.Context, q querier, g *claimGroup, owners []uuid.UUID, got *claimResult, floors ...int32) error {
	for _, floor := range floors {
		if len(owners) == 0 {
			break
		}
		rows, err := collectHot[claimedRow](ctx, q, claimTasks, s.claimArgs(g, owners, floor))
		if err != nil {
			return err
		}
		owners = got.add(g, rows, owners)
		if floor == 0 {
			break
		}
	}
	return nil
}

func (s *Store) claimArgs(g *claimGroup, owners []uuid.UUID, floor int32) pgx.NamedArgs {
	return pgx.NamedArgs{
		"job": g.job.id, "workload": g.job.workload, "engine": g.engine, "floor": floor,
		"workers": owners, "limit": len(owners), "ttl": s.cfg.LeaseTTL, "now": s.now(),
	}
}

// add files leased tasks under their workers and returns the owners without one.
func (r *claimResult) add(g *claimGroup, rows []claimedRow, owners []uuid.UUID) []uuid.UUID {
	count := map[uuid.UUID]int{}
	for _, row := range rows {
		r.floor = max(r.floor, row.ChunkIndex)
		r.byWorker[row.Worker] = append(r.byWorker[row.Worker], row.task(g))
		count[row.Worker]++
	}
	var rest []uuid.UUID
	for _, w := range owners {
		if count[w] > 0 {
			count[w]--
			continue
		}
		rest = append(rest, w)
	}
	return rest
}

func (row claimedRow) task(g *claimGroup) *LeasedTask {
	t := &LeasedTask{
		Lease: Lease{Task: row.ID, Worker: row.Worker, Attempt: row.Attempt},
		JobID: g.job.id, JobName: g.job.name, ChunkIndex: row.ChunkIndex, ExpiresAt: row.LeaseExpiresAt.UTC(),
		Workload: g.job.workload, InputURI: deref(row.InputURI), InputSHA256: row.InputSHA256, InputBytes: deref(row.InputBytes),
	}
	t.Inputs = furtherInputs(row.Inputs)
	t.Parameters = g.job.parameters(row.Parameters)
	return t
}

const dueRetriesSQL = `
SELECT id, last_failed_by, not_before > coalesce(@now::timestamptz, now()) - @avoid::interval AS recent
FROM   tasks
WHERE  job_id = @job
AND    lease_owner IS NULL
AND    completed_at IS NULL
AND    last_failed_by IS NOT NULL
AND    not_before <= coalesce(@now::timestamptz, now())
ORDER BY not_before
LIMIT  @limit
FOR UPDATE SKIP LOCKED`

const otherWorkersSQL = `
SELECT w.id
FROM   workers w
WHERE  true` + workerFence + `
LIMIT  2`

const claimRetriesSQL = `
WITH picked AS (
    SELECT @tasks::uuid[] AS tasks
)` + leasePairsSQL

// avoidFor is how long after its back-off a task is kept from the worker that failed it
// last, while there is another one.
const avoidFor = 30 * time.Second

type dueRow struct {
	ID           uuid.UUID
	LastFailedBy uuid.UUID
	Recent       bool
}

// claimRetries leases failed tasks that are due.
func (s *Store) claimRetries(ctx context.Context, q querier, g *claimGroup, owners []uuid.UUID) (leased []claimedRow, err error) {
	claimIn := func(tx pgx.Tx) error {
		args := s.claimArgs(g, owners, 0)
		args["avoid"] = avoidFor
		due, err := collect[dueRow](ctx, tx, dueRetriesSQL, args)
		if err != nil || len(due) == 0 {
			return err
		}
		rows, err := tx.Query(ctx, otherWorkersSQL, args)
		if err != nil {
			return err
		}
		capable, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
		if err != nil {
			return err
		}
		args["tasks"], args["workers"] = pair(due, owners, capable)
		leased, err = collect[claimedRow](ctx, tx, claimRetriesSQL, args)
		return err
	}
	if tx, ok := q.(pgx.Tx); ok {
		err = claimIn(tx)
		return leased, err
	}
	err = s.claimTx(ctx, claimIn)
	return leased, err
}

// pair gives each due task to a worker; one that failed it lately only if no
// other worker could do it.
func pair(due []dueRow, owners, capable []uuid.UUID) (tasks, workers []uuid.UUID) {
	free := append([]uuid.UUID(nil), owners...)
	for _, t := range due {
		for n, w := range free {
			if t.Recent && t.LastFailedBy == w && others(capable, w) {
				continue
			}
			tasks, workers = append(tasks, t.ID), append(workers, w)
			free = append(free[:n], free[n+1:]...)
			break
		}
	}
	return tasks, workers
}

func others(capable []uuid.UUID, w uuid.UUID) bool {
	for _, c := range capable {
		if c != w {
			return true
		}
	}
	return false
}
