package store

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	v1 "scimesh.dev/scimesh/api/v1"
)

const artifactColumns = `
       a.id, a.job_id, a.task_id, a.attempt, a.kind, a.filename, a.content_type, a.size_bytes, a.sha256, a.created_at`

type artifactRow struct {
	ID          uuid.UUID
	JobID       *uuid.UUID
	TaskID      *uuid.UUID
	Attempt     *int32
	Kind        string
	Filename    string
	ContentType string
	SizeBytes   int64
	SHA256      string
	CreatedAt   time.Time
	JobName     *string
	Engine      *string
}

func (r artifactRow) artifact() Artifact {
	return Artifact{
		ID: r.ID, JobID: id(r.JobID), JobName: deref(r.JobName), Engine: deref(r.Engine), TaskID: id(r.TaskID), Attempt: deref(r.Attempt),
		Kind: v1.ArtifactKind(r.Kind), Filename: r.Filename, ContentType: r.ContentType,
		SizeBytes: r.SizeBytes, SHA256: r.SHA256, CreatedAt: r.CreatedAt.UTC(),
	}
}

const createArtifactSQL = `
WITH existing AS (
    SELECT *
    FROM   artifacts
    WHERE  left(sha256, 16) = left(@sha256::text, 16) AND sha256 = @sha256 AND kind = 'input' AND filename = @filename AND content_type = @content_type
    ORDER BY created_at
    LIMIT  1
), created AS (
    INSERT INTO artifacts (id, kind, filename, content_type, size_bytes, sha256, created_at)
    SELECT @id, 'input', @filename, @content_type, @size::bigint, @sha256::text, coalesce(@now::timestamptz, now())
    WHERE  NOT EXISTS (SELECT FROM existing)
    RETURNING *
)
SELECT` + artifactColumns + `, NULL::text AS job_name, NULL::text AS engine
FROM   (SELECT * FROM existing UNION ALL SELECT * FROM created) a`

// CreateArtifact records an uploaded input, whose blob is durable. The same
// bytes under the same name give the artifact that is there.
func (s *Store) CreateArtifact(ctx context.Context, f FileRef) (_ Artifact, err error) {
	defer wrapf(&err, "create artifact")
	r, err := collectOne[artifactRow](ctx, s.pool, createArtifactSQL, pgx.NamedArgs{
		"id": NewID(), "filename": f.Filename, "content_type": f.ContentType,
		"size": f.SizeBytes, "sha256": f.SHA256, "now": s.now(),
	})
	return r.artifact(), err
}

const getArtifactSQL = `
SELECT` + artifactColumns + `, j.name AS job_name,
       -- Results are of the engine that their job keeps to; inputs are of none.
       CASE WHEN a.kind IN ('partial_result', 'final_result', 'rejects') THEN j.engine END AS engine
FROM   artifacts a
LEFT JOIN jobs j ON j.id = a.job_id
WHERE  a.id = @id`

// GetArtifact returns an artifact.
func (s *Store) GetArtifact(ctx context.Context, id uuid.UUID) (_ Artifact, err error) {
	defer wrapf(&err, "get artifact %s", id)
	r, err := collectOne[artifactRow](ctx, s.pool, getArtifactSQL, pgx.NamedArgs{"id": id})
	return r.artifact(), err
}

const findArtifactSQL = `
SELECT` + artifactColumns + `, NULL::text AS job_name, NULL::text AS engine
FROM   artifacts a
WHERE  left(a.sha256, 16) = left(@sha256::text, 16) AND a.sha256 = @sha256 AND a.kind = 'input'
ORDER BY a.created_at DESC, a.id DESC
LIMIT  1`

// FindArtifact returns the newest uploaded input of that SHA-256.
func (s *Store) FindArtifact(ctx context.Context, sha256 string) (_ Artifact, err error) {
	defer wrapf(&err, "find artifact")
	r, err := collectOne[artifactRow](ctx, s.pool, findArtifactSQL, pgx.NamedArgs{"sha256": sha256})
	return r.artifact(), err
}

// Artifacts are listed by id alone: ids ascend with time.
const listArtifactsSQL = `
SELECT` + artifactColumns + `, j.name AS job_name,
       -- Results are of the engine that their job keeps to; inputs are of none.
       CASE WHEN a.kind IN ('partial_result', 'final_result', 'rejects') THEN j.engine END AS engine
FROM   artifacts a
LEFT JOIN jobs j ON j.id = a.job_id
WHERE  (@before::uuid IS NULL OR a.id < @before)
AND    (@job::uuid IS NULL OR a.job_id = @job)
AND    (@task::uuid IS NULL OR a.task_id = @task)
AND    (@kinds::text[] IS NULL OR a.kind = ANY (@kinds))
AND    (@sha256::text IS NULL OR left(a.sha256, 16) = left(@sha256, 16) AND a.sha256 = @sha256)
ORDER BY a.id DESC
LIMIT  @limit`

// ListArtifacts lists artifacts, newest first.
func (s *Store) ListArtifacts(ctx context.Context, f ArtifactFilter, p Page) (_ List[Artifact], err error) {
	defer wrapf(&err, "list artifacts")

	before, err := decodeCursor[uuid.UUID](p)
	if err != nil {
		return List[Artifact]{}, err
	}
	rows, err := collect[artifactRow](ctx, s.pool, listArtifactsSQL, pgx.NamedArgs{
		"before": idPtr(before), "job": idPtr(f.Job), "task": idPtr(f.Task),
		"kinds": textArray(f.Kinds), "sha256": textOrNil(f.SHA256), "limit": p.limit() + 1,
	})
	if err != nil {
		return List[Artifact]{}, err
	}
	items := make([]Artifact, len(rows))
	for i, r := range rows {
		items[i] = r.artifact()
	}
	return page(items, p, func(a Artifact) any { return a.ID }), nil
}

const deleteUnusedInputsSQL = `
DELETE FROM artifacts
WHERE  id IN (
    SELECT a.id
    FROM   artifacts a
    WHERE  a.kind = 'input'
    AND    a.job_id IS NULL
    AND    a.created_at < coalesce(@now::timestamptz, now()) - @age::interval
    AND    NOT EXISTS (SELECT FROM jobs j WHERE j.input_artifact_id = a.id)
    ORDER BY a.created_at
    LIMIT  @limit
    FOR UPDATE SKIP LOCKED)`

// DeleteUnusedInputs removes up to limit uploaded inputs that no Job names
// and that are older than age, and returns how many. A Job that is created
// meanwhile holds its input: then nothing is removed and the error is ErrConflict.
func (s *Store) DeleteUnusedInputs(ctx context.Context, age time.Duration, limit int) (_ int, err error) {
	defer wrapf(&err, "delete unused inputs")
	tag, err := s.pool.Exec(ctx, deleteUnusedInputsSQL, pgx.NamedArgs{"now": s.now(), "age": age, "limit": limit})
	return int(tag.RowsAffected()), err
}

const artifactBodySQL = `
SELECT body, created_at
FROM   artifacts
WHERE  left(sha256, 16) = left($1::text, 16)
AND    sha256 = $1
AND    body IS NOT NULL
LIMIT  1`

// ArtifactBody returns the body of an artifact of that digest whose row holds
// it, and when it was recorded; ok is false if there is none.
func (s *Store) ArtifactBody(ctx context.Context, sha256 string) (body []byte, written time.Time, ok bool, err error) {
	defer wrapf(&err, "read body of an artifact")
	err = s.pool.QueryRow(ctx, artifactBodySQL, sha256).Scan(&body, &written)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, time.Time{}, false, nil
	}
	return body, written.UTC(), err == nil, err
}

const referencedSQL = `
SELECT DISTINCT sha256
FROM   artifacts
WHERE  left(sha256, 16) = ANY ($2::text[])
AND    sha256 = ANY ($1::text[])
AND    body IS NULL`

// prefixes are what the index of digests holds of them.
func prefixes(sha256 []string) []string {
	cut := make([]string, len(sha256))
	for i, digest := range sha256 {
		cut[i] = digest[:min(16, len(digest))]
	}
	return cut
}

// ReferencedBlobs returns which of the blobs are named by an artifact whose
// row does not hold the bytes itself.
func (s *Store) ReferencedBlobs(ctx context.Context, sha256 []string) (_ map[string]bool, err error) {
	defer wrapf(&err, "look up %d blobs", len(sha256))
	rows, err := s.pool.Query(ctx, referencedSQL, sha256, prefixes(sha256))
	if err != nil {
		return nil, err
	}
	found, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, err
	}
	referenced := make(map[string]bool, len(found))
	for _, digest := range found {
		referenced[digest] = true
	}
	return referenced, nil
}
