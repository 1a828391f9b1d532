package server

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"go.uber.org/zap"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/api/wire"
	"scimesh.dev/scimesh/store"
)

// ListTasks lists tasks.
func (s handlers) ListTasks(ctx context.Context, req ListTasksRequestObject) (ListTasksResponseObject, error) {
	p := req.Params
	f := store.TaskFilter{Phases: p.Phase}
	if p.Worker != nil {
		f.Worker = *p.Worker
	}
	job := ""
	if p.Job != nil {
		job = *p.Job
	}
	l, err := s.tasks(ctx, f, job, p.Limit, p.Continue)
	if err != nil {
		return nil, err
	}
	return ListTasks200JSONResponse(l), nil
}

// tasks lists tasks, of one Job if job is not empty.
func (s *Server) tasks(ctx context.Context, f store.TaskFilter, job string, limit *wire.Limit, next *wire.Continue) (v1.List[v1.Task], error) {
	p, err := page(limit, next)
	if err == nil {
		err = taskPhases(f.Phases)
	}
	if err == nil && job != "" {
		f.Job, err = s.jobID(ctx, job)
	}
	if err != nil {
		return v1.List[v1.Task]{}, err
	}
	l, err := s.store.ListTasks(ctx, f, p)
	if err != nil {
		return v1.List[v1.Task]{}, err
	}
	return listOf[v1.Task](v1.KindTask, l), nil
}

// jobID is the id of the Job of that name or id.
func (s *Server) jobID(ctx context.Context, ref string) (uuid.UUID, error) {
	j, err := s.job(ctx, ref)
	return j.ID, err
}

// GetTask returns a task with its attempts.
func (s handlers) GetTask(ctx context.Context, req GetTaskRequestObject) (GetTaskResponseObject, error) {
	t, err := s.task(ctx, req.Task)
	if err != nil {
		return nil, err
	}
	return GetTask200JSONResponse(t.Resource()), nil
}

// task reads a task by id or name.
func (s *Server) task(ctx context.Context, ref string) (store.Task, error) {
	id, err := uuid.Parse(ref)
	if err != nil {
		if id, err = s.taskID(ctx, ref); err != nil {
			return store.Task{}, err
		}
	}
	note(ctx, zap.Stringer("task_id", id))
	t, err := s.store.GetTask(ctx, id)
	return t, describe(err, "task", ref)
}

// taskID is the id of the task of that name, JOB-CHUNKINDEX.
func (s *Server) taskID(ctx context.Context, name string) (uuid.UUID, error) {
	i := strings.LastIndexByte(name, '-')
	chunk, err := strconv.ParseInt(name[i+1:], 10, 32)
	if i <= 0 || err != nil || chunk < 0 || strconv.FormatInt(chunk, 10) != name[i+1:] {
		return uuid.Nil, notFound("task", name)
	}
	j, err := s.store.GetJob(ctx, name[:i])
	if err != nil && j.Damage == "" {
		if errors.Is(err, store.ErrNotFound) {
			return uuid.Nil, notFound("task", name)
		}
		return uuid.Nil, err
	}
	id, err := s.store.FindTask(ctx, j.ID, int32(chunk))
	return id, describe(err, "task", name)
}
