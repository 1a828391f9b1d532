package store

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	v1 "scimesh.dev/scimesh/api/v1"
)

const taskColumns = `
       t.id, t.job_id, j.name AS job_name, t.chunk_index, t.workload, t.input_sha256, t.parameters, t.status,
       t.attempt, t.max_attempts, t.failures, t.lost_leases, t.not_before, t.lease_owner, w.name AS worker_name,
       t.lease_expires_at, t.progress::float8 AS progress, t.metrics, t.error_code, t.error_message,
       t.created_at, t.started_at, t.completed_at, t.version,
       a.id AS result_id, a.sha256 AS result_sha256, a.size_bytes AS result_bytes`

const taskTables = `
FROM   tasks t
JOIN   jobs j ON j.id = t.job_id
LEFT JOIN workers w ON w.id = coalesce(t.lease_owner, t.completed_by)
LEFT JOIN artifacts a ON a.id = t.result_artifact_id`

type taskRow struct {
	ID             uuid.UUID
	JobID          uuid.UUID
	JobName        string
	ChunkIndex     int32
	Workload       string
	InputSHA256    string
	Parameters     []byte
	Status         string
	Attempt        int32
	MaxAttempts    int32
	Failures       int32
	LostLeases     int32
	NotBefore      *time.Time
	LeaseOwner     *uuid.UUID
	WorkerName     *string
	LeaseExpiresAt *time.Time
	Progress       *float64
	Metrics        []byte
	ErrorCode      string
	ErrorMessage   string
	CreatedAt      time.Time
	StartedAt      *time.Time
	CompletedAt    *time.Time
	Version        int64
	ResultID       *uuid.UUID
	ResultSHA256   *string
	ResultBytes    *int64
}

func (r taskRow) task() Task {
	return Task{
		ID: r.ID, JobID: r.JobID, JobName: r.JobName, ChunkIndex: r.ChunkIndex, Workload: r.Workload,
		InputSHA256: r.InputSHA256, Parameters: r.Parameters, Phase: v1.TaskPhase(r.Status),
		Attempt: r.Attempt, MaxAttempts: r.MaxAttempts, Failures: r.Failures, LostLeases: r.LostLeases,
		NotBefore: utc(r.NotBefore), LeaseOwner: id(r.LeaseOwner), WorkerName: deref(r.WorkerName),
		LeaseExpiresAt: utc(r.LeaseExpiresAt), Progress: r.Progress,
		Result: artifactRef(r.ResultID, r.ResultSHA256, r.ResultBytes), Metrics: r.Metrics,
		ErrorCode: r.ErrorCode, ErrorMessage: r.ErrorMessage, CreatedAt: r.CreatedAt.UTC(),
		StartedAt: utc(r.StartedAt), CompletedAt: utc(r.CompletedAt), Version: r.Version,
	}
}

const getTaskSQL = `
SELECT` + taskColumns + taskTables + `
WHERE  t.id = @task`

const getAttemptsSQL = `
SELECT a.attempt, a.worker_id, w.name AS worker_name, a.outcome, a.error_code, a.error_message,
       a.started_at, a.ended_at, coalesce(l.bytes, 0) AS log_bytes
FROM   attempts a
LEFT JOIN workers w ON w.id = a.worker_id
LEFT JOIN LATERAL (
    SELECT max(t."offset" + length(t.body)) AS bytes
    FROM   task_logs t
    WHERE  t.task_id = a.task_id AND t.attempt = a.attempt
) l ON true
WHERE  a.task_id = @task
UNION ALL
SELECT t.attempt, coalesce(t.lease_owner, t.completed_by), w.name,
       CASE WHEN t.lease_owner IS NULL THEN 'completed' ELSE 'active' END, '', '', t.leased_at, t.completed_at,
       coalesce((SELECT max(g."offset" + length(g.body)) FROM task_logs g WHERE g.task_id = t.id AND g.attempt = t.attempt), 0)
FROM   tasks t
LEFT JOIN workers w ON w.id = coalesce(t.lease_owner, t.completed_by)
WHERE  t.id = @task
AND    coalesce(t.lease_owner, t.completed_by) IS NOT NULL
ORDER BY 1`

type attemptRow struct {
	Attempt      int32
	WorkerID     uuid.UUID
	WorkerName   *string
	Outcome      string
	ErrorCode    string
	ErrorMessage string
	StartedAt    time.Time
	EndedAt      *time.Time
	LogBytes     int64
}

// GetTask returns a task with its attempts.
func (s *Store) GetTask(ctx context.Context, id uuid.UUID) (_ Task, err error) {
	defer wrapf(&err, "get task %s", id)

	var task Task
	err = pgx.BeginTxFunc(ctx, s.pool, readSnapshot, func(tx pgx.Tx) error {
		r, err := collectOne[taskRow](ctx, tx, getTaskSQL, pgx.NamedArgs{"task": id})
		if err != nil {
			return err
		}
		task = r.task()
		rows, err := collect[attemptRow](ctx, tx, getAttemptsSQL, pgx.NamedArgs{"task": id})
		for _, a := range rows {
			task.Attempts = append(task.Attempts, a.attempt(task))
		}
		return err
	})
	return task, err
}

// readSnapshot is a transaction whose statements all see the same moment.
var readSnapshot = pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}

func (r attemptRow) attempt(t Task) Attempt {
	a := Attempt{
		Attempt: r.Attempt, Worker: r.WorkerID, WorkerName: deref(r.WorkerName), Outcome: v1.AttemptOutcome(r.Outcome),
		ErrorCode: r.ErrorCode, ErrorMessage: r.ErrorMessage,
		StartedAt: r.StartedAt.UTC(), EndedAt: utc(r.EndedAt), LogBytes: r.LogBytes,
	}
	if a.Outcome == v1.AttemptCompleted {
		a.Metrics = t.Metrics
	}
	return a
}

const getTaskInputSQL = `
SELECT t.job_id AS task_job_id, t.input_uri, t.input_sha256, coalesce(a.id, @nil::uuid) AS id, a.job_id, a.task_id, a.attempt,
       coalesce(a.kind, '') AS kind, coalesce(a.filename, '') AS filename, coalesce(a.content_type, '') AS content_type,
       coalesce(a.size_bytes, 0) AS size_bytes, coalesce(a.sha256, '') AS sha256,
       coalesce(a.created_at, t.created_at) AS created_at, j.name AS job_name, NULL::text AS engine
FROM   tasks t
JOIN   jobs j ON j.id = t.job_id
LEFT JOIN artifacts a ON a.id = t.input_artifact_id
WHERE  t.id = @task`

// GetTaskInput says where the input of a task is.
func (s *Store) GetTaskInput(ctx context.Context, task uuid.UUID) (_ TaskInput, err error) {
	defer wrapf(&err, "get input of task %s", task)

	type row struct {
		TaskJobID   uuid.UUID
		InputURI    *string
		InputSHA256 string
		artifactRow
	}
	r, err := collectOne[row](ctx, s.pool, getTaskInputSQL, pgx.NamedArgs{"task": task, "nil": uuid.Nil})
	if err != nil {
		return TaskInput{}, err
	}
	in := TaskInput{JobID: r.TaskJobID, URI: deref(r.InputURI), SHA256: r.InputSHA256}
	if r.ID != uuid.Nil {
		a := r.artifact()
		in.Artifact = &a
	}
	return in, nil
}

const listTasksSQL = `
SELECT` + taskColumns + taskTables + `
WHERE  (@after_job::uuid IS NULL OR (t.job_id, t.chunk_index) > (@after_job, @after_chunk::int))
AND    (@job::uuid IS NULL OR t.job_id = @job)
AND    (@phases::text[] IS NULL OR t.status = ANY (@phases))
ORDER BY t.job_id, t.chunk_index
LIMIT  @limit`

// The tasks of a worker are few among all: the index of leases finds them.
const listWorkerTasksSQL = `
SELECT` + taskColumns + taskTables + `
WHERE  (@after_job::uuid IS NULL OR (t.job_id, t.chunk_index) > (@after_job, @after_chunk::int))
AND    (@job::uuid IS NULL OR t.job_id = @job)
AND    (@phases::text[] IS NULL OR t.status = ANY (@phases))
AND    t.lease_owner = @worker
ORDER BY t.job_id, t.chunk_index
LIMIT  @limit`

type taskCursor struct {
	Job        uuid.UUID `json:"j"`
	ChunkIndex int32     `json:"c"`
}

// ListTasks lists tasks by job, oldest first, and chunk index.
func (s *Store) ListTasks(ctx context.Context, f TaskFilter, p Page) (_ List[Task], err error) {
	defer wrapf(&err, "list tasks")

	after, err := decodeCursor[taskCursor](p)
	if err != nil {
		return List[Task]{}, err
	}
	args := pgx.NamedArgs{
		"after_job": idPtr(after.Job), "after_chunk": after.ChunkIndex, "job": idPtr(f.Job),
		"phases": textArray(f.Phases), "limit": p.limit() + 1,
	}
	sql := listTasksSQL
	if f.Worker != uuid.Nil {
		sql, args["worker"] = listWorkerTasksSQL, f.Worker
	}
	rows, err := collect[taskRow](ctx, s.pool, sql, args)
	if err != nil {
		return List[Task]{}, err
	}
	tasks := make([]Task, len(rows))
	for i, r := range rows {
		tasks[i] = r.task()
	}
	return page(tasks, p, func(t Task) any { return taskCursor{t.JobID, t.ChunkIndex} }), nil
}
