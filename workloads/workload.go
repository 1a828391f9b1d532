// Package workloads holds the contract between SciMesh and a computation that
// it can distribute, and the registry of the computations compiled in.
//
// A workload has five parts. Describe and Validate are pure. Plan reads the
// input once and cuts it into tasks; Execute computes one task from its inputs
// alone; Reduce merges the partial results into the final file. A Staged
// workload plans further tasks from the results of the first. The control
// plane calls Plan and Reduce in the coordinator and Execute in a worker, and
// may call each of them again after any failure, so they must depend on
// nothing but their request: same request, same bytes. No part may hold an
// input, a result or a list of rows in memory as a whole.
package workloads

import (
	"context"
	"encoding/json"
	"io"
	"iter"

	"k8s.io/apimachinery/pkg/util/validation/field"

	v1 "scimesh.dev/scimesh/api/v1"
)

// Workload is a computation that can be planned, executed in parts and reduced.
type Workload interface {
	// Describe returns name, version, parameter schema, inputs and outputs.
	Describe() v1.WorkloadSpec
	// Name is the name that Job specs use.
	Name() string
	// Validate checks a Job's parameters as far as they can be checked without
	// the input, returning every fault with its path below path, and the
	// parameters with defaults filled in.
	Validate(path *field.Path, parameters json.RawMessage) (json.RawMessage, field.ErrorList)
	// Plan reads the input and returns the tasks.
	Plan(ctx context.Context, req PlanRequest) (Plan, error)
	// Execute computes one task and writes its partial result to req.Output.
	Execute(ctx context.Context, req TaskRequest) (TaskResult, error)
	// Reduce merges the partial results, in order of chunk index.
	Reduce(ctx context.Context, req ReduceRequest) (ReduceResult, error)
}

// Staged is a Workload whose tasks come in two stages: those of Plan, and those
// that can be planned only once the results of the first are there. The partial
// results of both reach Reduce, in order of chunk index.
type Staged interface {
	Workload
	// Extend returns the tasks that follow those of a Plan with More, all of
	// which have been completed. Their chunk indexes go on where the Plan's end.
	Extend(ctx context.Context, req ExtendRequest) (Extension, error)
}

// Sized is a Workload that can say how much memory a task takes. Others are
// computed without a look at the machine.
type Sized interface {
	Workload
	// Memory returns about how many bytes a task takes, of the sizes of its input
	// and of what it reads beside it. The formula is in Describe.
	Memory(parameters json.RawMessage, inputs []int64) int64
}

// Files creates files that outlive the call: shards, results, rejects.
type Files interface {
	Create(ctx context.Context, name, contentType string) (FileWriter, error)
}

// FileWriter is a file being written. It becomes visible, durable and
// addressable by its digest with Commit; Abort after Commit does nothing.
type FileWriter interface {
	io.Writer
	Commit() (File, error)
	Abort()
}

// File is a committed file.
type File struct {
	Name        string
	ContentType string
	SHA256      string // lowercase hex
	SizeBytes   int64
}

// PlanRequest is the input of Plan.
type PlanRequest struct {
	// Open returns the input from its first byte; it may be called more than
	// once. It is nil if the input is Chunks.
	Open func(ctx context.Context) (io.ReadCloser, error)
	// Chunks are inputs that only workers can read, one task each, in order.
	Chunks []v1.InputChunk
	// OpenFile opens a file that the parameters name by its SHA-256; nil if none can be opened.
	OpenFile func(ctx context.Context, sha256 string) (io.ReadCloser, error)
	// Layout is what the Job says of the form of its input.
	Layout v1.InputLayout
	// Parameters have passed Validate and hold all defaults.
	Parameters json.RawMessage
	Sharding   v1.Sharding
	Files      Files
	// Progress, if not nil, is told how many input bytes were read.
	Progress func(bytesRead int64)
}

// Plan is what a workload wants done. The control plane stores it whole or not at all.
type Plan struct {
	Tasks []TaskPlan
	// Shared is merged under each task's own Parameters when a worker claims it.
	Shared json.RawMessage
	// Notes are the planner's for the reducer; workers never see them.
	Notes json.RawMessage
	// RowsRead is the number of input rows that the reducer's ledger must
	// account for, or -1 if the planner could not read the input.
	RowsRead int64
	// More says that Extend is to be asked for further tasks; the workload is Staged then.
	More bool
	// Summary is a sentence for users about what was planned, "" for the usual one.
	Summary string
	// Rejects lists the rows that reached no task, nil if there are none; the format is the workload's own.
	Rejects *File
}

// TaskPlan is one task; its chunk index is its position in Plan.Tasks.
type TaskPlan struct {
	// Input is the shard; zero for a task of PlanRequest.Chunks.
	Input File
	// Inputs are further files that the task reads, at most MaxInputs. Each is
	// also the Input or the result of a task of the same Job, which keeps it alive.
	Inputs []File
	// Parameters hold what differs from Plan.Shared.
	Parameters json.RawMessage
	// Notes are for the reducer; workers never see them.
	Notes json.RawMessage
}

// MaxInputs bounds TaskPlan.Inputs.
const MaxInputs = 16

// ExtendRequest is the input of Extend.
type ExtendRequest struct {
	Parameters json.RawMessage
	// Shared, Notes and RowsRead are the plan's.
	Shared   json.RawMessage
	Notes    json.RawMessage
	RowsRead int64
	// PlanRejects opens Plan.Rejects; nil if the plan had none.
	PlanRejects func(ctx context.Context) (io.ReadCloser, error)
	// Tasks is the number of partials; Partials yields them by ascending chunk index.
	Tasks    int
	Partials iter.Seq2[Partial, error]
	Files    Files
	// TempDir is a folder for temporary files, "" for the system's.
	TempDir string
}

// Extension are the tasks of the second stage.
type Extension struct {
	Tasks []TaskPlan
	// Notes replace the plan's.
	Notes json.RawMessage
	// More says that Extend is to be asked once more when these tasks have completed.
	More bool
	// Summary is a sentence for users about what was planned, "" for the usual one.
	Summary string
}

// TaskRequest is the input of Execute.
type TaskRequest struct {
	// Input is the shard, already verified against its checksum.
	Input io.Reader
	// Inputs are those of TaskPlan.Inputs, verified likewise.
	Inputs     []io.Reader
	Parameters json.RawMessage
	Output     io.Writer
	// InputSize is the number of bytes of Input, for Progress; 0 if unknown.
	InputSize int64
	// Threads is how many goroutines the task may keep busy; at least 1.
	Threads int
	// TempDir is a folder for temporary files, "" for the system's.
	TempDir string
	// Progress, if not nil, is told the finished share, between 0 and 1.
	Progress func(share float64)
	// Logf, if not nil, adds a line to the attempt's log.
	Logf func(format string, args ...any)
}

// TaskResult is what Execute says besides the partial result.
type TaskResult struct {
	ContentType string
	// Metrics are shown to users, e.g. processed_rows.
	Metrics map[string]any
}

// Partial is the result of one task, as the reducer sees it.
type Partial struct {
	ChunkIndex int32
	Notes      json.RawMessage
	// File is the stored result, which may be the input of a task of Extend.
	File File
	Open func(ctx context.Context) (io.ReadCloser, error)
}

// ReduceRequest is the input of Reduce.
type ReduceRequest struct {
	Parameters json.RawMessage
	// Shared, Notes and RowsRead are the plan's.
	Shared   json.RawMessage
	Notes    json.RawMessage
	RowsRead int64
	// PlanRejects opens Plan.Rejects; nil if the plan had none.
	PlanRejects func(ctx context.Context) (io.ReadCloser, error)
	// Tasks is the number of partials; Partials yields them by ascending chunk index.
	Tasks    int
	Partials iter.Seq2[Partial, error]
	Files    Files
	// Formats are the files wanted beside the result, of those that Describe names.
	Formats []string
	// TempDir is a folder for temporary files, "" for the system's.
	TempDir string
}

// ReduceResult is the end of a Job.
type ReduceResult struct {
	Result  File
	Rows    int64
	Ledger  v1.Ledger
	Rejects *File // rejects.csv, nil if no row was rejected
	// RejectRows is the number of data rows in Rejects.
	RejectRows int64
	// Outputs are the files of ReduceRequest.Formats, in their order.
	Outputs []File
}
