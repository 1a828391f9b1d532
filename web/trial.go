package web

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"

	"go.uber.org/zap"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/artifacts"
	"scimesh.dev/scimesh/workloads"
)

// price is what a computation would take.
type price struct {
	InputBytes int64
	Tasks      int64
	Rows       int64 // -1 if the planner does not count them
	Shards     int64 // bytes of all shards
	// Summary is the workload's own sentence, if it has one.
	Summary string
	// More says that further tasks follow when these are done.
	More bool
	// Problem is why planning would fail.
	Problem string
	// Unknown says why there is no price.
	Unknown string
}

// maxTrials bounds the trial plannings at once: they use this process's CPU.
const maxTrials = 2

// trial plans a Job as its planner would, and keeps nothing.
func (d *Dashboard) trial(ctx context.Context, job v1.Job, input artifacts.Blob) price {
	p := price{InputBytes: input.SizeBytes, Rows: -1}
	load, ok := d.workloads.Get(job.Spec.Workload)
	if !ok {
		return p
	}
	if !d.trials.take() {
		p.Unknown = "the coordinator plans other computations; check again"
		return p
	}
	defer d.trials.give()
	ctx, cancel := context.WithTimeout(ctx, d.cfg.PlanTimeout)
	defer cancel()
	parameters, faults := load.Validate(nil, job.Spec.Parameters)
	if len(faults) > 0 {
		return p // the API has said so
	}
	plan, err := d.plan(ctx, load, workloads.PlanRequest{
		Open:   func(ctx context.Context) (io.ReadCloser, error) { return d.openInput(ctx, input.SHA256) },
		Layout: job.Spec.Input.InputLayout, Parameters: parameters, Sharding: job.Spec.Sharding, Files: scales{},
	})
	switch {
	case ctx.Err() != nil:
		p.Unknown = fmt.Sprintf("the input is too large to be planned within %v", d.cfg.PlanTimeout)
	case err != nil:
		p.Problem = planProblem(err)
	default:
		p.Tasks, p.Rows, p.Summary, p.More = int64(len(plan.Tasks)), plan.RowsRead, plan.Summary, plan.More
		for _, t := range plan.Tasks {
			p.Shards += t.Input.SizeBytes
		}
	}
	return p
}

// plan calls the workload; a panic is an error of this trial alone.
func (d *Dashboard) plan(ctx context.Context, load workloads.Workload, req workloads.PlanRequest) (_ workloads.Plan, err error) {
	defer func() {
		if p := recover(); p != nil {
			d.log.Error("trial planning panicked", zap.Any("panic", p), zap.String("workload", load.Name()))
			err = errors.New("panic")
		}
	}()
	return load.Plan(ctx, req)
}

func (d *Dashboard) openInput(ctx context.Context, sha256 string) (io.ReadCloser, error) {
	blob, err := d.blobs.Open(ctx, sha256)
	if err != nil {
		return nil, err
	}
	return blob, nil
}

// planProblem is an error of a planner as a person is told: what a workload
// says of its input, nothing of the machine.
func planProblem(err error) string {
	if e, ok := errors.AsType[*workloads.Error](err); ok {
		return e.Reason + ": " + e.Message
	}
	return "planning fails"
}

// scales are files that are weighed and thrown away.
type scales struct{}

// Create begins a file.
func (scales) Create(_ context.Context, name, contentType string) (workloads.FileWriter, error) {
	return &scale{file: workloads.File{Name: name, ContentType: contentType}, hash: sha256.New()}, nil
}

type scale struct {
	file workloads.File
	hash hash.Hash
}

// Write weighs.
func (s *scale) Write(p []byte) (int, error) {
	s.file.SizeBytes += int64(len(p))
	return s.hash.Write(p)
}

// Commit returns what was weighed.
func (s *scale) Commit() (workloads.File, error) {
	s.file.SHA256 = hex.EncodeToString(s.hash.Sum(nil))
	return s.file, nil
}

// Abort does nothing: nothing was kept.
func (*scale) Abort() {}
