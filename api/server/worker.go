package server

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/api/wire"
	"scimesh.dev/scimesh/store"
)

// RegisterWorker registers a worker.
func (s handlers) RegisterWorker(ctx context.Context, req RegisterWorkerRequestObject) (RegisterWorkerResponseObject, error) {
	b := req.Body
	if err := validateRegister(b); err != nil {
		return nil, err
	}
	p := store.RegisterWorkerParams{
		Name: b.Name, Capabilities: b.Capabilities, Engine: provenEngine(b), CPUCount: b.CPUCount, MemoryMB: b.MemoryMB,
	}
	if b.WorkerID != nil {
		p.ID = *b.WorkerID
	}
	if err := s.takeWorkloads(ctx, b); err != nil {
		return nil, err
	}
	w, err := s.store.RegisterWorker(ctx, p)
	if err != nil {
		return nil, err
	}
	note(ctx, zap.Stringer("worker_id", w.ID), zap.String("worker", w.Name))
	return RegisterWorker200JSONResponse{
		WorkerID: w.ID, HeartbeatIntervalSeconds: heartbeatSeconds(s.cfg.LeaseTTL),
	}, nil
}

// ClaimTask leases a task, waiting for one if the worker asks for that.
func (s handlers) ClaimTask(ctx context.Context, req ClaimTaskRequestObject) (ClaimTaskResponseObject, error) {
	b := req.Body
	if err := validateClaim(b); err != nil {
		return nil, err
	}
	note(ctx, zap.Stringer("worker_id", b.WorkerID))
	p := store.ClaimParams{Worker: b.WorkerID, Capabilities: b.Capabilities}
	waiting := ctx
	if b.WaitSeconds > 0 && s.draining.Err() == nil {
		p.Wait = time.Duration(b.WaitSeconds) * time.Second
		var stop func()
		waiting, stop = s.untilDrained(ctx)
		defer stop()
	}
	t, ok, err := s.store.ClaimTask(waiting, p)
	switch {
	case err != nil && waiting.Err() != nil && ctx.Err() == nil:
		return ClaimTask204Response{}, nil // the coordinator stops
	case err != nil:
		return nil, describe(err, "worker", b.WorkerID.String())
	case !ok:
		return ClaimTask204Response{}, nil
	}
	note(ctx, zap.Stringer("job_id", t.JobID), zap.Stringer("task_id", t.Task), zap.Int32("attempt", t.Attempt))
	if ctx.Err() != nil { // the worker left while it waited: nobody would run the task
		return nil, s.giveBack(ctx, t)
	}
	return ClaimTask200JSONResponse(s.claimed(ctx, t)), nil
}

// untilDrained returns a context that ends with ctx or when the server drains.
func (s *Server) untilDrained(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(s.draining, cancel)
	return ctx, func() { stop(); cancel() }
}

// giveBack hands back a task that was leased for a worker that has left.
func (s *Server) giveBack(ctx context.Context, t store.LeasedTask) error {
	release, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.cfg.RequestTimeout)
	defer cancel()
	if err := s.store.ReleaseTask(release, t.Lease); err != nil {
		exchangeOf(ctx).log.Warn("lease of a worker that left is not handed back; it will expire",
			zap.Stringer("task_id", t.Task), zap.Int32("attempt", t.Attempt), zap.Error(err))
	}
	return ctx.Err()
}

// heartbeatSeconds is what workers are told at registration: a quarter of the
// lease, in whole seconds.
func heartbeatSeconds(leaseTTL time.Duration) int32 {
	return max(1, int32(leaseTTL/4/time.Second))
}

func (s *Server) claimed(ctx context.Context, t store.LeasedTask) wire.ClaimedTask {
	c := wire.ClaimedTask{
		TaskID: t.Task, Attempt: t.Attempt, LeaseExpiresAt: v1.NewTime(t.ExpiresAt), LeaseSeconds: s.cfg.LeaseTTL.Seconds(), Workload: t.Workload,
		Input:      wire.ClaimedInput{URI: t.InputURI, SHA256: t.InputSHA256, SizeBytes: t.InputBytes},
		Parameters: t.Parameters,
	}
	if c.Input.URI == "" {
		c.Input.URI = s.taskInputURI(exchangeOf(ctx).r, t.Task)
	}
	for i, f := range t.Inputs {
		c.Inputs = append(c.Inputs, wire.ClaimedInput{
			URI: fmt.Sprintf("%s?file=%d", s.taskInputURI(exchangeOf(ctx).r, t.Task), i+1), SHA256: f.SHA256, SizeBytes: f.SizeBytes,
		})
	}
	if len(c.Parameters) == 0 {
		c.Parameters = wire.Parameters("{}")
	}
	return c
}

// HeartbeatTask renews a lease.
func (s handlers) HeartbeatTask(ctx context.Context, req HeartbeatTaskRequestObject) (HeartbeatTaskResponseObject, error) {
	if err := validateHeartbeat(req.Body); err != nil {
		return nil, err
	}
	l := lease(ctx, req.TaskID, req.Body.WorkerID, req.Body.Attempt)
	r, err := s.store.RenewLease(ctx, store.RenewLeaseParams{Lease: l, Progress: req.Body.Progress})
	if err != nil {
		return nil, describe(err, "task", req.TaskID.String())
	}
	return HeartbeatTask200JSONResponse{LeaseExpiresAt: v1.NewTime(r.ExpiresAt), LeaseSeconds: s.cfg.LeaseTTL.Seconds(), Cancel: r.Cancel}, nil
}

// CompleteTask completes a task.
func (s handlers) CompleteTask(ctx context.Context, req CompleteTaskRequestObject) (CompleteTaskResponseObject, error) {
	b := req.Body
	if err := validateResult(b); err != nil {
		return nil, err
	}
	l := lease(ctx, req.TaskID, b.WorkerID, b.Attempt)
	if string(b.Metrics) == "null" {
		b.Metrics = nil
	}
	c, err := s.store.CompleteTask(ctx, store.CompleteTaskParams{
		Lease: l, ArtifactID: b.Result.ArtifactID, SHA256: b.Result.SHA256,
		ContentType: contentType(b.Result.ContentType, ""), Metrics: b.Metrics,
	})
	if err != nil {
		return nil, describe(err, "task", req.TaskID.String())
	}
	note(ctx, zap.Stringer("job_id", c.JobID))
	return CompleteTask200JSONResponse{TaskID: l.Task, Attempt: l.Attempt, Status: v1.TaskCompleted}, nil
}

// FailTask records a failed attempt.
func (s handlers) FailTask(ctx context.Context, req FailTaskRequestObject) (FailTaskResponseObject, error) {
	b := req.Body
	if err := validateFailure(b); err != nil {
		return nil, err
	}
	l := lease(ctx, req.TaskID, b.WorkerID, b.Attempt)
	f, err := s.store.FailTask(ctx, store.FailTaskParams{
		Lease: l, Code: b.ErrorCode, Message: s.oneLine(b.ErrorMessage), Retryable: b.Retryable == nil || *b.Retryable,
	})
	if err != nil {
		return nil, describe(err, "task", req.TaskID.String())
	}
	note(ctx, zap.Stringer("job_id", f.JobID), zap.String("error_code", b.ErrorCode), zap.Bool("quarantined", f.Quarantined))
	return FailTask200JSONResponse{TaskID: l.Task, Attempt: l.Attempt, Status: f.Phase}, nil
}

// ReleaseTask takes a task back.
func (s handlers) ReleaseTask(ctx context.Context, req ReleaseTaskRequestObject) (ReleaseTaskResponseObject, error) {
	b := req.Body
	if err := v1.AsError(validateLease(b.WorkerID, b.Attempt)); err != nil {
		return nil, err
	}
	l := lease(ctx, req.TaskID, b.WorkerID, b.Attempt)
	if err := s.store.ReleaseTask(ctx, l); err != nil {
		return nil, describe(err, "task", req.TaskID.String())
	}
	return ReleaseTask200JSONResponse{TaskID: l.Task, Attempt: l.Attempt, Status: v1.TaskPending}, nil
}

// AppendTaskLog adds a chunk to the log of an attempt.
func (s handlers) AppendTaskLog(ctx context.Context, req AppendTaskLogRequestObject) (AppendTaskLogResponseObject, error) {
	p := req.Params
	if err := v1.AsError(validateLease(p.XWorkerID, p.XTaskAttempt)); err != nil {
		return nil, err
	}
	if req.Seq < 0 {
		return nil, apiErrorf(wire.CodeInvalidRequest, "seq: must not be negative")
	}
	l := lease(ctx, req.TaskID, p.XWorkerID, p.XTaskAttempt)
	body := ""
	if req.Body != nil {
		body = *req.Body
	}
	err := s.store.AppendLog(ctx, store.AppendLogParams{
		Lease: l, Seq: req.Seq, Body: []byte(s.tokens.redact(body)), Final: p.XLogFinal != nil && *p.XLogFinal,
	})
	if err != nil {
		return nil, describe(err, "task", req.TaskID.String())
	}
	return AppendTaskLog204Response{}, nil
}

// lease names an attempt, for the store and for the access log.
func lease(ctx context.Context, task, worker uuid.UUID, attempt int32) store.Lease {
	note(ctx, zap.Stringer("task_id", task), zap.Stringer("worker_id", worker), zap.Int32("attempt", attempt))
	return store.Lease{Task: task, Worker: worker, Attempt: attempt}
}
