package server

import (
	"context"
	"errors"
	"io"
	"mime/multipart"

	"go.uber.org/zap"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/api/wire"
	"scimesh.dev/scimesh/artifacts"
	"scimesh.dev/scimesh/store"
)

// UploadJob takes a Job and its input in one request. Everything that can be
// told without the input is checked before it is read.
func (s handlers) UploadJob(ctx context.Context, req UploadJobRequestObject) (UploadJobResponseObject, error) {
	p, err := s.uploadedJob(ctx, req.Body)
	if err != nil {
		return nil, err
	}
	a, err := s.uploadedInput(ctx, req.Body)
	if err != nil {
		return nil, err
	}
	p.Spec.Input = v1.JobInput{Artifact: &a.ID, InputLayout: p.Spec.Input.InputLayout}
	j, err := s.store.CreateJob(ctx, p)
	if err != nil {
		return nil, createError(err, p.Name)
	}
	note(ctx, zap.Stringer("job_id", j.ID))
	return UploadJob201JSONResponse(j.Resource()), nil
}

// uploadedJob reads and checks the first part.
func (s *Server) uploadedJob(ctx context.Context, body *multipart.Reader) (store.CreateJobParams, error) {
	part, err := nextPart(body, "job")
	if err != nil {
		return store.CreateJobParams{}, err
	}
	data, err := io.ReadAll(io.LimitReader(part, maxSmallBody+1))
	switch {
	case err != nil:
		return store.CreateJobParams{}, bodyError(err)
	case len(data) > maxSmallBody:
		return store.CreateJobParams{}, tooMuch("the part job", maxSmallBody)
	}
	m, err := v1.DecodeManifest(data)
	if err != nil {
		return store.CreateJobParams{}, err
	}
	p, err := s.prepare(m, v1.ValidateOptions{NameOptional: true, InputOptional: true})
	if err != nil {
		return p, err
	}
	if p.Name == "" {
		p.Name = generateName(p.Spec.Workload)
	}
	switch _, err := s.store.GetJob(ctx, p.Name); {
	case err == nil, errors.Is(err, store.ErrDamaged):
		return p, createError(store.ErrConflict, p.Name)
	case !errors.Is(err, store.ErrNotFound):
		return p, err
	}
	return p, nil
}

// uploadedInput stores the second part. The blob appears only if nothing follows it.
func (s *Server) uploadedInput(ctx context.Context, body *multipart.Reader) (store.Artifact, error) {
	part, err := nextPart(body, "input")
	if err != nil {
		return store.Artifact{}, err
	}
	name := part.FileName()
	if name == "" {
		name = "input"
	}
	if err := checkFilename(name, "input"); err != nil {
		return store.Artifact{}, err
	}
	w, done, err := s.beginBlob(ctx, artifacts.PutOptions{MaxBytes: s.cfg.MaxInputBytes})
	if err != nil {
		return store.Artifact{}, err
	}
	defer done()
	if _, err := io.Copy(w, partReader{part}); err != nil {
		return store.Artifact{}, err
	}
	if _, err := body.NextRawPart(); !errors.Is(err, io.EOF) {
		return store.Artifact{}, apiErrorf(wire.CodeInvalidRequest, "the body must end after the part input")
	}
	blob, err := w.Commit(ctx)
	if err != nil {
		return store.Artifact{}, err
	}
	return s.recordInput(ctx, name, part.Header.Get("Content-Type"), blob)
}

// nextPart is the next part, which must have that name.
func nextPart(body *multipart.Reader, name string) (*multipart.Part, error) {
	part, err := body.NextRawPart()
	switch {
	case errors.Is(err, io.EOF):
		return nil, apiErrorf(wire.CodeInvalidRequest, "the part %s is missing", name)
	case err != nil:
		return nil, bodyError(err)
	case part.FormName() != name:
		return nil, apiErrorf(wire.CodeInvalidRequest, "the parts must be job and input, in this order; %s is missing", name)
	}
	return part, nil
}

// partReader tells errors of the body from those of what takes its bytes.
type partReader struct{ part *multipart.Part }

func (p partReader) Read(buf []byte) (int, error) {
	n, err := p.part.Read(buf)
	if err != nil && !errors.Is(err, io.EOF) {
		err = bodyError(err)
	}
	return n, err
}
