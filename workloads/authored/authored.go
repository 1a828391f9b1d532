package authored

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"k8s.io/apimachinery/pkg/util/validation/field"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/workloads"
)

// Workload is a workload that workers brought.
type Workload struct {
	name   string
	spec   v1.WorkloadSpec
	schema schema
}

var _ workloads.Staged = (*Workload)(nil)

// New returns the workload that a description describes, or what is wrong with it.
func New(name string, spec v1.WorkloadSpec) (*Workload, error) {
	for _, msg := range v1.ValidateName(name, field.NewPath("name")) {
		return nil, msg
	}
	if spec.Version == "" || spec.Description == "" || len(spec.Inputs) == 0 || len(spec.Outputs) == 0 {
		return nil, errors.New("version, description, inputs and outputs are needed")
	}
	s, err := parseSchema(spec.ParametersSchema)
	return &Workload{name: name, spec: spec, schema: s}, err
}

// Name is the name that Job specs use.
func (w *Workload) Name() string { return w.name }

// Describe returns what the workers said of it.
func (w *Workload) Describe() v1.WorkloadSpec { return w.spec }

// Validate checks a Job's parameters against the schema.
func (w *Workload) Validate(path *field.Path, parameters json.RawMessage) (json.RawMessage, field.ErrorList) {
	return w.schema.validate(path, parameters)
}

// stage says in a plan's notes which tasks a Job has so far.
type stage struct {
	// Shards is the number of tasks of the second stage, once they are there.
	Shards int `json:"shards,omitempty"`
	// Reducing says that the last task is the one that reduces.
	Reducing bool `json:"reducing,omitempty"`
}

// step is what a worker reads in a task's parameters.
type step struct {
	Step         string          `json:"step"`
	ChunkIndex   *int            `json:"chunk_index,omitempty"`
	ShardingRows int64           `json:"sharding_rows,omitempty"`
	Parameters   json.RawMessage `json:"parameters"`
}

// Plan plans the task that plans.
func (w *Workload) Plan(ctx context.Context, req workloads.PlanRequest) (workloads.Plan, error) {
	if req.Open == nil {
		return workloads.Plan{}, workloads.Errorf(workloads.ReasonInputInvalid, "a workload of workers takes an uploaded input, not chunks")
	}
	in, err := req.Open(ctx)
	if err != nil {
		return workloads.Plan{}, err
	}
	defer in.Close()
	input, err := copyFile(ctx, req.Files, "input", "application/octet-stream", in)
	if err != nil {
		return workloads.Plan{}, err
	}
	return workloads.Plan{
		Tasks: []workloads.TaskPlan{{
			Input:      input,
			Parameters: encode(step{Step: "plan", ShardingRows: req.Sharding.Rows, Parameters: req.Parameters}),
		}},
		Shared: encode(map[string]string{"version": w.spec.Version}), Notes: encode(stage{}),
		RowsRead: -1, More: true, Summary: "a worker plans the tasks",
	}, nil
}

// Extend checks the plan and plans its tasks, or plans the task that reduces.
func (w *Workload) Extend(ctx context.Context, req workloads.ExtendRequest) (workloads.Extension, error) {
	var at stage
	if err := json.Unmarshal(req.Notes, &at); err != nil {
		return workloads.Extension{}, fmt.Errorf("notes of the plan: %w", err)
	}
	if at.Shards == 0 {
		return w.shards(ctx, req)
	}
	return w.reduction(ctx, req, at)
}

// shards reads the bundle of the task that planned.
func (w *Workload) shards(ctx context.Context, req workloads.ExtendRequest) (workloads.Extension, error) {
	for p, err := range req.Partials {
		if err != nil {
			return workloads.Extension{}, err
		}
		tasks, err := readPlan(ctx, p, req.Files)
		if err != nil {
			return workloads.Extension{}, err
		}
		return workloads.Extension{
			Tasks: tasks, Notes: encode(stage{Shards: len(tasks)}), More: true, Summary: fmt.Sprintf("%d tasks, planned by a worker", len(tasks)),
		}, nil
	}
	return workloads.Extension{}, errors.New("the plan's result is missing")
}

// readPlan checks a plan, stores its shards, and returns its tasks.
func readPlan(ctx context.Context, p workloads.Partial, files workloads.Files) ([]workloads.TaskPlan, error) {
	in, err := p.Open(ctx)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	b := newBundleReader(in)
	if err := b.expect("plan"); err != nil {
		return nil, broken(p, err)
	}
	raw, err := b.small(maxPlanBytes)
	if err != nil {
		return nil, broken(p, err)
	}
	plan, err := parsePlan(raw)
	if err != nil {
		return nil, err
	}
	shards := map[string]workloads.File{}
	for {
		h, err := b.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, broken(p, err)
		}
		f, err := copyFile(ctx, files, "shard-"+strconv.Itoa(len(shards)), "application/octet-stream", b)
		if err != nil {
			return nil, broken(p, err)
		}
		if f.SHA256 != h.Name {
			return nil, invalid("a shard has another digest than its name says")
		}
		shards[f.SHA256] = f
	}
	tasks := make([]workloads.TaskPlan, len(plan.Tasks))
	for i, t := range plan.Tasks {
		f, ok := shards[t.Input.SHA256]
		if !ok {
			return nil, invalid("task %d: its input is not among the shards", i)
		}
		parameters := t.Parameters
		if len(parameters) == 0 {
			parameters = json.RawMessage("{}")
		}
		tasks[i] = workloads.TaskPlan{Input: f, Parameters: encode(step{Step: "task", ChunkIndex: &i, Parameters: parameters})}
	}
	return tasks, nil
}

// reduction bundles the results of the shards for the task that reduces.
func (w *Workload) reduction(ctx context.Context, req workloads.ExtendRequest, at stage) (workloads.Extension, error) {
	out, err := req.Files.Create(ctx, "partials", "application/octet-stream")
	if err != nil {
		return workloads.Extension{}, err
	}
	defer out.Abort()
	n := 0
	for p, err := range req.Partials {
		if err != nil {
			return workloads.Extension{}, err
		}
		if p.ChunkIndex == 0 { // the plan
			continue
		}
		if err := appendPartial(ctx, out, n, p); err != nil {
			return workloads.Extension{}, err
		}
		n++
	}
	if n != at.Shards {
		return workloads.Extension{}, fmt.Errorf("%d partial results of %d", n, at.Shards)
	}
	if err := writeHeader(out, header{End: true}); err != nil {
		return workloads.Extension{}, err
	}
	f, err := out.Commit()
	if err != nil {
		return workloads.Extension{}, err
	}
	return workloads.Extension{
		Tasks: []workloads.TaskPlan{{Input: f, Parameters: encode(step{Step: "reduce", Parameters: req.Parameters})}},
		Notes: encode(stage{Shards: at.Shards, Reducing: true}), Summary: "a worker reduces the results",
	}, nil
}

func appendPartial(ctx context.Context, out io.Writer, n int, p workloads.Partial) error {
	in, err := p.Open(ctx)
	if err != nil {
		return err
	}
	defer in.Close()
	return writeEntry(out, strconv.Itoa(n), p.File.SizeBytes, in)
}

// Execute is for workers that have the workload's code; this program has not.
func (w *Workload) Execute(context.Context, workloads.TaskRequest) (workloads.TaskResult, error) {
	return workloads.TaskResult{}, workloads.Errorf(v1.ReasonUnknownWorkload, "the code of workload %q is with its workers", w.name)
}

// final is what a reducing task says of its result.
type final struct {
	Filename    string           `json:"filename"`
	ContentType string           `json:"content_type"`
	Rows        int64            `json:"rows"`
	RowsRead    int64            `json:"rows_read"`
	Excluded    map[string]int64 `json:"excluded,omitempty"`
	Rejected    map[string]int64 `json:"rejected,omitempty"`
}

// maxFinal bounds what is said of a result.
const maxFinal = 64 << 10

// Reduce takes the final file from the result of the task that reduced.
func (w *Workload) Reduce(ctx context.Context, req workloads.ReduceRequest) (workloads.ReduceResult, error) {
	var last *workloads.Partial
	for p, err := range req.Partials {
		if err != nil {
			return workloads.ReduceResult{}, err
		}
		last = &p
	}
	if last == nil || int(last.ChunkIndex) != req.Tasks-1 {
		return workloads.ReduceResult{}, errors.New("the result of the reducing task is missing")
	}
	in, err := last.Open(ctx)
	if err != nil {
		return workloads.ReduceResult{}, err
	}
	defer in.Close()
	result, err := readFinal(ctx, newBundleReader(in), req.Files)
	if err != nil {
		return workloads.ReduceResult{}, broken(*last, err)
	}
	return result, nil
}

func readFinal(ctx context.Context, b *bundleReader, files workloads.Files) (workloads.ReduceResult, error) {
	var r workloads.ReduceResult
	if err := b.expect("final"); err != nil {
		return r, err
	}
	raw, err := b.small(maxFinal)
	if err != nil {
		return r, err
	}
	var f final
	if err := v1.UnmarshalStrict(raw, &f); err != nil {
		return r, workloads.Errorf(ReasonPlanInvalid, "what the workload says of its result cannot be taken: %v", err)
	}
	r.Ledger = v1.Ledger{RowsRead: f.RowsRead, Scored: f.RowsRead, Excluded: f.Excluded, Rejected: f.Rejected}
	for _, counts := range []map[string]int64{f.Excluded, f.Rejected} {
		for reason, n := range counts {
			if n < 0 {
				return r, workloads.Errorf(workloads.ReasonLedgerMismatch, "%d rows with the reason %s", n, v1.Quote(reason))
			}
			r.Ledger.Scored -= n
		}
	}
	if f.Rows < 0 || r.Ledger.Scored < 0 {
		return r, workloads.Errorf(workloads.ReasonLedgerMismatch, "more rows are excluded and rejected than were read")
	}
	if err := b.expect("result"); err != nil {
		return r, err
	}
	if r.Result, err = copyFile(ctx, files, f.Filename, f.ContentType, b); err != nil {
		return r, err
	}
	r.Rows = f.Rows
	if _, err := b.next(); !errors.Is(err, io.EOF) {
		return r, workloads.Errorf(workloads.ReasonPartialCorrupt, "the bundle goes on after the result")
	}
	return r, nil
}

// broken says of a damaged bundle that its task has to be computed again. What
// the user has to mend stays as it is.
func broken(p workloads.Partial, err error) error {
	var user *workloads.Error
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &user) && user.Reason == workloads.ReasonPartialCorrupt {
		return &workloads.PartialError{ChunkIndex: p.ChunkIndex, Err: err}
	}
	return err
}

func copyFile(ctx context.Context, files workloads.Files, name, contentType string, r io.Reader) (workloads.File, error) {
	out, err := files.Create(ctx, name, contentType)
	if err != nil {
		return workloads.File{}, err
	}
	defer out.Abort()
	if _, err := io.Copy(out, r); err != nil {
		return workloads.File{}, err
	}
	return out.Commit()
}

func encode(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err) // of our own types
	}
	return raw
}
