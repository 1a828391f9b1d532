package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	v1 "scimesh.dev/scimesh/api/v1"
)

// planTimeout bounds the transaction that writes a plan: a million tasks take
// about a minute on a small machine.
const planTimeout = 10 * time.Minute

const finishPlanningSQL = `
UPDATE jobs
SET    status = 'running', total_tasks = @tasks::bigint, plan = @plan, conditions = @conditions::jsonb,
       step_owner = NULL, step_expires_at = NULL, step_failures = 0,
       version = version + 1, updated_at = coalesce(@now::timestamptz, now())
WHERE  id = @job`

// FinishPlanning writes the whole plan and moves the Job to running, or
// changes nothing and returns ErrLeaseLost. The row of the job is locked at
// the very end, so that the step can be renewed meanwhile.
func (s *Store) FinishPlanning(ctx context.Context, t StepToken, p FinishPlanningParams) (err error) {
	defer wrapf(&err, "store plan of job %s", t.Job)

	ctx, cancel := context.WithTimeout(ctx, planTimeout)
	defer cancel()
	err = retryTx(ctx, s.pool, func(tx pgx.Tx) error { return s.finishPlanning(ctx, tx, t, p) })
	if errors.Is(translate(err), ErrConflict) {
		return ErrLeaseLost // another planner has written the job's tasks
	}
	if err == nil {
		s.dispatch.poke()
	}
	return err
}

func (s *Store) finishPlanning(ctx context.Context, tx pgx.Tx, t StepToken, p FinishPlanningParams) error {
	if _, err := tx.Exec(ctx, `SELECT set_config('statement_timeout', $1, true)`, millis(planTimeout)); err != nil {
		return err
	}
	r, err := collectOne[jobRow](ctx, tx, getJobSQL, s.refArgs(t.Job.String()))
	if err != nil || r.Status != string(v1.JobPlanning) || id(r.StepOwner) != t.Owner {
		return errors.Join(err, ErrLeaseLost)
	}
	if err := copyTasks(ctx, tx, r, p.Tasks, 0); err != nil {
		return err
	}
	plan, err := writePlan(ctx, tx, r, p)
	if err != nil {
		return err
	}
	job, err := s.lockStep(ctx, tx, t)
	if err != nil {
		return err
	}
	if job.Phase != v1.JobPlanning {
		return ErrLeaseLost
	}
	_, err = tx.Exec(ctx, finishPlanningSQL, pgx.NamedArgs{
		"job": t.Job, "tasks": len(p.Tasks), "plan": plan, "conditions": withConditions(job, p.Conditions), "now": s.now(),
	})
	if err != nil {
		return err
	}
	event := Event{JobID: t.Job, Type: v1.EventNormal, Reason: "JobPlanned", Message: fmt.Sprintf("planned %d tasks", len(p.Tasks))}
	if err := s.recordEvents(ctx, tx, event); err != nil {
		return err
	}
	return notifyJob(ctx, tx, t.Job)
}

// copyTasks writes the shards' artifacts and the tasks, whose chunk indexes
// begin at first. The artifacts come first; their references to tasks are
// checked at commit.
func copyTasks(ctx context.Context, tx pgx.Tx, job jobRow, tasks []PlannedTask, first int64) error {
	ids := make([]uuid.UUID, len(tasks))
	inputs := make([]*uuid.UUID, len(tasks))
	for i, t := range tasks {
		ids[i] = NewID()
		if t.Input != nil {
			input := NewID()
			inputs[i] = &input
		}
	}
	if err := copyShards(ctx, tx, job, tasks, ids, inputs); err != nil {
		return err
	}
	columns := []string{"id", "job_id", "chunk_index", "workload", "input_artifact_id", "input_uri", "input_sha256", "inputs", "parameters", "notes", "max_attempts", "created_at"}
	_, err := tx.CopyFrom(ctx, pgx.Identifier{"tasks"}, columns, pgx.CopyFromSlice(len(tasks), func(i int) ([]any, error) {
		t := tasks[i]
		return []any{ids[i], job.ID, first + int64(i), job.Workload, inputs[i], textOrNil(t.URI), t.SHA256,
			filesJSON(t.Inputs), jsonOr(t.Parameters, `{}`), nullableJSON(t.Notes), job.MaxAttempts, job.ReadAt}, nil
	}))
	return err
}

func copyShards(ctx context.Context, tx pgx.Tx, job jobRow, tasks []PlannedTask, ids []uuid.UUID, inputs []*uuid.UUID) error {
	columns := []string{"id", "job_id", "task_id", "kind", "filename", "content_type", "size_bytes", "sha256", "created_at"}
	next := 0
	_, err := tx.CopyFrom(ctx, pgx.Identifier{"artifacts"}, columns, pgx.CopyFromFunc(func() ([]any, error) {
		for next < len(tasks) && tasks[next].Input == nil {
			next++
		}
		if next == len(tasks) {
			return nil, nil
		}
		i, f := next, tasks[next].Input
		next++
		return []any{*inputs[i], job.ID, ids[i], string(v1.ArtifactShard), f.Filename,
			f.ContentType, f.SizeBytes, f.SHA256, job.ReadAt}, nil
	}))
	return err
}

// writePlan records the planner's rejects and returns the job's plan.
func writePlan(ctx context.Context, tx pgx.Tx, job jobRow, p FinishPlanningParams) (json.RawMessage, error) {
	plan := Plan{Shared: p.Shared, Notes: p.Notes, RowsRead: p.RowsRead, More: p.More}
	if p.Rejects != nil {
		artifact, err := insertJobArtifact(ctx, tx, job.ID, v1.ArtifactRejects, *p.Rejects, job.ReadAt)
		if err != nil {
			return nil, err
		}
		plan.Rejects = &v1.ArtifactRef{Artifact: artifact, SHA256: p.Rejects.SHA256, SizeBytes: p.Rejects.SizeBytes}
	}
	return json.Marshal(plan)
}

const insertJobArtifactSQL = `
INSERT INTO artifacts (id, job_id, kind, filename, content_type, size_bytes, sha256, created_at)
VALUES (@id, @job, @kind::text, @filename, @content_type, @size::bigint, @sha256::text, @created_at)`

func insertJobArtifact(ctx context.Context, tx pgx.Tx, job uuid.UUID, kind v1.ArtifactKind, f FileRef, at time.Time) (uuid.UUID, error) {
	artifact := NewID()
	_, err := tx.Exec(ctx, insertJobArtifactSQL, pgx.NamedArgs{
		"id": artifact, "job": job, "kind": string(kind), "filename": f.Filename,
		"content_type": f.ContentType, "size": f.SizeBytes, "sha256": f.SHA256, "created_at": at,
	})
	return artifact, err
}

// nullableJSON is a JSON argument that is NULL for none.
func nullableJSON(data json.RawMessage) any {
	if len(data) == 0 {
		return nil
	}
	return data
}
