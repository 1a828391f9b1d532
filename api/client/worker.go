package client

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"scimesh.dev/scimesh/api/wire"
)

// Lease names one attempt of a task by a worker.
type Lease struct {
	Task    uuid.UUID
	Worker  uuid.UUID
	Attempt int32
}

// RegisterWorker announces a worker.
func (c *Client) RegisterWorker(ctx context.Context, req wire.RegisterRequest) (wire.RegisterResponse, error) {
	var out wire.RegisterResponse
	_, err := c.call(ctx, "register worker", &out, func(ctx context.Context) (*http.Response, error) {
		return c.raw.RegisterWorker(ctx, req)
	})
	return out, err
}

// ClaimTask leases a task; nil if there is none. It is never repeated by
// itself: a lost answer may have leased a task, which the caller decides about.
// ErrNotFound means that the worker must register again.
func (c *Client) ClaimTask(ctx context.Context, req wire.ClaimRequest) (*wire.ClaimedTask, error) {
	var out wire.ClaimedTask
	timeout := c.opts.RequestTimeout + time.Duration(req.WaitSeconds)*time.Second
	r, err := c.once(ctx, "claim task", timeout, &out, func(ctx context.Context) (*http.Response, error) {
		return c.raw.ClaimTask(ctx, req)
	})
	if err != nil || r.status == http.StatusNoContent {
		return nil, err
	}
	return &out, nil
}

// HeartbeatTask renews a lease. Progress between 0 and 1 is shown to users; nil leaves it.
// It is made once: the caller knows how much time the lease leaves for another attempt.
func (c *Client) HeartbeatTask(ctx context.Context, l Lease, progress *float64) (wire.HeartbeatResponse, error) {
	var out wire.HeartbeatResponse
	req := wire.HeartbeatRequest{WorkerID: l.Worker, Attempt: l.Attempt, Progress: progress}
	_, err := c.once(ctx, "renew lease on task "+l.Task.String(), c.opts.RequestTimeout, &out, func(ctx context.Context) (*http.Response, error) {
		return c.raw.HeartbeatTask(ctx, l.Task, req)
	})
	return out, err
}

// CompleteTask completes a task with an uploaded artifact. Metrics is a JSON object or empty.
func (c *Client) CompleteTask(ctx context.Context, l Lease, result wire.ResultManifest, metrics wire.Metrics) (wire.TaskState, error) {
	var out wire.TaskState
	req := wire.ResultRequest{WorkerID: l.Worker, Attempt: l.Attempt, Result: result, Metrics: metrics}
	_, err := c.call(ctx, "complete task "+l.Task.String(), &out, func(ctx context.Context) (*http.Response, error) {
		return c.raw.CompleteTask(ctx, l.Task, req)
	})
	return out, err
}

// FailTask reports a failed attempt. Code and message are sanitised by the caller.
func (c *Client) FailTask(ctx context.Context, l Lease, code, message string, retryable bool) (wire.TaskState, error) {
	var out wire.TaskState
	req := wire.FailureRequest{WorkerID: l.Worker, Attempt: l.Attempt, ErrorCode: code, ErrorMessage: message, Retryable: &retryable}
	_, err := c.call(ctx, "report failure of task "+l.Task.String(), &out, func(ctx context.Context) (*http.Response, error) {
		return c.raw.FailTask(ctx, l.Task, req)
	})
	return out, err
}

// ReleaseTask hands a task back.
func (c *Client) ReleaseTask(ctx context.Context, l Lease) (wire.TaskState, error) {
	var out wire.TaskState
	req := wire.ReleaseRequest{WorkerID: l.Worker, Attempt: l.Attempt}
	_, err := c.call(ctx, "hand back task "+l.Task.String(), &out, func(ctx context.Context) (*http.Response, error) {
		return c.raw.ReleaseTask(ctx, l.Task, req)
	})
	return out, err
}

// AppendTaskLog adds chunk seq, of at most 64 KiB, to the log of an attempt.
func (c *Client) AppendTaskLog(ctx context.Context, l Lease, seq int32, body []byte, final bool) error {
	params := wire.AppendTaskLogParams{XWorkerID: l.Worker, XTaskAttempt: l.Attempt, XLogFinal: &final}
	_, err := c.call(ctx, fmt.Sprintf("add chunk %d to the log of task %s", seq, l.Task), nil, func(ctx context.Context) (*http.Response, error) {
		return c.raw.AppendTaskLogWithBody(ctx, l.Task, seq, &params, "text/plain; charset=utf-8", strings.NewReader(string(body)))
	})
	return err
}

// UploadTaskArtifact uploads the partial result of a task.
func (c *Client) UploadTaskArtifact(ctx context.Context, l Lease, u Upload) (wire.UploadedArtifact, error) {
	var out wire.UploadedArtifact
	params := wire.UploadTaskArtifactParams{XWorkerID: l.Worker, XTaskAttempt: l.Attempt, XContentSHA256: optional(u.SHA256)}
	err := c.upload(ctx, "upload the result of task "+l.Task.String(), u, &out, func(ctx context.Context, body *uploadBody) (*http.Response, error) {
		return c.raw.UploadTaskArtifactWithBody(ctx, l.Task, u.Filename, &params, u.contentType(), body, body.prepare)
	})
	return out, err
}

// optional is a pointer to a parameter, nil for one that is not set.
func optional[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}
