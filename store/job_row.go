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

// jobColumns reads one job with its artifacts. Leased and running tasks are
// counted through the partial index of leases; the other counters are kept.
const jobColumns = `
       j.id, j.name, j.labels, j.annotations, j.generation, j.version, j.spec, j.workload, j.workload_version,
       j.status, j.priority, j.parallelism, j.suspend, j.active_deadline_seconds, j.ttl_seconds_after_finished,
       j.max_attempts, coalesce(j.engine, '') AS engine,
       j.total_tasks, j.completed_tasks, j.failed_tasks, j.cancelled_tasks, l.leased, l.running,
       j.conditions, j.ledger, coalesce(j.result_rows, 0) AS result_rows, coalesce(j.rejects_rows, 0) AS rejects_rows,
       j.step_owner, j.step_expires_at, j.step_failures, j.cancel_requested_at, j.deletion_requested_at,
       j.error_code, j.error_message, j.created_at, j.started_at, j.completed_at, j.updated_at,
       coalesce(@now::timestamptz, now()) AS read_at,
       ia.id AS input_id, ia.sha256 AS input_sha256, ia.size_bytes AS input_bytes,
       ra.id AS result_id, ra.sha256 AS result_sha256, ra.size_bytes AS result_bytes,
       xa.id AS rejects_id, xa.sha256 AS rejects_sha256, xa.size_bytes AS rejects_bytes`

const jobTables = `
FROM   jobs j
LEFT JOIN artifacts ia ON ia.id = j.input_artifact_id
LEFT JOIN artifacts ra ON ra.id = j.result_artifact_id
LEFT JOIN artifacts xa ON xa.id = j.rejects_artifact_id
CROSS JOIN LATERAL (
    SELECT count(*) FILTER (WHERE t.status = 'leased')  AS leased,
           count(*) FILTER (WHERE t.status = 'running') AS running
    FROM   tasks t
    WHERE  t.job_id = j.id
    AND    t.lease_owner IS NOT NULL
) l`

// jobRow is a job as it comes from the database: nothing is decoded.
type jobRow struct {
	ID                      uuid.UUID
	Name                    string
	Labels                  []byte
	Annotations             []byte
	Generation              int64
	Version                 int64
	Spec                    []byte
	Workload                string
	WorkloadVersion         string
	Status                  string
	Priority                int32
	Parallelism             int32
	Suspend                 bool
	ActiveDeadlineSeconds   int64
	TTLSecondsAfterFinished int64 `db:"ttl_seconds_after_finished"`
	MaxAttempts             int32
	Engine                  string
	TotalTasks              int64
	CompletedTasks          int64
	FailedTasks             int64
	CancelledTasks          int64
	Leased                  int64
	Running                 int64
	Conditions              []byte
	Ledger                  []byte
	ResultRows              int64
	RejectsRows             int64
	StepOwner               *uuid.UUID
	StepExpiresAt           *time.Time
	StepFailures            int32
	CancelRequestedAt       *time.Time
	DeletionRequestedAt     *time.Time
	ErrorCode               string
	ErrorMessage            string
	CreatedAt               time.Time
	StartedAt               *time.Time
	CompletedAt             *time.Time
	UpdatedAt               time.Time
	ReadAt                  time.Time

	InputID, ResultID, RejectsID             *uuid.UUID
	InputSHA256, ResultSHA256, RejectsSHA256 *string
	InputBytes, ResultBytes, RejectsBytes    *int64

	Plan []byte
}

// job decodes the row. Columns that cannot be decoded are named in Damage.
func (r jobRow) job() Job {
	j := Job{
		ID: r.ID, Name: r.Name, Generation: r.Generation, Version: r.Version, WorkloadVersion: r.WorkloadVersion,
		Phase: v1.JobPhase(r.Status), Engine: r.Engine, Tasks: r.counts(),
		Input:     artifactRef(r.InputID, r.InputSHA256, r.InputBytes),
		Result:    resultRef(artifactRef(r.ResultID, r.ResultSHA256, r.ResultBytes), r.ResultRows),
		Rejects:   resultRef(artifactRef(r.RejectsID, r.RejectsSHA256, r.RejectsBytes), r.RejectsRows),
		StepOwner: id(r.StepOwner), StepExpiresAt: utc(r.StepExpiresAt), StepFailures: r.StepFailures,
		CancelRequestedAt: utc(r.CancelRequestedAt), DeletionRequestedAt: utc(r.DeletionRequestedAt),
		ErrorCode: r.ErrorCode, ErrorMessage: r.ErrorMessage,
		CreatedAt: r.CreatedAt.UTC(), StartedAt: utc(r.StartedAt), CompletedAt: utc(r.CompletedAt),
		UpdatedAt: r.UpdatedAt.UTC(), ReadAt: r.ReadAt.UTC(),
	}
	decode(&j, "labels", r.Labels, &j.Labels)
	decode(&j, "annotations", r.Annotations, &j.Annotations)
	decode(&j, "spec", r.Spec, &j.Spec)
	decode(&j, "conditions", r.Conditions, &j.Conditions)
	decode(&j, "ledger", r.Ledger, &j.Ledger)
	decode(&j, "plan", r.Plan, &j.Plan)
	if j.Damage == "" && j.Spec.Workload != r.Workload {
		j.damaged("spec.workload differs from column workload")
	}
	// The columns are what the dispatcher and the claim go by.
	j.Spec.Priority, j.Spec.Parallelism, j.Spec.Suspend = r.Priority, r.Parallelism, r.Suspend
	j.Spec.ActiveDeadlineSeconds, j.Spec.TTLSecondsAfterFinished = r.ActiveDeadlineSeconds, r.TTLSecondsAfterFinished
	j.Spec.MaxAttempts = r.MaxAttempts
	return j
}

// decode reads a JSON column into target; NULL, or what cannot be decoded,
// leaves it as it is.
func decode[T any](j *Job, column string, data []byte, target *T) {
	if data == nil {
		return
	}
	var v T
	if err := json.Unmarshal(data, &v); err != nil {
		j.damaged("column " + column + " cannot be decoded")
		return
	}
	*target = v
}

func (j *Job) damaged(what string) {
	if j.Damage != "" {
		j.Damage += "; "
	}
	j.Damage += what
}

// damageError is ErrDamaged for a damaged Job, else nil.
func (j *Job) damageError() error {
	if j.Damage == "" {
		return nil
	}
	return fmt.Errorf("%w: %s", ErrDamaged, j.Damage)
}

// counts derives the pending tasks from the rest: counters and leases are read
// in one snapshot, so the result is exact; a damaged row never goes below zero.
func (r jobRow) counts() v1.TaskCounts {
	c := v1.TaskCounts{
		Total: r.TotalTasks, Leased: r.Leased, Running: r.Running,
		Completed: r.CompletedTasks, Failed: r.FailedTasks, Cancelled: r.CancelledTasks,
	}
	c.Pending = max(0, c.Total-c.Leased-c.Running-c.Completed-c.Failed-c.Cancelled)
	return c
}

func artifactRef(id *uuid.UUID, sha256 *string, size *int64) *v1.ArtifactRef {
	if id == nil {
		return nil
	}
	return &v1.ArtifactRef{Artifact: *id, SHA256: *sha256, SizeBytes: *size}
}

func resultRef(a *v1.ArtifactRef, rows int64) *v1.ResultRef {
	if a == nil {
		return nil
	}
	return &v1.ResultRef{ArtifactRef: *a, Rows: rows}
}

const lockJobSQL = `
SELECT` + jobColumns + `, j.plan` + jobTables + `
WHERE  j.id = @job
FOR NO KEY UPDATE OF j`

// lockJob reads a job and locks its row until the transaction ends.
func (s *Store) lockJob(ctx context.Context, tx pgx.Tx, id uuid.UUID) (Job, error) {
	r, err := collectOne[jobRow](ctx, tx, lockJobSQL, pgx.NamedArgs{"job": id, "now": s.now()})
	if err != nil {
		return Job{}, err
	}
	return r.job(), nil
}
