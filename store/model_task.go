package store

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"

	v1 "scimesh.dev/scimesh/api/v1"
)

// Task is a row of tasks. Times are UTC; a zero time is one that has not come.
type Task struct {
	ID          uuid.UUID
	JobID       uuid.UUID
	JobName     string
	ChunkIndex  int32
	Workload    string
	InputSHA256 string
	Parameters  json.RawMessage
	Phase       v1.TaskPhase
	// Attempt is the fencing token of the last claim; 0 before the first.
	Attempt     int32
	MaxAttempts int32
	Failures    int32
	LostLeases  int32
	NotBefore   time.Time
	// LeaseOwner is uuid.Nil unless the task is leased or running.
	LeaseOwner uuid.UUID
	// WorkerName is that of the lease's owner, or of the worker that completed the task.
	WorkerName     string
	LeaseExpiresAt time.Time
	Progress       *float64
	Result         *v1.ArtifactRef
	Metrics        json.RawMessage
	ErrorCode      string
	ErrorMessage   string
	CreatedAt      time.Time
	StartedAt      time.Time
	CompletedAt    time.Time
	Version        int64
	// Attempts are filled by GetTask alone: the ended ones and the live one, oldest first.
	Attempts []Attempt
}

// Attempt is one lease of a task.
type Attempt struct {
	Attempt      int32
	Worker       uuid.UUID
	WorkerName   string
	Outcome      v1.AttemptOutcome
	ErrorCode    string
	ErrorMessage string
	// Metrics are those of the attempt that completed the task.
	Metrics   json.RawMessage
	StartedAt time.Time
	// EndedAt is zero for the live attempt.
	EndedAt  time.Time
	LogBytes int64
}

// TaskFilter selects tasks; zero fields select all.
type TaskFilter struct {
	Job    uuid.UUID
	Worker uuid.UUID // tasks that this worker holds now
	Phases []v1.TaskPhase
}

// Lease names one attempt of a task by a worker. Every change by a worker is
// fenced by it.
type Lease struct {
	Task    uuid.UUID
	Worker  uuid.UUID
	Attempt int32
}

// ClaimParams are the inputs of ClaimTask.
type ClaimParams struct {
	Worker uuid.UUID
	// Capabilities are the workloads asked for; those that the worker did not
	// register are ignored.
	Capabilities []string
	// Wait is how long to wait for a task if there is none; 0 answers at once.
	Wait time.Duration
}

// LeasedTask is what a worker is given.
type LeasedTask struct {
	Lease
	JobID      uuid.UUID
	JobName    string
	ChunkIndex int32
	ExpiresAt  time.Time
	Workload   string
	// InputURI is set if the worker is to fetch the input outside the coordinator.
	InputURI    string
	InputSHA256 string
	// InputBytes is the size of the input; 0 if the coordinator does not know it.
	InputBytes int64
	// Inputs are further files to fetch, by their position.
	Inputs []FileRef
	// Parameters are the task's own over those that the plan shares.
	Parameters json.RawMessage
}

// RenewLeaseParams are the inputs of RenewLease.
type RenewLeaseParams struct {
	Lease
	// Progress is the finished share, between 0 and 1; nil leaves it as it is.
	Progress *float64
}

// Renewal is the answer to a heartbeat.
type Renewal struct {
	ExpiresAt time.Time
	// Cancel tells the worker to stop: the Job is being cancelled or has ended.
	Cancel bool
}

// RecordTaskArtifactParams are the inputs of RecordTaskArtifact.
type RecordTaskArtifactParams struct {
	Lease
	FileRef
	// Body is the bytes, if the row is to hold them; nil if they are a blob.
	Body []byte
}

// CompleteTaskParams are the inputs of CompleteTask.
type CompleteTaskParams struct {
	Lease
	// ArtifactID and SHA256 are the manifest: a partial result recorded for
	// this task and attempt.
	ArtifactID uuid.UUID
	SHA256     string
	// ContentType is compared with the artifact's unless empty.
	ContentType string
	// Metrics is a JSON object, or empty.
	Metrics json.RawMessage
}

// Completion is the answer to CompleteTask.
type Completion struct {
	JobID uuid.UUID
	// Repeated is true if the same manifest had been accepted before.
	Repeated bool
}

// FailTaskParams are the inputs of FailTask.
type FailTaskParams struct {
	Lease
	// Code is a word, Message a sentence; both sanitised by the caller.
	Code    string
	Message string
	// Retryable false fails the task at once.
	Retryable bool
}

// FailedTask is the answer to FailTask.
type FailedTask struct {
	JobID uuid.UUID
	// Phase is pending if the task will be tried again, else failed.
	Phase     v1.TaskPhase
	NotBefore time.Time
	// Quarantined is true if this failure put the worker into quarantine.
	Quarantined bool
}

// Expired counts what ExpireLeases did.
type Expired struct {
	Requeued int
	Failed   int
}

// TaskInput is where the input of a task is.
type TaskInput struct {
	JobID uuid.UUID
	// Artifact is nil if the input is at URI.
	Artifact *Artifact
	URI      string
	SHA256   string
}

// AppendLogParams are the inputs of AppendLog.
type AppendLogParams struct {
	Lease
	// Seq numbers the chunks of an attempt from 0 without gaps.
	Seq int32
	// Body is at most MaxLogChunk bytes.
	Body []byte
	// Final says that no chunk follows.
	Final bool
}

// LogChunk is a part of the log of one attempt.
type LogChunk struct {
	Attempt int32
	// Offset is the byte position of Body; Offset+len(Body) asks for the next part.
	Offset int64
	Body   []byte
	// Final is true if Body reaches the end of the log and nothing will follow.
	Final bool
}
