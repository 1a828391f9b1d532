package store

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"scimesh.dev/scimesh/store/batch"
)

// An older attempt never replaces what a newer one recorded, whatever the
// order in which their statements end. The batch comes in order of tasks, so that two
// coordinators do not block each other; ORDER BY would have all tasks read in that order.
const recordArtifactsSQL = `
INSERT INTO artifacts AS a (id, job_id, task_id, attempt, kind, filename, content_type, size_bytes, sha256, body, created_at)
SELECT r.id, t.job_id, t.id, t.attempt, 'partial_result', r.filename, r.content_type, r.size_bytes, r.sha256, r.body,
       coalesce(@now::timestamptz, now())
FROM   unnest(@tasks::uuid[], @workers::uuid[], @attempts::int[], @ids::uuid[], @filenames::text[],
              @content_types::text[], @sizes::bigint[], @sha256s::text[], @bodies::bytea[])
       AS r(task, worker, attempt, id, filename, content_type, size_bytes, sha256, body)
JOIN   tasks t ON t.id = r.task
              AND t.id = ANY (@tasks::uuid[])
              AND t.lease_owner IS NOT DISTINCT FROM r.worker
              AND t.attempt = r.attempt
              AND t.lease_expires_at > coalesce(@now::timestamptz, now())
ON CONFLICT (task_id, kind) WHERE task_id IS NOT NULL DO UPDATE
SET    id = CASE WHEN a.attempt = excluded.attempt AND a.sha256 = excluded.sha256 THEN a.id ELSE excluded.id END,
       attempt = excluded.attempt, filename = excluded.filename,
       content_type = excluded.content_type, size_bytes = excluded.size_bytes, sha256 = excluded.sha256, body = excluded.body,
       created_at = CASE WHEN a.attempt = excluded.attempt AND a.sha256 = excluded.sha256 THEN a.created_at ELSE excluded.created_at END
WHERE  a.attempt <= excluded.attempt
RETURNING` + artifactColumns + `, NULL::text AS job_name, NULL::text AS engine`

// RecordTaskArtifact records a partial result, with its body or after its blob
// is durable, for the attempt that holds the lease. The same bytes again give the same artifact,
// other bytes replace it.
func (s *Store) RecordTaskArtifact(ctx context.Context, p RecordTaskArtifactParams) (_ Artifact, err error) {
	defer wrapf(&err, "record artifact of task %s", p.Task)
	if err := s.ensureBeat(ctx); err != nil {
		return Artifact{}, err
	}
	return s.records.Do(ctx, p)
}

func (s *Store) recordBatch(ctx context.Context, items []RecordTaskArtifactParams) ([]batch.Result[Artifact], error) {
	ordered := slices.SortedFunc(slices.Values(items), func(a, b RecordTaskArtifactParams) int {
		return bytes.Compare(a.Task[:], b.Task[:])
	})
	args := leaseArgs(ordered, func(p RecordTaskArtifactParams) Lease { return p.Lease })
	n := len(items)
	ids, names, types := make([]uuid.UUID, n), make([]string, n), make([]string, n)
	sizes, digests, bodies := make([]int64, n), make([]string, n), make([][]byte, n)
	for i, p := range ordered {
		ids[i], names[i], types[i] = NewID(), p.Filename, p.ContentType
		sizes[i], digests[i], bodies[i] = p.SizeBytes, p.SHA256, p.Body
	}
	args["ids"], args["filenames"], args["content_types"] = ids, names, types
	args["sizes"], args["sha256s"], args["bodies"], args["now"] = sizes, digests, bodies, s.now()
	rows, err := again(func() ([]artifactRow, error) { return collect[artifactRow](ctx, s.batchPool, recordArtifactsSQL, args) })
	if err != nil {
		return nil, err
	}
	recorded := make(map[uuid.UUID]Artifact, len(rows))
	for _, r := range rows {
		recorded[*r.TaskID] = r.artifact()
	}
	results := make([]batch.Result[Artifact], n)
	for i, p := range items {
		a, ok := recorded[p.Task]
		if ok && a.Attempt == p.Attempt && a.SHA256 == p.SHA256 {
			results[i].Value = a
		} else {
			results[i].Err = ErrLeaseLost
		}
	}
	return results, nil
}

// completeTasksSQL completes tasks and counts them in their jobs. The row lock
// of the update of a job makes the counters exact when the last tasks of a job
// end at the same moment: who comes second sees the first one's count, and
// notifies. Jobs are not locked before they are updated: two coordinators that
// did so within one statement waited for each other, until the server ended one.
// The lists of ids beside the joins keep every plan to the rows of the batch.
const completeTasksSQL = `
WITH done AS (
    UPDATE tasks t
    SET    status = 'completed', lease_owner = NULL, lease_expires_at = NULL, progress = NULL,
           result_artifact_id = a.id, completed_by = r.worker, metrics = r.metrics::jsonb, error_code = '', error_message = '',
           completed_at = coalesce(@now::timestamptz, now()), version = t.version + 1
    FROM   unnest(@tasks::uuid[], @workers::uuid[], @attempts::int[], @artifacts::uuid[], @sha256s::text[],
                  @content_types::text[], @metrics::text[])
           AS r(task, worker, attempt, artifact, sha256, content_type, metrics)
    JOIN   artifacts a ON a.id = r.artifact
                      AND a.task_id = ANY (@tasks::uuid[])
                      AND a.task_id = r.task
                      AND a.attempt = r.attempt
                      AND a.kind = 'partial_result'
                      AND a.sha256 = r.sha256
                      AND (r.content_type = '' OR a.content_type = r.content_type)
    WHERE  t.id = r.task
    AND    t.id = ANY (@tasks::uuid[])
    AND    t.lease_owner IS NOT DISTINCT FROM r.worker
    AND    t.attempt = r.attempt
    AND    t.lease_expires_at > coalesce(@now::timestamptz, now())
    RETURNING t.id, t.job_id, t.attempt, r.worker, a.id AS artifact
), healthy AS (
    UPDATE workers
    SET    failure_streak = '{}', quarantines = 0
    WHERE  id IN (SELECT worker FROM done)
    AND    id = ANY (@workers::uuid[])
    AND    (failure_streak <> '{}' OR quarantines > 0)
), counted AS (
    UPDATE jobs j
    SET    completed_tasks = j.completed_tasks + d.tasks, version = j.version + 1,
           updated_at = coalesce(@now::timestamptz, now())
    FROM   (SELECT job_id, count(*) AS tasks FROM done GROUP BY job_id) d
    WHERE  j.id = d.job_id
    RETURNING CASE WHEN j.completed_tasks + j.failed_tasks + j.cancelled_tasks = j.total_tasks
                   THEN pg_notify('` + ChannelJobs + `', j.id::text)::text END
)
SELECT id AS task, worker, attempt, artifact, job_id
FROM   done`

type completedRow struct {
	Lease
	Artifact uuid.UUID
	JobID    uuid.UUID
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
	c, err := s.results.Do(ctx, p)
	if err == nil {
		s.dispatch.freed(c.JobID)
	}
	return c, err
}

func (s *Store) completeBatch(ctx context.Context, items []CompleteTaskParams) ([]batch.Result[Completion], error) {
	args := leaseArgs(items, func(p CompleteTaskParams) Lease { return p.Lease })
	n := len(items)
	artifacts, digests, types, metrics := make([]uuid.UUID, n), make([]string, n), make([]string, n), make([]*string, n)
	for i, p := range items {
		artifacts[i], digests[i], types[i] = p.ArtifactID, p.SHA256, p.ContentType
		metrics[i] = textOrNil(string(p.Metrics))
	}
	args["artifacts"], args["sha256s"], args["content_types"], args["metrics"] = artifacts, digests, types, metrics
	args["now"] = s.now()
	rows, err := again(func() ([]completedRow, error) { return collect[completedRow](ctx, s.batchPool, completeTasksSQL, args) })
	if err != nil {
		return nil, err
	}
	done := make(map[Lease]completedRow, len(rows))
	for _, r := range rows {
		done[r.Lease] = r
	}
	results := make([]batch.Result[Completion], n)
	for i, p := range items {
		if r, ok := done[p.Lease]; ok && r.Artifact == p.ArtifactID {
			results[i].Value = Completion{JobID: r.JobID}
			continue
		}
		results[i].Value, results[i].Err = s.whyNotCompleted(ctx, p)
	}
	return results, nil
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
