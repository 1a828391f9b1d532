package web

import (
	"context"
	"time"

	"github.com/google/uuid"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/store"
)

// Store is what the pages need of *store.Store.
type Store interface {
	sessionStore
	jobStore
	taskStore
	clusterStore
	artifactStore
	pulseStore
}

type sessionStore interface {
	CreateSession(ctx context.Context, digest [32]byte, ttl time.Duration) error
	FindSession(ctx context.Context, digest [32]byte) (time.Time, error)
	DeleteSession(ctx context.Context, digest [32]byte) error
	DeleteSessions(ctx context.Context) (int, error)
}

type jobStore interface {
	GetJob(ctx context.Context, ref string) (store.Job, error)
	PageJobs(ctx context.Context, f store.JobSearch, offset, limit int) (store.JobPage, error)
	RequestCancel(ctx context.Context, ref string) (store.Job, error)
	RequestCancelAll(ctx context.Context, f store.JobSearch) (int, error)
	Why(ctx context.Context, job uuid.UUID) (store.WhySnapshot, error)
}

type taskStore interface {
	FindTask(ctx context.Context, job uuid.UUID, chunkIndex int32) (uuid.UUID, error)
	GetTask(ctx context.Context, id uuid.UUID) (store.Task, error)
	PageTasks(ctx context.Context, job uuid.UUID, phases []v1.TaskPhase, offset, limit int) ([]store.Task, error)
	TaskCells(ctx context.Context, job uuid.UUID, size int32) ([]store.TaskCell, error)
	ListTasks(ctx context.Context, f store.TaskFilter, p store.Page) (store.List[store.Task], error)
	ReadLog(ctx context.Context, task uuid.UUID, attempt int32, offset int64, limit int) (store.LogChunk, error)
}

type clusterStore interface {
	Ping(ctx context.Context) error
	QueueStats(ctx context.Context) (store.QueueStats, error)
	CompletedTasks(ctx context.Context, window time.Duration) (map[uuid.UUID]int64, error)
	GetWorker(ctx context.Context, id uuid.UUID) (store.Worker, error)
	ListWorkers(ctx context.Context, f store.WorkerFilter, p store.Page) (store.List[store.Worker], error)
	FailedAttempts(ctx context.Context, worker uuid.UUID, limit int) ([]store.WorkerAttempt, error)
	RecentEvents(ctx context.Context, f store.EventFilter, warnings bool, limit int) ([]store.Event, error)
}

type artifactStore interface {
	GetArtifact(ctx context.Context, id uuid.UUID) (store.Artifact, error)
	ListArtifacts(ctx context.Context, f store.ArtifactFilter, p store.Page) (store.List[store.Artifact], error)
}

// pulseStore tells whether anything has changed.
type pulseStore interface {
	Pulse(ctx context.Context, job uuid.UUID) (string, error)
}

var _ Store = (*store.Store)(nil)
