package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"go.uber.org/zap"

	"scimesh.dev/scimesh/store/batch"
)

const recordArtifactsSQL = `
INSERT INTO artifacts AS a (id, job_id, task_id, attempt, kind, filename, content_type, size_bytes, sha256, body, created_at)
SELECT (@ids::uuid[])[r.place], t.job_id, t.id, t.attempt, 'partial_result', (@filenames::text[])[r.place],
       (@content_types::text[])[r.place], (@sizes::bigint[])[r.place], (@sha256s::text[])[r.place], (@bodies::bytea[])[r.place],
       coalesce(@now::timestamptz, now())
FROM   tasks t
CROSS JOIN LATERAL (SELECT array_position(@tasks::uuid[], t.id) AS place) r
WHERE  t.id = ANY (@tasks::uuid[])
AND    t.lease_owner IS NOT DISTINCT FROM (@workers::uuid[])[r.place]
AND    t.attempt = (@attempts::int[])[r.place]
AND    t.lease_expires_at > coalesce(@now::timestamptz, now())`

const returnRecordedSQL = `
RETURNING` + artifactColumns + `, NULL::text AS job_name, NULL::text AS engine`

// replaceArtifactsSQL is for tasks that have a result already. An older attempt never
// replaces what a newer one recorded, whatever the order in which their statements end.
const replaceArtifactsSQL = recordArtifactsSQL + `
ON CONFLICT (task_id, kind) WHERE task_id IS NOT NULL DO UPDATE
SET    id = CASE WHEN a.attempt = excluded.attempt AND a.sha256 = excluded.sha256 THEN a.id ELSE excluded.id END,
       attempt = excluded.attempt, filename = excluded.filename,
       content_type = excluded.content_type, size_bytes = excluded.size_bytes, sha256 = excluded.sha256, body = excluded.body,
       created_at = CASE WHEN a.attempt = excluded.attempt AND a.sha256 = excluded.sha256 THEN a.created_at ELSE excluded.created_at END
WHERE  a.attempt <= excluded.attempt` + returnRecordedSQL

var (
	recordArtifacts  = newStatement(recordArtifactsSQL + returnRecordedSQL)
	replaceArtifacts = newStatement(replaceArtifactsSQL)
)

// RecordTaskArtifact records a partial result, with its body or after its blob
// is durable, for the attempt that holds the lease. The same bytes again give the same artifact,
// other bytes replace it.
func (s *Store) RecordTaskArtifact(ctx context.Context, p RecordTaskArtifactParams) (_ Artifact, err error) {
	defer wrapf(&err, "record artifact of task %s", p.Task)
	if err := s.ensureBeat(ctx); err != nil {
		return Artifact{}, err
	}
	r, err := s.lane.Do(ctx, call{record: &p})
	return r.artifact, err
}

func (s *Store) recordBatch(ctx context.Context, items []RecordTaskArtifactParams) ([]batch.Result[Artifact], error) {
	args := s.recordArgs(items)
	rows, err := collectHot[artifactRow](ctx, s.batchPool, recordArtifacts, args)
	if isCode(err, codeUniqueViolation) || retryable(err) {
		rows, err = again(func() ([]artifactRow, error) {
			return collectHot[artifactRow](ctx, s.batchPool, replaceArtifacts, args)
		})
	}
	if err != nil {
		return nil, err
	}
	return recorded(items, rows), nil
}

func (s *Store) recordArgs(items []RecordTaskArtifactParams) pgx.NamedArgs {
	args := leaseArgs(items, func(p RecordTaskArtifactParams) Lease { return p.Lease })
	n := len(items)
	ids, names, types := make([]uuid.UUID, n), make([]string, n), make([]string, n)
	sizes, digests, bodies := make([]int64, n), make([]string, n), make([][]byte, n)
	for i, p := range items {
		ids[i], names[i], types[i] = NewID(), p.Filename, p.ContentType
		sizes[i], digests[i], bodies[i] = p.SizeBytes, p.SHA256, p.Body
	}
	args["ids"], args["filenames"], args["content_types"] = ids, names, types
	args["sizes"], args["sha256s"], args["bodies"], args["now"] = sizes, digests, bodies, s.now()
	return args
}

// recorded are the answers to a batch, given the rows that it wrote.
func recorded(items []RecordTaskArtifactParams, rows []artifactRow) []batch.Result[Artifact] {
	recorded := make(map[uuid.UUID]Artifact, len(rows))
	for _, r := range rows {
		recorded[*r.TaskID] = r.artifact()
	}
	results := make([]batch.Result[Artifact], len(items))
	for i, p := range items {
		a, ok := recorded[p.Task]
		if ok && a.Attempt == p.Attempt && a.SHA256 == p.SHA256 {
			results[i].Value = a
		} else {
			results[i].Err = ErrLeaseLost
		}
	}
	return results
}

// completeTasksSQL completes tasks and counts them in their jobs. The row lock
// of the update of a job makes the counters exact when the last tasks of a job
// end at the same moment: who comes second sees the first one's count, and
// notifies. Jobs are not locked before they are updated: two coordinators that
// did so within one statement waited for each other, until the server ended one.
// Nothing is joined: so there is one plan, which reads the rows of the batch by their keys.
const completeTasksSQL = `
WITH done AS (
    UPDATE tasks t
    SET    status = 'completed', lease_owner = NULL, lease_expires_at = NULL, progress = NULL,
           result_artifact_id = (@artifacts::uuid[])[array_position(@tasks::uuid[], t.id)], completed_by = t.lease_owner,
           metrics = (@metrics::text[])[array_position(@tasks::uuid[], t.id)]::jsonb, error_code = '', error_message = '',
           completed_at = coalesce(@now::timestamptz, now()), version = t.version + 1
    WHERE  t.id = ANY (@tasks::uuid[])
    AND    t.lease_owner IS NOT DISTINCT FROM (@workers::uuid[])[array_position(@tasks::uuid[], t.id)]
    AND    t.attempt = (@attempts::int[])[array_position(@tasks::uuid[], t.id)]
    AND    t.lease_expires_at > coalesce(@now::timestamptz, now())
    AND    EXISTS (
        SELECT FROM artifacts a
        WHERE  a.id = (@artifacts::uuid[])[array_position(@tasks::uuid[], t.id)]
        AND    a.task_id = t.id
        AND    a.attempt = t.attempt
        AND    a.kind = 'partial_result'
        AND    a.sha256 = (@sha256s::text[])[array_position(@tasks::uuid[], t.id)]
        AND    (@content_types::text[])[array_position(@tasks::uuid[], t.id)] IN ('', a.content_type)
        OFFSET 0 -- keeps it from being joined the other way round
    )
    RETURNING t.id, t.job_id, t.attempt, t.completed_by AS worker, t.result_artifact_id AS artifact
), counted AS (
    UPDATE jobs j
    SET    completed_tasks = j.completed_tasks + (SELECT count(*) FROM done WHERE job_id = j.id), version = j.version + 1,
           updated_at = coalesce(@now::timestamptz, now())
    WHERE  j.id = ANY (ARRAY (SELECT job_id FROM done))
    RETURNING CASE WHEN j.completed_tasks + j.failed_tasks + j.cancelled_tasks = j.total_tasks
                   THEN pg_notify('` + ChannelJobs + `', j.id::text)::text END
)
SELECT id AS task, worker, attempt, artifact, job_id,
       EXISTS (SELECT FROM workers w WHERE w.id = d.worker AND (w.failure_streak <> '{}' OR w.quarantines > 0)) AS recovered
FROM   done d`

const recoveredSQL = `
UPDATE workers
SET    failure_streak = '{}', quarantines = 0
WHERE  id = ANY (@workers::uuid[])
AND    (failure_streak <> '{}' OR quarantines > 0)`

var completeTasks = newStatement(completeTasksSQL)

type completedRow struct {
	Lease
	Artifact uuid.UUID
	JobID    uuid.UUID
	// Recovered: the worker had failed tasks since it last completed one.
	Recovered bool
}

// CompleteTask completes a task with a recorded artifact. The same manifest
// again is accepted; another one, or an artifact that is not of this task and
// attempt, is ErrConflict.
func (s *Store) CompleteTask(ctx context.Context, p CompleteTaskParams) (_ Completion, err error) {
	defer wrapf(&err, "complete task %s", p.Task)
	if len(p.Metrics) > 0 && (!json.Valid(p.Metrics) || p.Metrics[0] != '{') {
		return Completion{}, fmt.Errorf("%w: metrics are no JSON object", ErrInvalid)
	}
	if err := s.ensureBeat(ctx); err != nil {
		return Completion{}, err
	}
	s.touch(p.Worker)
	r, err := s.lane.Do(ctx, call{complete: &p})
	if err == nil {
		s.dispatch.freed(r.completion.JobID)
	}
	return r.completion, err
}

func (s *Store) completeBatch(ctx context.Context, items []CompleteTaskParams) ([]batch.Result[Completion], error) {
	args := s.completeArgs(items)
	rows, err := again(func() ([]completedRow, error) { return collectHot[completedRow](ctx, s.batchPool, completeTasks, args) })
	if err != nil {
		return nil, err
	}
	return s.completed(ctx, items, rows), nil
}

func (s *Store) completeArgs(items []CompleteTaskParams) pgx.NamedArgs {
	args := leaseArgs(items, func(p CompleteTaskParams) Lease { return p.Lease })
	n := len(items)
	artifacts, digests, types, metrics := make([]uuid.UUID, n), make([]string, n), make([]string, n), make([]*string, n)
	for i, p := range items {
		artifacts[i], digests[i], types[i] = p.ArtifactID, p.SHA256, p.ContentType
		metrics[i] = textOrNil(string(p.Metrics))
	}
	args["artifacts"], args["sha256s"], args["content_types"], args["metrics"] = artifacts, digests, types, metrics
	args["now"] = s.now()
	return args
}

// completed are the answers to a batch, given the rows that it wrote.
func (s *Store) completed(ctx context.Context, items []CompleteTaskParams, rows []completedRow) []batch.Result[Completion] {
	done := make(map[Lease]completedRow, len(rows))
	var recovered []uuid.UUID
	for _, r := range rows {
		done[r.Lease] = r
		if r.Recovered {
			recovered = append(recovered, r.Worker)
		}
	}
	s.noteRecovered(ctx, recovered)
	results := make([]batch.Result[Completion], len(items))
	for i, p := range items {
		if r, ok := done[p.Lease]; ok && r.Artifact == p.ArtifactID {
			results[i].Value = Completion{JobID: r.JobID}
			continue
		}
		results[i].Value, results[i].Err = s.whyNotCompleted(ctx, p)
	}
	return results
}

// noteRecovered ends the streaks of workers that have completed a task. One
// that fails to be written is ended by the worker's next completion.
func (s *Store) noteRecovered(ctx context.Context, workers []uuid.UUID) {
	if len(workers) == 0 {
		return
	}
	if _, err := s.batchPool.Exec(ctx, recoveredSQL, pgx.NamedArgs{"workers": workers}); err != nil {
		s.log.Warn("a worker's streak of failures goes on although it completed a task", zap.Error(translate(err)))
	}
}

const completionSQL = `
SELECT t.job_id,
       t.completed_by IS NOT DISTINCT FROM @worker AND t.attempt = @attempt AS completed,
       t.result_artifact_id IS NOT DISTINCT FROM @artifact AND coalesce(a.sha256 = @sha256, false) AS same,
       t.attempt = @attempt AND t.lease_owner IS NOT DISTINCT FROM @worker
           AND coalesce(t.lease_expires_at > coalesce(@now::timestamptz, now()), false) AS live
FROM   tasks t
LEFT JOIN artifacts a ON a.id = t.result_artifact_id
WHERE  t.id = @task`

type completionRow struct {
	JobID uuid.UUID
	// Completed: this attempt completed the task; Same: with the manifest given.
	Completed, Same bool
	// Live: this attempt holds the lease.
	Live bool
}

// whyNotCompleted tells a repeated completion, which is accepted, from a
// conflicting and a late one.
func (s *Store) whyNotCompleted(ctx context.Context, p CompleteTaskParams) (Completion, error) {
	r, err := collectOne[completionRow](ctx, s.pool, completionSQL, pgx.NamedArgs{
		"task": p.Task, "worker": p.Worker, "attempt": p.Attempt, "artifact": p.ArtifactID,
		"sha256": p.SHA256, "now": s.now(),
	})
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return Completion{}, ErrNotFound
	case err != nil:
		return Completion{}, err
	case r.Completed && r.Same:
		return Completion{JobID: r.JobID, Repeated: true}, nil
	case r.Completed:
		return Completion{}, fmt.Errorf("%w: this attempt was completed with another result", ErrConflict)
	case r.Live:
		return Completion{}, fmt.Errorf("%w: the artifact is not one of this task and attempt", ErrConflict)
	}
	return Completion{}, ErrLeaseLost
}
