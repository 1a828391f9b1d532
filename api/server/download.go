package server

import (
	"context"
	"errors"
	"mime"
	"net/http"
	"time"

	"go.uber.org/zap"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/api/wire"
	"scimesh.dev/scimesh/artifacts"
	"scimesh.dev/scimesh/store"
)

// GetTaskInput serves the shard of a task, or one of its further inputs.
func (s handlers) GetTaskInput(ctx context.Context, req GetTaskInputRequestObject) (GetTaskInputResponseObject, error) {
	note(ctx, zap.Stringer("task_id", req.TaskID))
	if p := req.Params; p.XWorkerID != nil {
		if p.XTaskAttempt == nil {
			return nil, parameterError(&RequiredHeaderError{ParamName: "X-Task-Attempt"})
		}
		if _, err := s.store.CheckLease(ctx, lease(ctx, req.TaskID, *p.XWorkerID, *p.XTaskAttempt)); err != nil {
			return nil, describe(err, "task", req.TaskID.String())
		}
	}
	if n := req.Params.File; n != nil && *n != 0 {
		f, err := s.store.GetTaskFile(ctx, req.TaskID, int(*n)-1)
		if err != nil {
			return nil, describe(err, "task with this input", req.TaskID.String())
		}
		return s.serveBlob(ctx, store.Artifact{Filename: f.Filename, ContentType: f.ContentType, SHA256: f.SHA256, SizeBytes: f.SizeBytes})
	}
	in, err := s.store.GetTaskInput(ctx, req.TaskID)
	if err != nil {
		return nil, describe(err, "task", req.TaskID.String())
	}
	if in.Artifact == nil {
		return nil, apiErrorf(wire.CodeNotFound, "the input of task %s is not at the coordinator: its claim holds the URI", req.TaskID)
	}
	return s.serveBlob(ctx, *in.Artifact)
}

// DownloadArtifact serves the bytes of an artifact.
func (s handlers) DownloadArtifact(ctx context.Context, req DownloadArtifactRequestObject) (DownloadArtifactResponseObject, error) {
	a, err := s.store.GetArtifact(ctx, req.ArtifactID)
	if err != nil {
		return nil, describe(err, "artifact", req.ArtifactID.String())
	}
	return s.serveBlob(ctx, a)
}

// GetJobResult serves the final file of a Job.
func (s handlers) GetJobResult(ctx context.Context, req GetJobResultRequestObject) (GetJobResultResponseObject, error) {
	return s.serveFinal(ctx, req.Name, "result", func(j v1.JobStatus) *v1.ResultRef { return j.Result })
}

// GetJobRejects serves the rejected rows of a Job.
func (s handlers) GetJobRejects(ctx context.Context, req GetJobRejectsRequestObject) (GetJobRejectsResponseObject, error) {
	return s.serveFinal(ctx, req.Name, "rejects", func(j v1.JobStatus) *v1.ResultRef { return j.Rejects })
}

func (s *Server) serveFinal(ctx context.Context, name, what string, ref func(v1.JobStatus) *v1.ResultRef) (respond, error) {
	j, err := s.job(ctx, name)
	if err != nil {
		return nil, err
	}
	r := ref(j.Resource().Status)
	switch {
	case j.Phase != v1.JobCompleted:
		return nil, apiErrorf(wire.CodeNotFound, "job %s is %s: it has no %s", j.Name, j.Phase, what)
	case r == nil:
		return nil, apiErrorf(wire.CodeNotFound, "job %s has no %s", j.Name, what)
	}
	a, err := s.store.GetArtifact(ctx, r.Artifact)
	if err != nil {
		return nil, describe(err, "artifact", r.Artifact.String())
	}
	return s.serveBlob(ctx, a)
}

// serveBlob opens the bytes of an artifact for a response that honours ranges
// and conditions. The ETag is their SHA-256, so that the client can check them.
func (s *Server) serveBlob(ctx context.Context, a store.Artifact) (respond, error) {
	blob, err := s.blobs.Open(ctx, a.SHA256)
	if errors.Is(err, artifacts.ErrNotFound) {
		exchangeOf(ctx).log.Error("blob of an artifact is missing", zap.Stringer("artifact_id", a.ID), zap.String("sha256", a.SHA256))
		return nil, errInternal
	}
	if err != nil {
		return nil, err
	}
	x := exchangeOf(ctx)
	return func(w http.ResponseWriter) error {
		defer blob.Close()
		h := w.Header()
		h.Set("Content-Type", a.ContentType)
		h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": a.Filename}))
		h.Set("Content-Security-Policy", "sandbox; default-src 'none'") // what workers send is not to run in a browser
		h.Set("ETag", `"`+a.SHA256+`"`)
		http.ServeContent(&rangeErrors{ResponseWriter: w, x: x, s: s}, x.r, "", time.Time{}, blob)
		return nil
	}, nil
}

// rangeErrors gives the errors of http.ServeContent the shape of all others.
type rangeErrors struct {
	http.ResponseWriter
	x      *exchange
	s      *Server
	failed bool
}

// WriteHeader begins the response.
func (w *rangeErrors) WriteHeader(status int) {
	switch {
	case status < 400:
		w.ResponseWriter.WriteHeader(status)
	case status == http.StatusRequestedRangeNotSatisfiable:
		w.failed = true
		w.s.writeError(w.ResponseWriter, w.x, apiErrorf(wire.CodeRangeNotSatisfiable, "no byte of the range exists"))
	default:
		w.failed = true
		w.s.writeError(w.ResponseWriter, w.x, errInternal)
	}
}

// Write adds to the body, unless it is the text of an error.
func (w *rangeErrors) Write(p []byte) (int, error) {
	if w.failed {
		return len(p), nil
	}
	return w.ResponseWriter.Write(p)
}
