// Package controllerstest has what the tests of the controllers share: a small
// workload, and workers that do its tasks straight through the store.
package controllerstest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/util/validation/field"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/workloads"
)

// Lines is a workload that turns every line of its input to upper case, one
// task a line. Its hooks let a test make it fail.
type Lines struct {
	// OnPlan and OnReduce, if set, run first and may fail the call.
	OnPlan, OnReduce func(ctx context.Context) error
	// Staged has a second stage follow, whose tasks read the results of the first.
	Staged bool
	// Plans, Extensions and Reductions count the calls.
	Plans, Extensions, Reductions atomic.Int64
}

var _ workloads.Staged = (*Lines)(nil)

// Name is the name of the workload.
func (*Lines) Name() string { return "lines" }

// Describe returns a description of the workload.
func (*Lines) Describe() v1.WorkloadSpec {
	return v1.WorkloadSpec{Version: "1", ParametersSchema: json.RawMessage(`{}`)}
}

// Validate accepts everything.
func (*Lines) Validate(_ *field.Path, p json.RawMessage) (json.RawMessage, field.ErrorList) {
	return p, nil
}

// Plan makes one task a line.
func (l *Lines) Plan(ctx context.Context, req workloads.PlanRequest) (workloads.Plan, error) {
	l.Plans.Add(1)
	if l.OnPlan != nil {
		if err := l.OnPlan(ctx); err != nil {
			return workloads.Plan{}, err
		}
	}
	in, err := req.Open(ctx)
	if err != nil {
		return workloads.Plan{}, err
	}
	defer in.Close()
	all, err := io.ReadAll(in)
	if err != nil {
		return workloads.Plan{}, err
	}
	var plan workloads.Plan
	for line := range strings.Lines(string(all)) {
		f, err := write(ctx, req.Files, "shard.txt", []byte(line))
		if err != nil {
			return workloads.Plan{}, err
		}
		plan.Tasks = append(plan.Tasks, workloads.TaskPlan{Input: f})
	}
	plan.RowsRead, plan.More = int64(len(plan.Tasks)), l.Staged
	return plan, nil
}

// Extend makes one task of each result; it also reads the first of them.
func (l *Lines) Extend(ctx context.Context, req workloads.ExtendRequest) (workloads.Extension, error) {
	l.Extensions.Add(1)
	var extension workloads.Extension
	var first workloads.File
	for p, err := range req.Partials {
		if err != nil {
			return workloads.Extension{}, err
		}
		if err := appendAll(ctx, io.Discard, p); err != nil {
			return workloads.Extension{}, err
		}
		if p.ChunkIndex == 0 {
			first = p.File
		}
		extension.Tasks = append(extension.Tasks, workloads.TaskPlan{Input: p.File, Inputs: []workloads.File{first}})
	}
	extension.Notes = json.RawMessage(`{"second":true}`)
	return extension, nil
}

// Execute writes the task's line in upper case.
func (*Lines) Execute(_ context.Context, req workloads.TaskRequest) (workloads.TaskResult, error) {
	line, err := io.ReadAll(req.Input)
	if err != nil {
		return workloads.TaskResult{}, err
	}
	_, err = req.Output.Write(bytes.ToUpper(line))
	return workloads.TaskResult{ContentType: "text/plain"}, err
}

// Reduce joins the lines.
func (l *Lines) Reduce(ctx context.Context, req workloads.ReduceRequest) (workloads.ReduceResult, error) {
	l.Reductions.Add(1)
	if l.OnReduce != nil {
		if err := l.OnReduce(ctx); err != nil {
			return workloads.ReduceResult{}, err
		}
	}
	var all bytes.Buffer
	rows := int64(0)
	for p, err := range req.Partials {
		if err != nil {
			return workloads.ReduceResult{}, err
		}
		if int64(p.ChunkIndex) != rows {
			return workloads.ReduceResult{}, fmt.Errorf("chunk %d where %d was due", p.ChunkIndex, rows)
		}
		rows++
		if l.Staged && rows <= req.RowsRead {
			continue // a result that the second stage has read
		}
		if err := appendAll(ctx, &all, p); err != nil {
			return workloads.ReduceResult{}, err
		}
	}
	rows = min(rows, req.RowsRead)
	f, err := write(ctx, req.Files, "result.txt", all.Bytes())
	return workloads.ReduceResult{Result: f, Rows: rows, Ledger: v1.Ledger{RowsRead: rows, Scored: rows}}, err
}

func appendAll(ctx context.Context, dst io.Writer, p workloads.Partial) error {
	f, err := p.Open(ctx)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(dst, f)
	return err
}

func write(ctx context.Context, files workloads.Files, name string, content []byte) (workloads.File, error) {
	w, err := files.Create(ctx, name, "text/plain")
	if err != nil {
		return workloads.File{}, err
	}
	defer w.Abort()
	if _, err := w.Write(content); err != nil {
		return workloads.File{}, err
	}
	return w.Commit()
}
