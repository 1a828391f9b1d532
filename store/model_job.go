package store

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"
	"k8s.io/apimachinery/pkg/labels"

	v1 "scimesh.dev/scimesh/api/v1"
)

// Job is a row of jobs with what belongs to it. Times are UTC; a zero time is
// one that has not come.
type Job struct {
	ID          uuid.UUID
	Name        string
	Labels      map[string]string
	Annotations map[string]string
	// Generation counts changes of the spec, Version every write of the row.
	Generation int64
	Version    int64

	// Spec is what was applied, with defaults filled in.
	Spec            v1.JobSpec
	WorkloadVersion string

	Phase v1.JobPhase
	// Tasks are the tasks by state. Pending is what is left of the total, so
	// that the states add up in every answer.
	Tasks      v1.TaskCounts
	Conditions []v1.Condition
	// Engine is the one that computes the Job; empty until the first claim.
	Engine  string
	Input   *v1.ArtifactRef
	Result  *v1.ResultRef
	Rejects *v1.ResultRef
	Ledger  *v1.Ledger
	// Plan is nil until the Job is planned.
	Plan *Plan

	// StepOwner is the coordinator that plans or reduces now; uuid.Nil if none.
	StepOwner     uuid.UUID
	StepExpiresAt time.Time
	// StepFailures counts failed attempts of the present step.
	StepFailures int32

	CancelRequestedAt   time.Time
	DeletionRequestedAt time.Time
	ErrorCode           string
	ErrorMessage        string

	CreatedAt   time.Time
	StartedAt   time.Time
	CompletedAt time.Time
	UpdatedAt   time.Time

	// ReadAt is the database's time when the row was read. Compare deadlines with it.
	ReadAt time.Time
	// Damage says which columns could not be decoded; empty for a sound row.
	Damage string
}

// Plan is what the planner left for workers and reducer.
type Plan struct {
	// Shared is merged under each task's own parameters at claim.
	Shared json.RawMessage `json:"shared,omitempty"`
	// Notes are the planner's for the reducer.
	Notes json.RawMessage `json:"notes,omitempty"`
	// RowsRead is the number of input rows, -1 if the planner could not read the input.
	RowsRead int64 `json:"rowsRead"`
	// More says that further tasks are to be planned once those there are have completed.
	More bool `json:"more,omitempty"`
	// Rejects is the artifact of the rows that reached no task, nil if none.
	Rejects *v1.ArtifactRef `json:"rejects,omitempty"`
}

// CreateJobParams are the inputs of CreateJob and ApplyJob.
type CreateJobParams struct {
	Name        string
	Labels      map[string]string
	Annotations map[string]string
	// Spec has passed validation and holds all defaults. Its input names an
	// artifact by id or SHA-256, or chunks; never a path.
	Spec            v1.JobSpec
	WorkloadVersion string
}

// ApplyOperation says what an apply did, or would do.
type ApplyOperation string

// The outcomes of an apply.
const (
	ApplyCreated    ApplyOperation = "created"
	ApplyConfigured ApplyOperation = "configured"
	ApplyUnchanged  ApplyOperation = "unchanged"
)

// JobFilter selects jobs; zero fields select all.
type JobFilter struct {
	// Labels is an equality or set-based selector; comparisons of numbers are ErrInvalid.
	Labels   labels.Selector
	Phases   []v1.JobPhase
	Workload string
}

// Page asks for part of a list.
type Page struct {
	// Limit is the largest number of items: 100 if zero, at most 1000.
	Limit int
	// Continue is the List.Continue of the page before; empty for the first.
	Continue string
}

// List is one page. Items created while a list is paged through may or may not
// be in it; no item is in it twice.
type List[T any] struct {
	Items []T
	// Continue asks for the next page; empty on the last.
	Continue string
}

// StepToken is the right to do the present step of a Job, until it expires.
type StepToken struct {
	Job   uuid.UUID
	Owner uuid.UUID
}

// AcquireStepParams are the inputs of AcquireJobStep.
type AcquireStepParams struct {
	Job uuid.UUID
	// From are the phases in which the step may be taken; the Job then is in To.
	From []v1.JobPhase
	To   v1.JobPhase
	// Owner identifies the coordinator process.
	Owner uuid.UUID
	// TTL is how long the step is held without a renewal.
	TTL time.Duration
}

// FileRef is a blob that is about to become an artifact.
type FileRef struct {
	Filename    string `json:"filename"`
	ContentType string `json:"contentType"`
	// SHA256 names the blob, which must be durable already.
	SHA256    string `json:"sha256"`
	SizeBytes int64  `json:"sizeBytes"`
}

// PlannedTask is one task of a plan; its chunk index is its position.
type PlannedTask struct {
	// Input is the shard; nil if the worker fetches URI itself.
	Input *FileRef
	URI   string
	// SHA256 is the checksum of the input.
	SHA256 string
	// Inputs are further files, which other tasks of the Job keep alive.
	Inputs     []FileRef
	Parameters json.RawMessage
	Notes      json.RawMessage
}

// FinishPlanningParams are the inputs of FinishPlanning.
type FinishPlanningParams struct {
	Tasks    []PlannedTask
	Shared   json.RawMessage
	Notes    json.RawMessage
	RowsRead int64
	// More says that ExtendPlan is to follow once the tasks have completed.
	More bool
	// Rejects lists the rows that reached no task; nil if none.
	Rejects    *FileRef
	Conditions []v1.Condition
}

// ExtendPlanParams are the inputs of ExtendPlan.
type ExtendPlanParams struct {
	// Tasks follow those that the Job has.
	Tasks []PlannedTask
	// Notes replace the plan's.
	Notes json.RawMessage
	// More says that further tasks follow once these have completed.
	More       bool
	Conditions []v1.Condition
}

// FinishReduceParams are the inputs of FinishReduce.
type FinishReduceParams struct {
	Result     FileRef
	Rows       int64
	Ledger     v1.Ledger
	Rejects    *FileRef
	RejectRows int64
	// Outputs are files beside the result, with different names.
	Outputs    []FileRef
	Conditions []v1.Condition
}

// Failure says why a Job failed or was ended.
type Failure struct {
	// Code is a CamelCase word, Message a sanitised sentence.
	Code       string
	Message    string
	Conditions []v1.Condition
}

// EndJobParams are the inputs of EndJob.
type EndJobParams struct {
	Job uuid.UUID
	// Phase is failed or cancelled.
	Phase v1.JobPhase
	Failure
}

// PartialResult is the completed result of one task.
type PartialResult struct {
	Task       uuid.UUID
	ChunkIndex int32
	Attempt    int32
	Notes      json.RawMessage
	Artifact   v1.ArtifactRef
	// Filename and ContentType are the artifact's.
	Filename    string
	ContentType string
}
