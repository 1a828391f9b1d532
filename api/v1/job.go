package v1

import (
	"encoding/json"

	"github.com/google/uuid"
)

// Job is one computation: an input, a workload and its parameters. A user
// writes metadata and spec; the reconcilers write status.
type Job struct {
	TypeMeta `json:",inline"`
	Metadata ObjectMeta `json:"metadata"`
	Spec     JobSpec    `json:"spec"`
	Status   JobStatus  `json:"status,omitzero"`
}

// JobSpec is what the user wants. Priority, Parallelism, Suspend,
// ActiveDeadlineSeconds and TTLSecondsAfterFinished may be changed by a later
// apply; every other field is fixed once the Job exists.
type JobSpec struct {
	// Workload names a registered workload, such as "similarity-search".
	Workload string   `json:"workload"`
	Input    JobInput `json:"input"`
	// Parameters belong to the workload, which validates them.
	Parameters json.RawMessage `json:"parameters,omitempty"`
	Sharding   Sharding        `json:"sharding,omitzero"`
	// Output asks for more files than the result.
	Output JobOutput `json:"output,omitzero"`
	// MaxAttempts bounds the failed attempts of one task, and separately its
	// lost leases. Default 3, at most 100.
	MaxAttempts int32 `json:"maxAttempts,omitempty"`
	// Engine is empty or EngineAny. By default a Job keeps to the engine of the
	// first worker that claims a task of it.
	Engine string `json:"engine,omitempty"`
	// Priority orders Jobs: higher first. Between -1000 and 1000.
	Priority int32 `json:"priority,omitempty"`
	// Parallelism is the largest number of tasks leased at once; 0 is no limit.
	Parallelism int32 `json:"parallelism,omitempty"`
	// Suspend stops further tasks from being handed out; running ones go on.
	Suspend bool `json:"suspend,omitempty"`
	// ActiveDeadlineSeconds fails the Job that many seconds after it was
	// created, unless it has ended; 0 is no deadline.
	ActiveDeadlineSeconds int64 `json:"activeDeadlineSeconds,omitempty"`
	// TTLSecondsAfterFinished deletes the Job that many seconds after it
	// ended; 0 keeps it.
	TTLSecondsAfterFinished int64 `json:"ttlSecondsAfterFinished,omitempty"`
}

// JobOutput asks for more files than the result.
type JobOutput struct {
	// Formats are names of what the workload can also make of the result, each once.
	Formats []string `json:"formats,omitempty"`
}

// JobInput says where the data is, by exactly one field, and how it is to be read.
type JobInput struct {
	// Path is a file beside the manifest. Only the CLI reads it: it uploads the
	// file and sends the Job with SHA256 set instead.
	Path string `json:"path,omitempty"`
	// Artifact is the id of an uploaded artifact.
	Artifact *uuid.UUID `json:"artifact,omitempty"`
	// SHA256 names an uploaded artifact by the lowercase hex digest of its bytes.
	SHA256 string `json:"sha256,omitempty"`
	// Chunks are inputs that workers fetch themselves, one task each, in order.
	// The hosts must be on the coordinator's allow-list.
	Chunks      []InputChunk `json:"chunks,omitempty"`
	InputLayout `json:",inline"`
}

// InputLayout says how a table of molecules is written. What is left empty is found
// out from the data; the condition Planned tells the decision.
type InputLayout struct {
	// Format is tsv, csv, smi or fps.
	Format string `json:"format,omitempty"`
	// IDColumn and SMILESColumn are names in the header of tsv or csv, or numbers
	// of columns from 1.
	IDColumn     string `json:"idColumn,omitempty"`
	SMILESColumn string `json:"smilesColumn,omitempty"`
}

// InputChunk is one input file outside the coordinator.
type InputChunk struct {
	URI    string `json:"uri"`
	SHA256 string `json:"sha256"`
}

// Sharding says how the planner cuts the input.
type Sharding struct {
	// Rows is the number of input rows in a task. Default 100000.
	Rows int64 `json:"rows,omitempty"`
}

// JobPhase is where a Job stands.
type JobPhase string

// The phases: created → planning → running → reducing → completed; failed from
// planning, running and reducing; cancelled from any phase that is not final.
const (
	JobCreated   JobPhase = "created"
	JobPlanning  JobPhase = "planning"
	JobRunning   JobPhase = "running"
	JobReducing  JobPhase = "reducing"
	JobCompleted JobPhase = "completed"
	JobFailed    JobPhase = "failed"
	JobCancelled JobPhase = "cancelled"
)

// Final reports whether a Job in this phase has ended.
func (p JobPhase) Final() bool {
	return p == JobCompleted || p == JobFailed || p == JobCancelled
}

// JobStatus is what the reconcilers found and did.
type JobStatus struct {
	Phase           JobPhase     `json:"phase,omitempty"`
	Tasks           TaskCounts   `json:"tasks"`
	Conditions      []Condition  `json:"conditions,omitempty"`
	Ledger          *Ledger      `json:"ledger,omitempty"`
	Engine          string       `json:"engine,omitempty"`
	Input           *ArtifactRef `json:"input,omitempty"`
	Result          *ResultRef   `json:"result,omitempty"`
	Rejects         *ResultRef   `json:"rejects,omitempty"`
	StartedAt       *Time        `json:"startedAt,omitempty"`
	CompletedAt     *Time        `json:"completedAt,omitempty"`
	ErrorCode       string       `json:"errorCode,omitempty"`
	ErrorMessage    string       `json:"errorMessage,omitempty"`
	CancelRequested bool         `json:"cancelRequested,omitempty"`
}

// TaskCounts are the tasks of a Job by state; the states add up to Total.
type TaskCounts struct {
	Total     int64 `json:"total"`
	Pending   int64 `json:"pending"`
	Leased    int64 `json:"leased"`
	Running   int64 `json:"running"`
	Completed int64 `json:"completed"`
	Failed    int64 `json:"failed"`
	Cancelled int64 `json:"cancelled"`
}

// Ledger accounts for every input row: RowsRead = Scored + sum of Excluded +
// sum of Rejected. Excluded and Rejected are by reason.
type Ledger struct {
	RowsRead int64            `json:"rowsRead"`
	Scored   int64            `json:"scored"`
	Excluded map[string]int64 `json:"excluded,omitempty"`
	Rejected map[string]int64 `json:"rejected,omitempty"`
	// PairsChecked is the number of pairs of scored rows that were compared, where
	// all of them are.
	PairsChecked int64 `json:"pairsChecked,omitempty"`
}

// ArtifactRef points at a stored artifact.
type ArtifactRef struct {
	Artifact  uuid.UUID `json:"artifact"`
	SHA256    string    `json:"sha256"`
	SizeBytes int64     `json:"sizeBytes"`
}

// ResultRef is an artifact of Rows data rows that the reducer wrote.
type ResultRef struct {
	ArtifactRef `json:",inline"`
	Rows        int64 `json:"rows"`
}

// Condition types of a Job.
const (
	JobConditionPlanned   = "Planned"
	JobConditionSuspended = "Suspended"
	JobConditionReduced   = "Reduced"
	JobConditionComplete  = "Complete"
	JobConditionFailed    = "Failed"
	JobConditionCancelled = "Cancelled"
	// JobConditionDamaged is True while the stored Job cannot be read or breaks an invariant.
	JobConditionDamaged = "Damaged"
)
