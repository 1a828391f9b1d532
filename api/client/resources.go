package client

import (
	"context"
	"net/http"

	"github.com/google/uuid"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/api/wire"
)

// ListTasks returns a page of tasks.
func (c *Client) ListTasks(ctx context.Context, p wire.ListTasksParams) (v1.List[v1.Task], error) {
	return get[v1.List[v1.Task]](ctx, c, "list tasks", func(ctx context.Context) (*http.Response, error) { return c.raw.ListTasks(ctx, &p) })
}

// GetTask returns a task, by id or by name (JOB-CHUNKINDEX), with its attempts.
func (c *Client) GetTask(ctx context.Context, task string) (v1.Task, error) {
	return get[v1.Task](ctx, c, "get task "+task, func(ctx context.Context) (*http.Response, error) { return c.raw.GetTask(ctx, task) })
}

// ListArtifacts returns a page of artifacts.
func (c *Client) ListArtifacts(ctx context.Context, p wire.ListArtifactsParams) (v1.List[v1.Artifact], error) {
	return get[v1.List[v1.Artifact]](ctx, c, "list artifacts", func(ctx context.Context) (*http.Response, error) { return c.raw.ListArtifacts(ctx, &p) })
}

// GetArtifact returns an artifact's description.
func (c *Client) GetArtifact(ctx context.Context, id uuid.UUID) (v1.Artifact, error) {
	return get[v1.Artifact](ctx, c, "get artifact "+id.String(), func(ctx context.Context) (*http.Response, error) { return c.raw.GetArtifact(ctx, id) })
}

// ListWorkers returns a page of workers.
func (c *Client) ListWorkers(ctx context.Context, p wire.ListWorkersParams) (v1.List[v1.Worker], error) {
	return get[v1.List[v1.Worker]](ctx, c, "list workers", func(ctx context.Context) (*http.Response, error) { return c.raw.ListWorkers(ctx, &p) })
}

// GetWorker returns a worker.
func (c *Client) GetWorker(ctx context.Context, id uuid.UUID) (v1.Worker, error) {
	return get[v1.Worker](ctx, c, "get worker "+id.String(), func(ctx context.Context) (*http.Response, error) { return c.raw.GetWorker(ctx, id) })
}

// ListWorkloads returns all workloads.
func (c *Client) ListWorkloads(ctx context.Context) (v1.List[v1.Workload], error) {
	return get[v1.List[v1.Workload]](ctx, c, "list workloads", func(ctx context.Context) (*http.Response, error) { return c.raw.ListWorkloads(ctx) })
}

// GetWorkload returns a workload.
func (c *Client) GetWorkload(ctx context.Context, name string) (v1.Workload, error) {
	return get[v1.Workload](ctx, c, "get workload "+name, func(ctx context.Context) (*http.Response, error) { return c.raw.GetWorkload(ctx, name) })
}

// ListControllers returns the health of all reconcilers.
func (c *Client) ListControllers(ctx context.Context) (v1.List[v1.ControllerStatus], error) {
	return get[v1.List[v1.ControllerStatus]](ctx, c, "list controllers", func(ctx context.Context) (*http.Response, error) { return c.raw.ListControllers(ctx) })
}

// ListEvents returns a page of events.
func (c *Client) ListEvents(ctx context.Context, p wire.ListEventsParams) (v1.List[v1.Event], error) {
	return get[v1.List[v1.Event]](ctx, c, "list events", func(ctx context.Context) (*http.Response, error) { return c.raw.ListEvents(ctx, &p) })
}

// Version returns the coordinator's version.
func (c *Client) Version(ctx context.Context) (wire.Version, error) {
	return get[wire.Version](ctx, c, "get version", func(ctx context.Context) (*http.Response, error) { return c.raw.GetVersion(ctx) })
}

// Ready returns nil if the coordinator can do its work. It is asked once.
func (c *Client) Ready(ctx context.Context) error {
	_, err := c.once(ctx, "get readiness", c.opts.RequestTimeout, nil, func(ctx context.Context) (*http.Response, error) {
		return c.raw.GetReadiness(ctx)
	})
	return err
}
