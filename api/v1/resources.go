package v1

import (
	"encoding/json"

	"github.com/google/uuid"
)

// TaskPhase is where a Task stands.
type TaskPhase string

// The phases of a Task: pending → leased → running → completed; leased and
// running go back to pending when the lease is lost or a retryable failure
// leaves attempts; any open Task may be cancelled.
const (
	TaskPending   TaskPhase = "pending"
	TaskLeased    TaskPhase = "leased"
	TaskRunning   TaskPhase = "running"
	TaskCompleted TaskPhase = "completed"
	TaskFailed    TaskPhase = "failed"
	TaskCancelled TaskPhase = "cancelled"
)

// Final reports whether a Task in this phase has ended.
func (p TaskPhase) Final() bool {
	return p == TaskCompleted || p == TaskFailed || p == TaskCancelled
}

// Task is one unit of a Job, computed by one worker under a lease. Its name is
// JOB-CHUNKINDEX.
type Task struct {
	TypeMeta `json:",inline"`
	Metadata ObjectMeta `json:"metadata"`
	Spec     TaskSpec   `json:"spec"`
	Status   TaskStatus `json:"status"`
}

// TaskSpec is what a worker is to compute.
type TaskSpec struct {
	Job         string          `json:"job"`
	ChunkIndex  int32           `json:"chunkIndex"`
	Workload    string          `json:"workload"`
	InputSHA256 string          `json:"inputSha256"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
	MaxAttempts int32           `json:"maxAttempts"`
}

// TaskStatus is where the computation stands.
type TaskStatus struct {
	Phase          TaskPhase       `json:"phase"`
	Attempt        int32           `json:"attempt"`
	Failures       int32           `json:"failures"`
	LostLeases     int32           `json:"lostLeases"`
	NotBefore      *Time           `json:"notBefore,omitempty"`
	LeaseOwner     *uuid.UUID      `json:"leaseOwner,omitempty"`
	WorkerName     string          `json:"workerName,omitempty"`
	LeaseExpiresAt *Time           `json:"leaseExpiresAt,omitempty"`
	Progress       *float64        `json:"progress,omitempty"`
	StartedAt      *Time           `json:"startedAt,omitempty"`
	CompletedAt    *Time           `json:"completedAt,omitempty"`
	Result         *ArtifactRef    `json:"result,omitempty"`
	Metrics        json.RawMessage `json:"metrics,omitempty"`
	ErrorCode      string          `json:"errorCode,omitempty"`
	ErrorMessage   string          `json:"errorMessage,omitempty"`
	Attempts       []Attempt       `json:"attempts,omitempty"`
}

// AttemptOutcome is how an attempt ended.
type AttemptOutcome string

// Outcomes of an attempt.
const (
	AttemptActive    AttemptOutcome = "active"
	AttemptCompleted AttemptOutcome = "completed"
	AttemptFailed    AttemptOutcome = "failed"
	AttemptLost      AttemptOutcome = "lost"
	AttemptReleased  AttemptOutcome = "released"
	AttemptCancelled AttemptOutcome = "cancelled"
)

// Attempt is one lease of a Task, from claim to end.
type Attempt struct {
	Attempt      int32           `json:"attempt"`
	Worker       uuid.UUID       `json:"worker"`
	WorkerName   string          `json:"workerName,omitempty"`
	Outcome      AttemptOutcome  `json:"outcome"`
	StartedAt    Time            `json:"startedAt"`
	EndedAt      *Time           `json:"endedAt,omitempty"`
	ErrorCode    string          `json:"errorCode,omitempty"`
	ErrorMessage string          `json:"errorMessage,omitempty"`
	Metrics      json.RawMessage `json:"metrics,omitempty"`
	LogBytes     int64           `json:"logBytes,omitempty"`
}

// WorkerPhase is whether a worker can be given tasks.
type WorkerPhase string

// The phases of a Worker.
const (
	WorkerOnline  WorkerPhase = "online"
	WorkerBusy    WorkerPhase = "busy"
	WorkerOffline WorkerPhase = "offline"
)

// Worker is a process that claims tasks.
type Worker struct {
	TypeMeta `json:",inline"`
	Metadata ObjectMeta   `json:"metadata"`
	Spec     WorkerSpec   `json:"spec"`
	Status   WorkerStatus `json:"status"`
}

// WorkerSpec is what the worker said of itself when it registered.
type WorkerSpec struct {
	Capabilities []string `json:"capabilities"`
	Engine       string   `json:"engine,omitempty"`
	CPUCount     int32    `json:"cpuCount"`
	MemoryMB     int64    `json:"memoryMb"`
}

// WorkerStatus is what the coordinator knows of the worker.
type WorkerStatus struct {
	Phase               WorkerPhase `json:"phase"`
	LastHeartbeatAt     *Time       `json:"lastHeartbeatAt,omitempty"`
	ActiveTasks         int64       `json:"activeTasks"`
	ConsecutiveFailures int32       `json:"consecutiveFailures"`
	QuarantinedUntil    *Time       `json:"quarantinedUntil,omitempty"`
	Conditions          []Condition `json:"conditions,omitempty"`
}

// Condition types of a Worker.
const (
	WorkerConditionReady       = "Ready"
	WorkerConditionQuarantined = "Quarantined"
)

// ArtifactKind says what an artifact is for.
type ArtifactKind string

// Kinds of artifacts.
const (
	ArtifactInput   ArtifactKind = "input"
	ArtifactShard   ArtifactKind = "shard"
	ArtifactPartial ArtifactKind = "partial_result"
	ArtifactFinal   ArtifactKind = "final_result"
	ArtifactRejects ArtifactKind = "rejects"
	ArtifactOutput  ArtifactKind = "output"
	ArtifactLog     ArtifactKind = "log"
)

// Artifact is a stored file. Its name is its id.
type Artifact struct {
	TypeMeta `json:",inline"`
	Metadata ObjectMeta   `json:"metadata"`
	Spec     ArtifactSpec `json:"spec"`
}

// ArtifactSpec describes an artifact; it never changes.
type ArtifactSpec struct {
	Kind        ArtifactKind `json:"kind"`
	Job         string       `json:"job,omitempty"`
	Task        *uuid.UUID   `json:"task,omitempty"`
	Attempt     int32        `json:"attempt,omitempty"`
	Filename    string       `json:"filename"`
	ContentType string       `json:"contentType"`
	SizeBytes   int64        `json:"sizeBytes"`
	SHA256      string       `json:"sha256"`
	// Engine is what computed a result.
	Engine string `json:"engine,omitempty"`
}

// EventType is how much attention an Event asks for.
type EventType string

// Types of events.
const (
	EventNormal  EventType = "Normal"
	EventWarning EventType = "Warning"
)

// Event is something that happened to a Job, one of its tasks, or a worker.
type Event struct {
	TypeMeta  `json:",inline"`
	ID        int64      `json:"id"`
	Job       string     `json:"job,omitempty"`
	Task      *uuid.UUID `json:"task,omitempty"`
	Worker    *uuid.UUID `json:"worker,omitempty"`
	Type      EventType  `json:"type"`
	Reason    string     `json:"reason"`
	Message   string     `json:"message"`
	CreatedAt Time       `json:"createdAt"`
}

// Workload describes a registered computation, for forms and `scimesh explain`.
type Workload struct {
	TypeMeta `json:",inline"`
	Metadata ObjectMeta   `json:"metadata"`
	Spec     WorkloadSpec `json:"spec"`
}

// WorkloadSpec is the public face of a workload.
type WorkloadSpec struct {
	Version     string `json:"version"`
	Description string `json:"description"`
	// ParametersSchema is a JSON Schema (draft 2020-12) of spec.parameters.
	ParametersSchema json.RawMessage `json:"parametersSchema"`
	// Inputs are the accepted forms of the input, outputs the files that come out.
	Inputs  []string `json:"inputs"`
	Outputs []string `json:"outputs"`
	// Memory says how much memory a task takes.
	Memory string `json:"memory,omitempty"`
	// Formats are what spec.output.formats may name.
	Formats []OutputFormat `json:"formats,omitempty"`
}

// OutputFormat is a file that a workload makes beside the result, on request.
type OutputFormat struct {
	Name        string `json:"name"`
	Filename    string `json:"filename"`
	Description string `json:"description"`
}

// ControllerStatus is the health of one reconciler in one coordinator.
type ControllerStatus struct {
	Name          string `json:"name"`
	QueueDepth    int64  `json:"queueDepth"`
	InFlight      int64  `json:"inFlight"`
	Retries       int64  `json:"retries"`
	Reconciles    int64  `json:"reconciles"`
	Errors        int64  `json:"errors"`
	LastSuccessAt *Time  `json:"lastSuccessAt,omitempty"`
	LastErrorAt   *Time  `json:"lastErrorAt,omitempty"`
	LastError     string `json:"lastError,omitempty"`
	LastErrorKey  string `json:"lastErrorKey,omitempty"`
}
