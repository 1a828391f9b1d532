package worker

import (
	"context"
	"encoding/json"
	"io"
	"time"

	"github.com/google/uuid"
)

// Coordinator is what a worker needs of the control plane. Errors match one of
// the sentinels of this package with errors.Is.
type Coordinator interface {
	// Register announces the worker. With an id it renews that identity; the
	// answer's id counts.
	Register(ctx context.Context, r Registration) (Registered, error)
	// Claim asks for one task, waiting up to r.Wait. It returns nil if there is none.
	Claim(ctx context.Context, r ClaimRequest) (*Assignment, error)
	// Heartbeat renews a lease. A progress below zero is not reported.
	Heartbeat(ctx context.Context, l Lease, progress float64) (Renewal, error)
	// Download opens an input from r.Offset.
	Download(ctx context.Context, r DownloadRequest) (*Body, error)
	// Upload stores the result file of an attempt.
	Upload(ctx context.Context, l Lease, f Upload) (Artifact, error)
	// Complete ends an attempt with its artifact. The same manifest again succeeds.
	Complete(ctx context.Context, l Lease, c Completion) error
	// Fail ends an attempt that failed.
	Fail(ctx context.Context, l Lease, f Failure) error
	// Release hands a task back; it costs no attempt.
	Release(ctx context.Context, l Lease) error
	// AppendLog adds one chunk to the attempt's log. The same chunk again succeeds.
	AppendLog(ctx context.Context, l Lease, c LogChunk) error
}

// Registration is what a worker says of itself.
type Registration struct {
	ID           uuid.UUID // zero at the first registration
	Name         string
	Engine       string
	Golden       map[string]string // proof of what Engine claims; nil if there is none
	Capabilities []string
	CPUCount     int
	MemoryMB     int64
}

// Registered is the answer to a registration.
type Registered struct {
	ID                uuid.UUID
	HeartbeatInterval time.Duration // 0 if the coordinator did not say
}

// ClaimRequest asks for one task.
type ClaimRequest struct {
	WorkerID       uuid.UUID
	Capabilities   []string
	MaxConcurrency int
	Wait           time.Duration // whole seconds
}

// Lease names an attempt. Every change of a task carries it.
type Lease struct {
	WorkerID uuid.UUID `json:"worker_id"`
	TaskID   uuid.UUID `json:"task_id"`
	Attempt  int32     `json:"attempt"`
}

// Assignment is a claimed task.
type Assignment struct {
	Lease       Lease
	TTL         time.Duration // what is left of the lease; 0 if unknown
	Workload    string
	InputURI    string
	InputSHA256 string  // lowercase hex
	InputSize   int64   // 0 if unknown
	Further     []Input // what the task reads beside its input
	Parameters  json.RawMessage
}

// Input is a file that a task reads.
type Input struct {
	URI    string
	SHA256 string // lowercase hex
	Size   int64  // 0 if unknown
}

// Renewal is the answer to a heartbeat.
type Renewal struct {
	TTL    time.Duration // what is left of the lease; 0 if unknown
	Cancel bool          // the task is no longer wanted
}

// DownloadRequest asks for the bytes of an input from Offset on.
type DownloadRequest struct {
	Lease  Lease
	URI    string
	Offset int64
	ETag   string // of the bytes before Offset; empty if unknown
}

// Body is an input being read.
type Body struct {
	io.ReadCloser
	Offset int64 // of the first byte: 0 if the server began anew
	Size   int64 // of the whole input, -1 if unknown
	ETag   string
}

// Upload is a result file.
type Upload struct {
	Filename    string
	ContentType string
	SHA256      string
	SizeBytes   int64
	Open        func() (io.ReadCloser, error)
}

// Artifact is a file that the coordinator has taken.
type Artifact struct {
	ID        string `json:"id"`
	URI       string `json:"uri"`
	SHA256    string `json:"sha256"`
	SizeBytes int64  `json:"size_bytes"`
}

// Completion is the manifest of a finished attempt.
type Completion struct {
	Artifact    Artifact
	ContentType string
	Metrics     map[string]any
}

// Failure is the end of an attempt that failed. Code and Message are public.
type Failure struct {
	Code      string `json:"code"`
	Message   string `json:"message"`
	Retryable bool   `json:"retryable"`
}

// LogChunk is a piece of an attempt's log; Seq counts from 0.
type LogChunk struct {
	Seq   int
	Body  []byte
	Final bool
}
