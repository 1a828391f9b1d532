package client

import (
	"context"
	"fmt"
	"iter"
	"net/http"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/api/wire"
)

// CreateJob creates a Job, whose name may be empty. It is made once: a lost
// answer to a Job without a name would create another.
func (c *Client) CreateJob(ctx context.Context, job v1.Job, dryRun bool) (v1.Job, error) {
	var out v1.Job
	_, err := c.once(ctx, "create job", c.opts.RequestTimeout, &out, func(ctx context.Context) (*http.Response, error) {
		return c.raw.CreateJob(ctx, &wire.CreateJobParams{DryRun: dryRunParam(dryRun)}, v1.JobManifest{Job: job})
	})
	return out, err
}

// ApplyJob creates the Job, or changes the one of that name.
func (c *Client) ApplyJob(ctx context.Context, job v1.Job, dryRun bool) (v1.Job, v1.Operation, error) {
	var out v1.Job
	name := job.Metadata.Name
	r, err := c.call(ctx, "apply job "+name, &out, func(ctx context.Context) (*http.Response, error) {
		return c.raw.ApplyJob(ctx, name, &wire.ApplyJobParams{DryRun: dryRunParam(dryRun)}, v1.JobManifest{Job: job})
	})
	if err != nil {
		return out, "", err
	}
	return out, v1.Operation(r.header.Get("X-Operation")), nil
}

func dryRunParam(dryRun bool) *wire.DryRun {
	if !dryRun {
		return nil
	}
	all := wire.DryRunAll
	return &all
}

// GetJob returns the Job of that name or id.
func (c *Client) GetJob(ctx context.Context, name string) (v1.Job, error) {
	return get[v1.Job](ctx, c, "get job "+name, func(ctx context.Context) (*http.Response, error) { return c.raw.GetJob(ctx, name) })
}

// DeleteJob asks for the Job to be cancelled, if it has not ended, and deleted.
func (c *Client) DeleteJob(ctx context.Context, name string) (v1.Job, error) {
	return get[v1.Job](ctx, c, "delete job "+name, func(ctx context.Context) (*http.Response, error) { return c.raw.DeleteJob(ctx, name) })
}

// CancelJob asks for the Job to be cancelled.
func (c *Client) CancelJob(ctx context.Context, name string) (v1.Job, error) {
	return get[v1.Job](ctx, c, "cancel job "+name, func(ctx context.Context) (*http.Response, error) { return c.raw.CancelJob(ctx, name) })
}

// WhyJob returns why the Job, or tasks of it, do not run.
func (c *Client) WhyJob(ctx context.Context, name string) (v1.List[v1.WhyEntry], error) {
	return get[v1.List[v1.WhyEntry]](ctx, c, "explain job "+name, func(ctx context.Context) (*http.Response, error) { return c.raw.WhyJob(ctx, name) })
}

// ListJobs returns a page of Jobs.
func (c *Client) ListJobs(ctx context.Context, p wire.ListJobsParams) (v1.List[v1.Job], error) {
	p.Watch = nil
	return get[v1.List[v1.Job]](ctx, c, "list jobs", func(ctx context.Context) (*http.Response, error) { return c.raw.ListJobs(ctx, &p) })
}

// ListJobTasks returns a page of a Job's tasks.
func (c *Client) ListJobTasks(ctx context.Context, name string, p wire.ListJobTasksParams) (v1.List[v1.Task], error) {
	return get[v1.List[v1.Task]](ctx, c, "list tasks of job "+name, func(ctx context.Context) (*http.Response, error) { return c.raw.ListJobTasks(ctx, name, &p) })
}

// ListJobEvents returns a page of a Job's events.
func (c *Client) ListJobEvents(ctx context.Context, name string, p wire.ListJobEventsParams) (v1.List[v1.Event], error) {
	return get[v1.List[v1.Event]](ctx, c, "list events of job "+name, func(ctx context.Context) (*http.Response, error) { return c.raw.ListJobEvents(ctx, name, &p) })
}

// get makes a call that may be repeated.
func get[T any](ctx context.Context, c *Client, operation string, send sender) (T, error) {
	var out T
	_, err := c.call(ctx, operation, &out, send)
	return out, err
}

// All yields the objects of all pages. page gets the page that the token
// continues, nil for the first; it is one of the List methods with its
// parameters, such as
//
//	All(func(next *string) (v1.List[v1.Job], error) {
//		return c.ListJobs(ctx, wire.ListJobsParams{Continue: next})
//	})
//
// It ends after the first error.
func All[T any](page func(next *string) (v1.List[T], error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var next *string
		for {
			list, err := page(next)
			if err != nil {
				var zero T
				yield(zero, err)
				return
			}
			for _, item := range list.Items {
				if !yield(item, nil) {
					return
				}
			}
			if list.Metadata.Continue == "" {
				return
			}
			if next != nil && *next == list.Metadata.Continue {
				var zero T
				yield(zero, fmt.Errorf("list: the page after %q continues with itself", *next))
				return
			}
			next = &list.Metadata.Continue
		}
	}
}
