package store

import (
	"time"

	"github.com/google/uuid"

	v1 "scimesh.dev/scimesh/api/v1"
)

// Worker is a row of workers.
type Worker struct {
	ID           uuid.UUID
	Name         string
	Capabilities []string
	Engine       string
	CPUCount     int32
	MemoryMB     int64
	Phase        v1.WorkerPhase
	// LastHeartbeatAt is the last sign of life; it lags by about a second.
	LastHeartbeatAt     time.Time
	ActiveTasks         int64
	ConsecutiveFailures int32
	Quarantines         int32
	QuarantinedUntil    time.Time
	QuarantineReason    string
	CreatedAt           time.Time
	UpdatedAt           time.Time
	ReadAt              time.Time
}

// RegisterWorkerParams are the inputs of RegisterWorker.
type RegisterWorkerParams struct {
	// ID is the identity that the worker was given before; uuid.Nil for a new one.
	ID           uuid.UUID
	Name         string
	Capabilities []string
	Engine       string
	CPUCount     int32
	MemoryMB     int64
}

// WorkerFilter selects workers; zero fields select all.
type WorkerFilter struct {
	Phases     []v1.WorkerPhase
	Capability string
}

// WorkerChange is a change of a worker's phase.
type WorkerChange struct {
	Worker uuid.UUID
	Name   string
	From   v1.WorkerPhase
	To     v1.WorkerPhase
}

// Artifact is a row of artifacts: it names a durable blob.
type Artifact struct {
	ID          uuid.UUID
	JobID       uuid.UUID // uuid.Nil for an uploaded input
	JobName     string
	TaskID      uuid.UUID
	Attempt     int32
	Kind        v1.ArtifactKind
	Filename    string
	ContentType string
	SizeBytes   int64
	SHA256      string
	Engine      string // of a result
	CreatedAt   time.Time
}

// ArtifactFilter selects artifacts; zero fields select all.
type ArtifactFilter struct {
	Job    uuid.UUID
	Task   uuid.UUID
	Kinds  []v1.ArtifactKind
	SHA256 string
}

// Event is a row of events.
type Event struct {
	ID        int64
	JobID     uuid.UUID
	JobName   string
	TaskID    uuid.UUID
	WorkerID  uuid.UUID
	Type      v1.EventType
	Reason    string
	Message   string
	CreatedAt time.Time
}

// EventFilter selects events; zero fields select all.
type EventFilter struct {
	Job    uuid.UUID
	Worker uuid.UUID
	// After selects events with a larger id.
	After int64
}

// WhySnapshot is what an explanation of a waiting Job needs. Everything in it
// was read in one transaction.
type WhySnapshot struct {
	Job Job
	// Ready tasks could be claimed now; Waiting ones wait until their not_before.
	Ready   int64
	Waiting int64
	// NextRetryAt is the earliest not_before of the waiting tasks.
	NextRetryAt time.Time
	// JobsAhead counts running jobs of higher priority that have pending tasks.
	JobsAhead int64
	Workers   WorkerSummary
}

// WorkerSummary counts workers as one Job sees them. Each number counts among
// those of the line before.
type WorkerSummary struct {
	Registered int64
	// Capable registered the Job's workload.
	Capable int64
	// Online are capable and alive.
	Online int64
	// SameEngine are online and have the Job's engine, or the Job has none yet.
	SameEngine int64
	// Healthy are of the same engine and not in quarantine.
	Healthy int64
	// Idle are healthy and hold no task.
	Idle int64
	// QuarantineEndsAt is the earliest end of quarantine among the workers of
	// the same engine that are not healthy.
	QuarantineEndsAt time.Time
}

// QueueStats are gauges over the whole queue.
type QueueStats struct {
	JobsByPhase map[v1.JobPhase]int64
	Tasks       v1.TaskCounts // of jobs that have not ended
	Workers     map[v1.WorkerPhase]int64
	// OldestPendingAge is the age of the oldest pending task.
	OldestPendingAge time.Duration
	// OldestSnapshotAge is the age of the oldest transaction in the database;
	// while it grows, ended rows cannot be vacuumed and claims get slower.
	OldestSnapshotAge time.Duration
}

// Violation is a broken invariant.
type Violation struct {
	// Invariant is a short stable name, such as "counters".
	Invariant string
	// Object is what breaks it, such as "job/NAME".
	Object string
	Detail string
}
