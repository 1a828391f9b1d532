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

	v1 "scimesh.dev/scimesh/api/v1"
)

const insertJobSQL = `
INSERT INTO jobs (id, name, labels, annotations, workload, workload_version, spec, parameters, priority,
                  parallelism, suspend, max_attempts, active_deadline_seconds, ttl_seconds_after_finished,
                  input_artifact_id, created_at, updated_at)
VALUES (@id, @name::text, @labels::jsonb, @annotations::jsonb, @workload, @workload_version, @spec, @parameters, @priority,
        @parallelism::int, @suspend, @max_attempts::int, @deadline::bigint, @ttl::bigint,
        @input, coalesce(@now::timestamptz, now()), coalesce(@now::timestamptz, now()))`

// CreateJob stores a new Job in phase created. The name being taken is
// ErrConflict; an input artifact that does not exist is ErrInvalid.
func (s *Store) CreateJob(ctx context.Context, p CreateJobParams) (_ Job, err error) {
	defer wrapf(&err, "create job %q", p.Name)

	var job Job
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		job, err = s.insertJob(ctx, tx, p)
		return err
	})
	return job, err
}

func (s *Store) insertJob(ctx context.Context, tx pgx.Tx, p CreateJobParams) (Job, error) {
	input, err := resolveInput(ctx, tx, p.Spec.Input)
	if err != nil {
		return Job{}, err
	}
	args, err := p.args()
	if err != nil {
		return Job{}, err
	}
	job := NewID()
	args["id"], args["now"], args["input"] = job, s.now(), nil
	if input != nil {
		args["input"] = input.Artifact
	}
	if _, err := tx.Exec(ctx, insertJobSQL, args); err != nil {
		return Job{}, err
	}
	if err := s.recordEvents(ctx, tx, Event{JobID: job, Type: v1.EventNormal, Reason: "JobCreated", Message: "the job was created"}); err != nil {
		return Job{}, err
	}
	if err := notifyJob(ctx, tx, job); err != nil {
		return Job{}, err
	}
	return s.lockJob(ctx, tx, job)
}

func (p CreateJobParams) args() (pgx.NamedArgs, error) {
	spec, err := json.Marshal(p.Spec)
	if err != nil {
		return nil, fmt.Errorf("%w: spec: %w", ErrInvalid, err)
	}
	return pgx.NamedArgs{
		"name": p.Name, "labels": stringMap(p.Labels), "annotations": stringMap(p.Annotations),
		"workload": p.Spec.Workload, "workload_version": p.WorkloadVersion,
		"spec": spec, "parameters": jsonOr(p.Spec.Parameters, `{}`), "priority": p.Spec.Priority,
		"parallelism": p.Spec.Parallelism, "suspend": p.Spec.Suspend, "max_attempts": p.Spec.MaxAttempts,
		"deadline": p.Spec.ActiveDeadlineSeconds, "ttl": p.Spec.TTLSecondsAfterFinished,
	}, nil
}

const resolveInputSQL = `
SELECT id, sha256, size_bytes
FROM   artifacts
WHERE  kind = 'input'
AND    (id = @id OR left(sha256, 16) = left(@sha256::text, 16) AND sha256 = @sha256)
ORDER BY created_at DESC, id DESC
LIMIT  1
FOR KEY SHARE`

// resolveInput finds the uploaded artifact that an input names; nil for chunks.
// The row is locked against removal until the transaction ends.
func resolveInput(ctx context.Context, q querier, in v1.JobInput) (*v1.ArtifactRef, error) {
	if in.Artifact == nil && in.SHA256 == "" {
		return nil, nil //nolint:nilnil // the input is chunks
	}
	var ref v1.ArtifactRef
	args := pgx.NamedArgs{"id": in.Artifact, "sha256": textOrNil(in.SHA256)}
	err := q.QueryRow(ctx, resolveInputSQL, args).Scan(&ref.Artifact, &ref.SHA256, &ref.SizeBytes)
	if errors.Is(err, pgx.ErrNoRows) {
		if in.Artifact != nil {
			return nil, &FieldError{Field: "spec.input.artifact", Message: "no uploaded input has this id"}
		}
		return nil, &FieldError{Field: "spec.input.sha256", Message: "no uploaded input has this SHA-256"}
	}
	return &ref, err
}

const updateJobSpecSQL = `
UPDATE jobs
SET    labels = @labels::jsonb, annotations = @annotations::jsonb, spec = @spec, priority = @priority,
       parallelism = @parallelism::int, suspend = @suspend, active_deadline_seconds = @deadline::bigint,
       ttl_seconds_after_finished = @ttl::bigint, generation = generation + @generations::int,
       version = version + 1, updated_at = coalesce(@now::timestamptz, now())
WHERE  id = @id`

// errRollback undoes a transaction that did what was wanted.
var errRollback = errors.New("roll back")

// ApplyJob creates the Job, or changes what may change of the one of that
// name. Other differences are an *ImmutableError. With dryRun nothing is written.
func (s *Store) ApplyJob(ctx context.Context, p CreateJobParams, dryRun bool) (_ Job, _ ApplyOperation, err error) {
	defer wrapf(&err, "apply job %q", p.Name)

	var job Job
	var op ApplyOperation
	apply := func(tx pgx.Tx) (err error) {
		job, op, err = s.applyJob(ctx, tx, p)
		if err == nil && dryRun {
			return errRollback
		}
		return err
	}
	err = s.inTx(ctx, apply)
	if errors.Is(translate(err), ErrConflict) && op == ApplyCreated {
		err = s.inTx(ctx, apply) // another apply of the same name was first
	}
	if errors.Is(err, errRollback) {
		err = nil
	}
	return job, op, err
}

func (s *Store) applyJob(ctx context.Context, tx pgx.Tx, p CreateJobParams) (Job, ApplyOperation, error) {
	var id uuid.UUID
	err := tx.QueryRow(ctx, `SELECT id FROM jobs WHERE name = $1 FOR NO KEY UPDATE`, p.Name).Scan(&id)
	if errors.Is(err, pgx.ErrNoRows) {
		job, err := s.insertJob(ctx, tx, p)
		return job, ApplyCreated, err
	}
	if err != nil {
		return Job{}, "", err
	}
	old, err := s.lockJob(ctx, tx, id)
	if err != nil {
		return Job{}, "", err
	}
	if err := old.damageError(); err != nil {
		return old, "", err
	}
	return s.changeJob(ctx, tx, old, p)
}

func (s *Store) changeJob(ctx context.Context, tx pgx.Tx, old Job, p CreateJobParams) (Job, ApplyOperation, error) {
	if !old.DeletionRequestedAt.IsZero() {
		return old, "", fmt.Errorf("%w: the job is being deleted", ErrConflict)
	}
	input, err := resolveInput(ctx, tx, p.Spec.Input)
	if err != nil {
		return old, "", err
	}
	if sameInput(old, p.Spec.Input, input) {
		p.Spec.Input = old.Spec.Input // the same bytes, perhaps named in another way
	}
	op, fixed := v1.DiffMutable(new(old.Resource()), &v1.Job{Metadata: v1.ObjectMeta{Labels: p.Labels, Annotations: p.Annotations}, Spec: p.Spec})
	if len(fixed) > 0 {
		return old, "", &ImmutableError{Fields: fixed}
	}
	if op == v1.OperationUnchanged {
		return old, ApplyUnchanged, nil
	}
	p.Spec.Parameters = old.Spec.Parameters // equal, perhaps written in another way
	specChanged := mutableFields(old.Spec) != mutableFields(p.Spec)
	args, err := p.args()
	if err != nil {
		return old, "", err
	}
	args["id"], args["now"], args["generations"] = old.ID, s.now(), boolInt(specChanged)
	if _, err := tx.Exec(ctx, updateJobSpecSQL, args); err != nil {
		return old, "", err
	}
	if err := notifyJob(ctx, tx, old.ID); err != nil {
		return old, "", err
	}
	job, err := s.lockJob(ctx, tx, old.ID)
	return job, ApplyConfigured, err
}

// sameInput compares bytes, not names, and how they are to be read.
func sameInput(old Job, in v1.JobInput, ref *v1.ArtifactRef) bool {
	if old.Spec.Input.InputLayout != in.InputLayout {
		return false
	}
	if old.Input == nil || ref == nil {
		return old.Input == nil && ref == nil && slices.Equal(old.Spec.Input.Chunks, in.Chunks)
	}
	return old.Input.SHA256 == ref.SHA256
}

// mutable are the fields of a spec that an apply may change.
type mutable struct {
	priority, parallelism int32
	suspend               bool
	deadline, ttl         int64
}

func mutableFields(s v1.JobSpec) mutable {
	return mutable{s.Priority, s.Parallelism, s.Suspend, s.ActiveDeadlineSeconds, s.TTLSecondsAfterFinished}
}

// stringMap is a map as a JSON argument; never null.
func stringMap(m map[string]string) map[string]string {
	if m == nil {
		return map[string]string{}
	}
	return m
}

// jsonOr is a JSON argument with a default for none.
func jsonOr(data json.RawMessage, def string) json.RawMessage {
	if len(bytes.TrimSpace(data)) == 0 || string(data) == "null" {
		return json.RawMessage(def)
	}
	return data
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}
