package server

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/api/wire"
	"scimesh.dev/scimesh/store"
	"scimesh.dev/scimesh/workloads"
)

// ListArtifacts lists artifacts.
func (s handlers) ListArtifacts(ctx context.Context, req ListArtifactsRequestObject) (ListArtifactsResponseObject, error) {
	q := req.Params
	p, err := page(q.Limit, q.Continue)
	if err != nil {
		return nil, err
	}
	f := store.ArtifactFilter{Kinds: q.Kind}
	if err := artifactKinds(q.Kind); err != nil {
		return nil, err
	}
	if f.SHA256, err = checkDigest(q.SHA256, "sha256"); err != nil {
		return nil, err
	}
	if q.Job != nil {
		if f.Job, err = s.jobID(ctx, *q.Job); err != nil {
			return nil, err
		}
	}
	l, err := s.store.ListArtifacts(ctx, f, p)
	if err != nil {
		return nil, err
	}
	return ListArtifacts200JSONResponse(listOf[v1.Artifact](v1.KindArtifact, l)), nil
}

// GetArtifact returns an artifact's description.
func (s handlers) GetArtifact(ctx context.Context, req GetArtifactRequestObject) (GetArtifactResponseObject, error) {
	a, err := s.store.GetArtifact(ctx, req.ArtifactID)
	if err != nil {
		return nil, describe(err, "artifact", req.ArtifactID.String())
	}
	return GetArtifact200JSONResponse(a.Resource()), nil
}

// ListWorkers lists workers.
func (s handlers) ListWorkers(ctx context.Context, req ListWorkersRequestObject) (ListWorkersResponseObject, error) {
	p, err := page(req.Params.Limit, req.Params.Continue)
	if err != nil {
		return nil, err
	}
	if err := workerPhases(req.Params.Phase); err != nil {
		return nil, err
	}
	l, err := s.store.ListWorkers(ctx, store.WorkerFilter{Phases: req.Params.Phase}, p)
	if err != nil {
		return nil, err
	}
	return ListWorkers200JSONResponse(listOf[v1.Worker](v1.KindWorker, l)), nil
}

// GetWorker returns a worker.
func (s handlers) GetWorker(ctx context.Context, req GetWorkerRequestObject) (GetWorkerResponseObject, error) {
	w, err := s.store.GetWorker(ctx, req.WorkerID)
	if err != nil {
		return nil, describe(err, "worker", req.WorkerID.String())
	}
	return GetWorker200JSONResponse(w.Resource()), nil
}

// ListEvents lists events.
func (s handlers) ListEvents(ctx context.Context, req ListEventsRequestObject) (ListEventsResponseObject, error) {
	f, job := store.EventFilter{}, ""
	if req.Params.Worker != nil {
		f.Worker = *req.Params.Worker
	}
	if req.Params.Job != nil {
		job = *req.Params.Job
	}
	l, err := s.events(ctx, f, job, req.Params.Limit, req.Params.Continue)
	if err != nil {
		return nil, err
	}
	return ListEvents200JSONResponse(l), nil
}

// events lists events, of one Job if job is not empty. A page goes on after
// the id of its last event.
func (s *Server) events(ctx context.Context, f store.EventFilter, job string, limit *wire.Limit, next *wire.Continue) (v1.List[v1.Event], error) {
	p, err := page(limit, nil)
	if err == nil && next != nil {
		if f.After, err = strconv.ParseInt(*next, 10, 64); err != nil {
			err = v1.AsError(field.ErrorList{field.Invalid(field.NewPath("continue"), v1.Quote(*next), "must be metadata.continue of a page of events")})
		}
	}
	if err == nil && job != "" {
		f.Job, err = s.jobID(ctx, job)
	}
	if err != nil {
		return v1.List[v1.Event]{}, err
	}
	if p.Limit == 0 {
		p.Limit = 100
	}
	l, err := s.store.ListEvents(ctx, f, p)
	if err != nil {
		return v1.List[v1.Event]{}, err
	}
	if n := len(l.Items); n == p.Limit {
		l.Continue = strconv.FormatInt(l.Items[n-1].ID, 10)
	} else {
		l.Continue = ""
	}
	return listOf[v1.Event](v1.KindEvent, l), nil
}

// ListWorkloads lists the workloads.
func (s handlers) ListWorkloads(context.Context, ListWorkloadsRequestObject) (ListWorkloadsResponseObject, error) {
	var items []v1.Workload
	for _, name := range s.workloads.Names() {
		w, _ := s.workloads.Get(name)
		items = append(items, workloadResource(w))
	}
	return ListWorkloads200JSONResponse(v1.NewList(v1.KindWorkload, items, "")), nil
}

// GetWorkload returns a workload.
func (s handlers) GetWorkload(_ context.Context, req GetWorkloadRequestObject) (GetWorkloadResponseObject, error) {
	w, ok := s.workloads.Get(req.Name)
	if !ok {
		return nil, notFound("workload", req.Name)
	}
	return GetWorkload200JSONResponse(workloadResource(w)), nil
}

func workloadResource(w workloads.Workload) v1.Workload {
	return v1.Workload{
		TypeMeta: v1.TypeMeta{APIVersion: v1.APIVersion, Kind: v1.KindWorkload},
		Metadata: v1.ObjectMeta{Name: w.Name()},
		Spec:     w.Describe(),
	}
}

// ListControllers tells the health of the reconcilers.
func (s handlers) ListControllers(context.Context, ListControllersRequestObject) (ListControllersResponseObject, error) {
	items := slices.Clone(s.controllers())
	slices.SortFunc(items, func(a, b v1.ControllerStatus) int { return strings.Compare(a.Name, b.Name) })
	return ListControllers200JSONResponse(v1.NewList("Controller", items, "")), nil
}
