package server

import (
	"context"

	"go.uber.org/zap"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/api/wire"
	"scimesh.dev/scimesh/store"
)

// job reads a Job by name or id. A damaged one is returned as far as it can be read.
func (s *Server) job(ctx context.Context, ref string) (store.Job, error) {
	j, err := s.store.GetJob(ctx, ref)
	if err != nil && j.Damage == "" {
		return j, describe(err, "job", ref)
	}
	note(ctx, zap.Stringer("job_id", j.ID))
	return j, nil
}

// ListJobs lists Jobs, or streams their changes.
func (s handlers) ListJobs(ctx context.Context, req ListJobsRequestObject) (ListJobsResponseObject, error) {
	f, err := jobFilter(req.Params)
	if err != nil {
		return nil, err
	}
	if req.Params.Watch != nil && *req.Params.Watch {
		return s.watchJobs(ctx, f)
	}
	p, err := page(req.Params.Limit, req.Params.Continue)
	if err != nil {
		return nil, err
	}
	l, err := s.findJobs(ctx, f, p)
	if err != nil {
		return nil, err
	}
	return ListJobs200JSONResponse(listOf[v1.Job](v1.KindJob, l)), nil
}

// jobQuery is what selects Jobs: the store's filter, and the name or id of one.
type jobQuery struct {
	store.JobFilter
	ref string
}

func jobFilter(p wire.ListJobsParams) (jobQuery, error) {
	f := jobQuery{JobFilter: store.JobFilter{Phases: p.Phase}}
	if err := jobPhases(p.Phase); err != nil {
		return f, err
	}
	if p.Workload != nil {
		f.Workload = *p.Workload
	}
	if p.Name != nil {
		f.ref = *p.Name
	}
	if p.LabelSelector != nil && *p.LabelSelector != "" {
		selector, err := v1.ParseSelector(*p.LabelSelector)
		if err != nil {
			return f, err
		}
		f.Labels = selector
	}
	return f, nil
}

// GetJob returns a Job.
func (s handlers) GetJob(ctx context.Context, req GetJobRequestObject) (GetJobResponseObject, error) {
	j, err := s.job(ctx, req.Name)
	if err != nil {
		return nil, err
	}
	return GetJob200JSONResponse(j.Resource()), nil
}

// CancelJob records that a Job is to be cancelled.
func (s handlers) CancelJob(ctx context.Context, req CancelJobRequestObject) (CancelJobResponseObject, error) {
	j, err := s.store.RequestCancel(ctx, req.Name)
	if err != nil {
		return nil, describe(err, "job", req.Name)
	}
	note(ctx, zap.Stringer("job_id", j.ID))
	if j.Phase == v1.JobCompleted || j.Phase == v1.JobFailed {
		return nil, apiErrorf(wire.CodeConflict, "job %s is %s", j.Name, j.Phase)
	}
	return CancelJob202JSONResponse(j.Resource()), nil
}

// DeleteJob records that a Job is to be deleted.
func (s handlers) DeleteJob(ctx context.Context, req DeleteJobRequestObject) (DeleteJobResponseObject, error) {
	j, err := s.store.RequestDelete(ctx, req.Name)
	if err != nil {
		return nil, describe(err, "job", req.Name)
	}
	note(ctx, zap.Stringer("job_id", j.ID))
	return DeleteJob202JSONResponse(j.Resource()), nil
}

// WhyJob explains why a Job does not run.
func (s handlers) WhyJob(ctx context.Context, req WhyJobRequestObject) (WhyJobResponseObject, error) {
	j, err := s.job(ctx, req.Name)
	if err != nil {
		return nil, err
	}
	if j.Damage != "" {
		return WhyJob200JSONResponse(v1.NewList("Why", v1.Why(v1.WhySnapshot{Job: j.Resource()}), "")), nil
	}
	w, err := s.store.Why(ctx, j.ID)
	if err != nil {
		return nil, describe(err, "job", req.Name)
	}
	entries := v1.Why(v1.WhySnapshot{
		Job: w.Job.Resource(), Ready: w.Ready, Waiting: w.Waiting, NextRetryAt: w.NextRetryAt, JobsAhead: w.JobsAhead,
		Workers: v1.WhyWorkers(w.Workers),
	})
	return WhyJob200JSONResponse(v1.NewList("Why", entries, "")), nil
}

// ListJobTasks lists the tasks of a Job.
func (s handlers) ListJobTasks(ctx context.Context, req ListJobTasksRequestObject) (ListJobTasksResponseObject, error) {
	p := req.Params
	l, err := s.tasks(ctx, store.TaskFilter{Phases: p.Phase}, req.Name, p.Limit, p.Continue)
	if err != nil {
		return nil, err
	}
	return ListJobTasks200JSONResponse(l), nil
}

// ListJobEvents lists the events of a Job.
func (s handlers) ListJobEvents(ctx context.Context, req ListJobEventsRequestObject) (ListJobEventsResponseObject, error) {
	l, err := s.events(ctx, store.EventFilter{}, req.Name, req.Params.Limit, req.Params.Continue)
	if err != nil {
		return nil, err
	}
	return ListJobEvents200JSONResponse(l), nil
}
