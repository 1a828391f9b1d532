package workloadtest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/workloads"
	"scimesh.dev/scimesh/workloads/local"
)

// Job is a planned Job whose tasks can be computed one by one, in any order and
// as often as a test likes.
type Job struct {
	t        testing.TB
	workload workloads.Workload
	dir      *local.Dir
	Request  workloads.PlanRequest
	Plan     workloads.Plan
	planned  int // tasks of the first stage, once there may be more
}

// Start validates the parameters and plans a Job with the given input.
func Start(t testing.TB, w workloads.Workload, input []byte, parameters string, rows int64) *Job {
	t.Helper()
	j := Prepare(t, w, input, parameters, rows)
	var err error
	if j.Plan, err = w.Plan(t.Context(), j.Request); err != nil {
		t.Fatalf("plan: %v", err)
	}
	return j
}

// Prepare is Start without planning: the request is ready to be changed.
func Prepare(t testing.TB, w workloads.Workload, input []byte, parameters string, rows int64) *Job {
	t.Helper()
	valid, errs := w.Validate(field.NewPath("spec", "parameters"), json.RawMessage(parameters))
	if len(errs) > 0 {
		t.Fatalf("validate %s: %v", parameters, errs)
	}
	j := &Job{t: t, workload: w, dir: local.NewDir(t.TempDir())}
	j.Request = workloads.PlanRequest{
		Open:       func(context.Context) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(input)), nil },
		Parameters: valid, Sharding: v1.Sharding{Rows: rows}, Files: j.dir,
	}
	return j
}

// Shard returns the input of a task.
func (j *Job) Shard(chunk int) []byte {
	j.t.Helper()
	return j.read(&j.Plan.Tasks[chunk].Input)
}

// read returns the bytes of a file, nil if there is none.
func (j *Job) read(file *workloads.File) []byte {
	j.t.Helper()
	if file == nil {
		return nil
	}
	f, err := j.dir.Open(file.SHA256)
	if err != nil {
		j.t.Fatal(err)
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	if err != nil {
		j.t.Fatal(err)
	}
	if int64(len(b)) != file.SizeBytes {
		j.t.Errorf("%s has %d bytes, its size says %d", file.Name, len(b), file.SizeBytes)
	}
	return b
}

// TaskRequest returns the request of a task, which writes to out.
func (j *Job) TaskRequest(chunk, threads int, out io.Writer) workloads.TaskRequest {
	j.t.Helper()
	shard := j.Shard(chunk)
	parameters, err := workloads.MergeParameters(j.Plan.Shared, j.Plan.Tasks[chunk].Parameters)
	if err != nil {
		j.t.Fatal(err)
	}
	others := make([]io.Reader, len(j.Plan.Tasks[chunk].Inputs))
	for i := range others {
		others[i] = bytes.NewReader(j.read(&j.Plan.Tasks[chunk].Inputs[i]))
	}
	return workloads.TaskRequest{
		Input: bytes.NewReader(shard), Inputs: others, InputSize: int64(len(shard)), TempDir: j.t.TempDir(),
		Parameters: parameters, Output: out, Threads: threads,
	}
}

// Execute computes a task and returns its partial result.
func (j *Job) Execute(chunk, threads int) []byte {
	j.t.Helper()
	var out bytes.Buffer
	if _, err := j.workload.Execute(j.t.Context(), j.TaskRequest(chunk, threads, &out)); err != nil {
		j.t.Fatalf("execute task %d: %v", chunk, err)
	}
	return out.Bytes()
}

// ExecuteAll computes every task, those of a second stage too, and returns the
// partial results by chunk index. The order is that of the tasks of a stage, a
// permutation of so many numbers (nil: as planned).
func (j *Job) ExecuteAll(order func(tasks int) []int, threads int) [][]byte {
	j.t.Helper()
	first := j.executeStage(0, j.first(), order, threads)
	if !j.Plan.More {
		return first
	}
	if len(j.Plan.Tasks) == len(first) {
		if err := j.Extend(first); err != nil {
			j.t.Fatalf("extend: %v", err)
		}
	}
	return append(first, j.executeStage(len(first), len(j.Plan.Tasks), order, threads)...)
}

// first is the number of tasks of the first stage.
func (j *Job) first() int {
	if j.planned == 0 {
		j.planned = len(j.Plan.Tasks)
	}
	return j.planned
}

func (j *Job) executeStage(from, to int, order func(tasks int) []int, threads int) [][]byte {
	partials := make([][]byte, to-from)
	if order == nil {
		order = ascending
	}
	for _, i := range order(len(partials)) {
		partials[i] = j.Execute(from+i, threads)
	}
	return partials
}

func ascending(n int) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	return order
}

// Extend plans the tasks of the second stage after the results of the first.
func (j *Job) Extend(partials [][]byte) error {
	j.t.Helper()
	j.first()
	for i, b := range partials {
		// A task of the second stage may read a result of the first.
		file, err := j.dir.Create(j.t.Context(), "partial", "")
		if err != nil {
			j.t.Fatal(err)
		}
		if _, err := file.Write(b); err != nil {
			j.t.Fatal(err)
		}
		if _, err := file.Commit(); err != nil {
			j.t.Fatalf("partial %d: %v", i, err)
		}
	}
	staged, ok := j.workload.(workloads.Staged)
	if !ok {
		j.t.Fatal("the plan has a second stage, the workload has none")
	}
	extension, err := staged.Extend(j.t.Context(), j.ExtendRequest(partials))
	if err != nil {
		return err
	}
	j.Plan.Tasks = append(j.Plan.Tasks, extension.Tasks...)
	j.Plan.Notes = extension.Notes
	return nil
}

// ExtendRequest returns the request to plan the second stage.
func (j *Job) ExtendRequest(partials [][]byte) workloads.ExtendRequest {
	r := j.ReduceRequest(partials)
	return workloads.ExtendRequest{
		Parameters: r.Parameters, Shared: r.Shared, Notes: r.Notes, RowsRead: r.RowsRead, PlanRejects: r.PlanRejects,
		Tasks: r.Tasks, Partials: r.Partials, Files: r.Files, TempDir: r.TempDir,
	}
}

// Outcome is the end of a Job with its files' bytes.
type Outcome struct {
	workloads.ReduceResult
	ResultBytes, RejectBytes string
}

// ReduceRequest returns the request to reduce partial results.
func (j *Job) ReduceRequest(partials [][]byte) workloads.ReduceRequest {
	req := workloads.ReduceRequest{
		Parameters: j.Request.Parameters,
		Shared:     j.Plan.Shared, Notes: j.Plan.Notes, RowsRead: j.Plan.RowsRead,
		Tasks: len(j.Plan.Tasks), Partials: Sequence(j.Partials(partials)), Files: j.dir, TempDir: j.t.TempDir(),
	}
	if j.Plan.Rejects != nil {
		rejects := j.read(j.Plan.Rejects)
		req.PlanRejects = opener(rejects)
	}
	return req
}

// Partials are the partial results as the reducer gets them, in order.
func (j *Job) Partials(partials [][]byte) []workloads.Partial {
	list := make([]workloads.Partial, len(partials))
	for i, b := range partials {
		list[i] = workloads.Partial{ChunkIndex: int32(i), Notes: j.Plan.Tasks[i].Notes, File: fileOf(b), Open: opener(b)}
	}
	return list
}

// fileOf names bytes as a stored file would be.
func fileOf(b []byte) workloads.File {
	sum := sha256.Sum256(b)
	return workloads.File{Name: "partial", SHA256: hex.EncodeToString(sum[:]), SizeBytes: int64(len(b))}
}

// Sequence yields partial results without an error.
func Sequence(list []workloads.Partial) iter.Seq2[workloads.Partial, error] {
	return func(yield func(workloads.Partial, error) bool) {
		for _, p := range list {
			if !yield(p, nil) {
				return
			}
		}
	}
}

var errGone = errors.New("blob not found")

// opener opens bytes; nil ones are gone.
func opener(b []byte) func(context.Context) (io.ReadCloser, error) {
	return func(context.Context) (io.ReadCloser, error) {
		if b == nil {
			return nil, errGone
		}
		return io.NopCloser(bytes.NewReader(b)), nil
	}
}

// Reduce merges the partial results.
func (j *Job) Reduce(partials [][]byte) (Outcome, error) {
	j.t.Helper()
	r, err := j.workload.Reduce(j.t.Context(), j.ReduceRequest(partials))
	if err != nil {
		return Outcome{}, err
	}
	return Outcome{
		ReduceResult: r,
		ResultBytes:  string(j.read(&r.Result)), RejectBytes: string(j.read(r.Rejects)),
	}, nil
}

// MustReduce is Reduce for partial results that are in order.
func (j *Job) MustReduce(partials [][]byte) Outcome {
	j.t.Helper()
	o, err := j.Reduce(partials)
	if err != nil {
		j.t.Fatalf("reduce: %v", err)
	}
	return o
}
