package server

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"mime"
	"strings"

	"go.uber.org/zap"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/api/wire"
	"scimesh.dev/scimesh/artifacts"
	"scimesh.dev/scimesh/artifacts/inrow"
	"scimesh.dev/scimesh/store"
)

// precheckBytes is the size from which on a lease is checked before its
// upload is read, and not only when the artifact is recorded.
const precheckBytes = 64 << 10

// UploadTaskArtifact stores the partial result of a task.
func (s handlers) UploadTaskArtifact(ctx context.Context, req UploadTaskArtifactRequestObject) (UploadTaskArtifactResponseObject, error) {
	p := req.Params
	if err := v1.AsError(validateLease(p.XWorkerID, p.XTaskAttempt)); err != nil {
		return nil, err
	}
	if err := checkFilename(req.Filename, "filename"); err != nil {
		return nil, err
	}
	digest, err := checkDigest(p.XContentSHA256, "X-Content-SHA256")
	if err != nil {
		return nil, err
	}
	l := lease(ctx, req.TaskID, p.XWorkerID, p.XTaskAttempt)
	if n := exchangeOf(ctx).r.ContentLength; n < 0 || n > precheckBytes {
		if _, err := s.store.CheckLease(ctx, l); err != nil {
			return nil, describe(err, "task", req.TaskID.String())
		}
	}
	if s.inRow(ctx) { // as many bodies as that are in memory at once
		release, err := s.smallUploads.wait(ctx)
		if err != nil {
			return nil, err
		}
		defer release()
	}
	blob, body, err := s.receiveResult(ctx, req.Body, artifacts.PutOptions{ExpectedSHA256: digest, MaxBytes: s.cfg.MaxResultBytes})
	if err != nil {
		return nil, err
	}
	a, err := s.store.RecordTaskArtifact(ctx, store.RecordTaskArtifactParams{Lease: l, Body: body, FileRef: store.FileRef{
		Filename: req.Filename, ContentType: contentType(req.ContentType, binary), SHA256: blob.SHA256, SizeBytes: blob.SizeBytes,
	}})
	if err != nil {
		return nil, describe(err, "task", req.TaskID.String())
	}
	return UploadTaskArtifact201JSONResponse{
		ArtifactID: a.ID, URI: s.artifactURI(exchangeOf(ctx).r, a.ID), SHA256: a.SHA256, SizeBytes: a.SizeBytes,
	}, nil
}

// UploadArtifact stores an input.
func (s handlers) UploadArtifact(ctx context.Context, req UploadArtifactRequestObject) (UploadArtifactResponseObject, error) {
	name := "input"
	if req.Params.Filename != nil {
		name = *req.Params.Filename
	}
	if err := checkFilename(name, "filename"); err != nil {
		return nil, err
	}
	digest, err := checkDigest(req.Params.XContentSHA256, "X-Content-SHA256")
	if err != nil {
		return nil, err
	}
	blob, err := s.receive(ctx, req.Body, artifacts.PutOptions{ExpectedSHA256: digest, MaxBytes: s.cfg.MaxInputBytes})
	if err != nil {
		return nil, err
	}
	switch a, err := s.store.FindArtifact(ctx, blob.SHA256); {
	case err == nil:
		return UploadArtifact200JSONResponse(a.Resource()), nil
	case !errors.Is(err, store.ErrNotFound):
		return nil, err
	}
	a, err := s.recordInput(ctx, name, req.ContentType, blob)
	if err != nil {
		return nil, err
	}
	return UploadArtifact201JSONResponse(a.Resource()), nil
}

func (s *Server) recordInput(ctx context.Context, name, media string, blob artifacts.Blob) (store.Artifact, error) {
	a, err := s.store.CreateArtifact(ctx, store.FileRef{
		Filename: name, ContentType: contentType(media, binary), SHA256: blob.SHA256, SizeBytes: blob.SizeBytes,
	})
	if err == nil {
		note(ctx, zap.Stringer("artifact_id", a.ID))
	}
	return a, err
}

// inRow reports whether the result that is being uploaded is small enough for its row.
func (s *Server) inRow(ctx context.Context) bool {
	n := exchangeOf(ctx).r.ContentLength
	return n >= 0 && n <= min(inrow.Limit, s.cfg.MaxResultBytes)
}

// receiveResult takes the result of a task: a small one into memory, for its
// row, any other into a blob.
func (s *Server) receiveResult(ctx context.Context, r io.Reader, opts artifacts.PutOptions) (blob artifacts.Blob, body []byte, err error) {
	if !s.inRow(ctx) {
		blob, err = s.receive(ctx, r, opts)
		return blob, nil, err
	}
	n := exchangeOf(ctx).r.ContentLength
	body = make([]byte, n)
	if _, err := io.ReadFull(r, body); err != nil {
		return blob, nil, err
	}
	if _, err := r.Read(make([]byte, 1)); err != nil && !errors.Is(err, io.EOF) {
		return blob, nil, err // the end has its deadlines too
	}
	sum := sha256.Sum256(body)
	blob = artifacts.Blob{SHA256: hex.EncodeToString(sum[:]), SizeBytes: n}
	if opts.ExpectedSHA256 != "" && opts.ExpectedSHA256 != blob.SHA256 {
		return blob, nil, fmt.Errorf("result: %w", artifacts.ErrDigestMismatch)
	}
	return blob, body, nil
}

// receive streams a body into a blob. One that breaks off leaves nothing.
func (s *Server) receive(ctx context.Context, body io.Reader, opts artifacts.PutOptions) (artifacts.Blob, error) {
	w, done, err := s.beginBlob(ctx, opts)
	if err != nil {
		return artifacts.Blob{}, err
	}
	defer done()
	if _, err := io.Copy(w, body); err != nil {
		return artifacts.Blob{}, err
	}
	return w.Commit(ctx)
}

// smallUploads bounds the uploads of at most precheckBytes that are served at
// once, and the results on their way into rows. They are in memory while they last, which is not long, so others wait for
// them: a thousand workers that end their tasks together are no reason to turn
// any away.
const smallUploads = 512

// takeUpload takes one of the upload slots.
func (s *Server) takeUpload(ctx context.Context) (release func(), err error) {
	if n := exchangeOf(ctx).r.ContentLength; n >= 0 && n <= precheckBytes {
		return s.smallUploads.wait(ctx)
	}
	release, ok := s.uploads.take()
	if !ok {
		return nil, busyf("too many uploads at once")
	}
	return release, nil
}

// beginBlob takes one of the upload slots and begins a blob. done drops what
// was not committed.
func (s *Server) beginBlob(ctx context.Context, opts artifacts.PutOptions) (w artifacts.Writer, done func(), err error) {
	release, err := s.takeUpload(ctx)
	if err != nil {
		return nil, nil, err
	}
	w, err = s.blobs.Create(ctx, opts)
	if err != nil {
		release()
		return nil, nil, err
	}
	return w, func() {
		if err := w.Abort(); err != nil {
			exchangeOf(ctx).log.Warn("staging file is left to the janitor", zap.Error(err))
		}
		release()
	}, nil
}

const binary = "application/octet-stream"

// contentType is a media type as it is stored: well-formed, or fallback.
func contentType(raw, fallback string) string {
	kind, params, err := mime.ParseMediaType(raw)
	if err != nil || len(raw) > maxContentType || !strings.Contains(kind, "/") {
		return fallback
	}
	if formatted := mime.FormatMediaType(kind, params); formatted != "" {
		return formatted
	}
	return fallback
}

// tooMuch is the fault of a part that exceeds its limit.
func tooMuch(what string, limit int) error {
	return apiErrorf(wire.CodeTooLarge, "%s exceeds %d bytes", what, limit)
}
