package server

import (
	"context"
	"time"

	"github.com/google/uuid"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/store"
)

// Store is what the handlers need of *store.Store.
type Store interface {
	leaseStore
	jobStore
	taskStore
	workerStore
	artifactStore
	ListEvents(ctx context.Context, f store.EventFilter, p store.Page) (store.List[store.Event], error)
	// Ping checks that the database answers and holds the right schema.
	Ping(ctx context.Context) error
}

type leaseStore interface {
	ClaimTask(ctx context.Context, p store.ClaimParams) (store.LeasedTask, bool, error)
	CheckLease(ctx context.Context, l store.Lease) (time.Time, error)
	RenewLease(ctx context.Context, p store.RenewLeaseParams) (store.Renewal, error)
	RecordTaskArtifact(ctx context.Context, p store.RecordTaskArtifactParams) (store.Artifact, error)
	CompleteTask(ctx context.Context, p store.CompleteTaskParams) (store.Completion, error)
	FailTask(ctx context.Context, p store.FailTaskParams) (store.FailedTask, error)
	ReleaseTask(ctx context.Context, l store.Lease) error
	AppendLog(ctx context.Context, p store.AppendLogParams) error
}

type jobStore interface {
	CreateJob(ctx context.Context, p store.CreateJobParams) (store.Job, error)
	ApplyJob(ctx context.Context, p store.CreateJobParams, dryRun bool) (store.Job, store.ApplyOperation, error)
	GetJob(ctx context.Context, ref string) (store.Job, error)
	ListJobs(ctx context.Context, f store.JobFilter, p store.Page) (store.List[store.Job], error)
	RequestCancel(ctx context.Context, ref string) (store.Job, error)
	RequestDelete(ctx context.Context, ref string) (store.Job, error)
	Why(ctx context.Context, job uuid.UUID) (store.WhySnapshot, error)
}

type taskStore interface {
	GetTask(ctx context.Context, id uuid.UUID) (store.Task, error)
	FindTask(ctx context.Context, job uuid.UUID, chunkIndex int32) (uuid.UUID, error)
	GetTaskInput(ctx context.Context, id uuid.UUID) (store.TaskInput, error)
	GetTaskFile(ctx context.Context, id uuid.UUID, position int) (store.FileRef, error)
	ListTasks(ctx context.Context, f store.TaskFilter, p store.Page) (store.List[store.Task], error)
	ReadLog(ctx context.Context, task uuid.UUID, attempt int32, offset int64, limit int) (store.LogChunk, error)
}

type workerStore interface {
	RegisterWorker(ctx context.Context, p store.RegisterWorkerParams) (store.Worker, error)
	PutWorkload(ctx context.Context, name string, spec v1.WorkloadSpec) error
	GetWorker(ctx context.Context, id uuid.UUID) (store.Worker, error)
	ListWorkers(ctx context.Context, f store.WorkerFilter, p store.Page) (store.List[store.Worker], error)
}

type artifactStore interface {
	CreateArtifact(ctx context.Context, f store.FileRef) (store.Artifact, error)
	GetArtifact(ctx context.Context, id uuid.UUID) (store.Artifact, error)
	FindArtifact(ctx context.Context, sha256 string) (store.Artifact, error)
	ListArtifacts(ctx context.Context, f store.ArtifactFilter, p store.Page) (store.List[store.Artifact], error)
}

var _ Store = (*store.Store)(nil)
