package server

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"strings"

	"go.uber.org/zap"
	"k8s.io/apimachinery/pkg/util/validation/field"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/api/wire"
	"scimesh.dev/scimesh/store"
	"scimesh.dev/scimesh/workloads"
)

// CreateJob creates a Job.
func (s handlers) CreateJob(ctx context.Context, req CreateJobRequestObject) (CreateJobResponseObject, error) {
	m, err := manifest(req.JSONBody, req.Body)
	if err != nil {
		return nil, err
	}
	dryRun, err := isDryRun(req.Params.DryRun)
	if err != nil {
		return nil, err
	}
	p, err := s.prepare(m, v1.ValidateOptions{NameOptional: true})
	if err != nil {
		return nil, err
	}
	if p.Name == "" {
		p.Name = generateName(p.Spec.Workload)
	}
	create := s.store.CreateJob
	if dryRun {
		create = s.wouldCreate
	}
	j, err := create(ctx, p)
	if err != nil {
		return nil, createError(err, p.Name)
	}
	note(ctx, zap.Stringer("job_id", j.ID))
	return CreateJob201JSONResponse(j.Resource()), nil
}

// ApplyJob creates or changes a Job.
func (s handlers) ApplyJob(ctx context.Context, req ApplyJobRequestObject) (ApplyJobResponseObject, error) {
	m, err := manifest(req.JSONBody, req.Body)
	if err != nil {
		return nil, err
	}
	dryRun, err := isDryRun(req.Params.DryRun)
	if err != nil {
		return nil, err
	}
	if name := &m.Job.Metadata.Name; *name == "" {
		*name = req.Name
	} else if *name != req.Name {
		m.Faults = append(m.Faults, field.Invalid(field.NewPath("metadata", "name"), v1.Quote(*name), "must be the name in the path of the request"))
	}
	p, err := s.prepare(m, v1.ValidateOptions{})
	if err != nil {
		return nil, err
	}
	j, op, err := s.store.ApplyJob(ctx, p, dryRun)
	if err != nil {
		return nil, applyError(err, req.Name)
	}
	note(ctx, zap.Stringer("job_id", j.ID), zap.String("applied", string(op)), zap.Bool("dry_run", dryRun))
	if op == store.ApplyCreated {
		return ApplyJob201JSONResponse{Body: j.Resource(), Headers: ApplyJob201ResponseHeaders{XOperation: v1.OperationCreated}}, nil
	}
	return ApplyJob200JSONResponse{Body: j.Resource(), Headers: ApplyJob200ResponseHeaders{XOperation: v1.Operation(op)}}, nil
}

// manifest is the Job of a request, which came as JSON or as YAML.
func manifest(asJSON *v1.JobManifest, asYAML io.Reader) (v1.JobManifest, error) {
	if asJSON != nil {
		return *asJSON, nil
	}
	data, err := io.ReadAll(asYAML)
	if err != nil {
		return v1.JobManifest{}, err
	}
	return v1.DecodeManifest(data)
}

// prepare applies defaults, checks a Job as far as it can be told without the
// database and without its input, and returns what the store keeps. The error
// tells everything that is wrong with it.
func (s *Server) prepare(m v1.JobManifest, opts v1.ValidateOptions) (store.CreateJobParams, error) {
	opts.URIs = v1.URIPolicy{AllowedHosts: s.cfg.AllowedHosts}
	job := m.Job
	v1.Default(&job)
	errs := append(m.Faults, v1.Validate(&job, opts)...)
	version := ""
	spec := field.NewPath("spec")
	if w, ok := s.workloads.Get(job.Spec.Workload); ok {
		parameters, faults := w.Validate(spec.Child("parameters"), job.Spec.Parameters)
		errs = append(errs, faults...)
		errs = append(errs, workloads.ValidateFormats(w, spec.Child("output", "formats"), job.Spec.Output.Formats)...)
		job.Spec.Parameters = parameters
		version = w.Describe().Version
	} else if job.Spec.Workload != "" {
		errs = append(errs, v1.UnknownWorkload(spec.Child("workload"), job.Spec.Workload, s.workloads.Names()))
	}
	return store.CreateJobParams{
		Name: job.Metadata.Name, Labels: job.Metadata.Labels, Annotations: job.Metadata.Annotations,
		Spec: job.Spec, WorkloadVersion: version,
	}, v1.AsError(errs)
}

// wouldCreate is CreateJob without the creation.
func (s *Server) wouldCreate(ctx context.Context, p store.CreateJobParams) (store.Job, error) {
	j, op, err := s.store.ApplyJob(ctx, p, true)
	if err == nil && op != store.ApplyCreated {
		err = store.ErrConflict
	}
	return j, err
}

// applyError leaves out what the client says itself: what was done to which Job.
func applyError(err error, name string) error {
	var immutable *store.ImmutableError
	if errors.Is(err, store.ErrConflict) && !errors.As(err, &immutable) {
		return apiErrorf(wire.CodeConflict, "the job was changed by others or is being deleted; try again")
	}
	return describe(err, "job", name)
}

func createError(err error, name string) error {
	if errors.Is(err, store.ErrConflict) {
		return apiErrorf(wire.CodeConflict, "job %s exists already", name)
	}
	return err
}

// generateName is the workload's name and ten random characters.
func generateName(workload string) string {
	suffix := strings.ToLower(rand.Text())[:10]
	return strings.TrimSuffix(workload[:min(len(workload), 52)], "-") + "-" + suffix
}
