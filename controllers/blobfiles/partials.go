package blobfiles

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/google/uuid"

	"scimesh.dev/scimesh/artifacts"
	"scimesh.dev/scimesh/store"
	"scimesh.dev/scimesh/workloads"
)

// Results lists the partial results of a Job.
type Results interface {
	ListCompletedResults(ctx context.Context, job uuid.UUID, after int32, limit int) ([]store.PartialResult, error)
}

// resultsPage is how many partial results are listed at a time.
const resultsPage = 500

// Partials yields the partial results in order of chunk index, a page at a
// time. An error in opening or reading one names its chunk.
func (f Files) Partials(ctx context.Context, s Results, job uuid.UUID) iter.Seq2[workloads.Partial, error] {
	return func(yield func(workloads.Partial, error) bool) {
		for after := int32(-1); ; {
			page, err := s.ListCompletedResults(ctx, job, after, resultsPage)
			if err != nil {
				yield(workloads.Partial{}, fmt.Errorf("list partial results: %w", err))
				return
			}
			for _, p := range page {
				after = p.ChunkIndex
				if !yield(f.partial(p), nil) {
					return
				}
			}
			if len(page) < resultsPage {
				return
			}
		}
	}
}

func (f Files) partial(p store.PartialResult) workloads.Partial {
	open := f.Opener(artifacts.Blob{SHA256: p.Artifact.SHA256, SizeBytes: p.Artifact.SizeBytes})
	file := workloads.File{Name: p.Filename, ContentType: p.ContentType, SHA256: p.Artifact.SHA256, SizeBytes: p.Artifact.SizeBytes}
	return workloads.Partial{ChunkIndex: p.ChunkIndex, Notes: p.Notes, File: file, Open: func(ctx context.Context) (io.ReadCloser, error) {
		f, err := open(ctx)
		if err != nil {
			return nil, blobError(p.ChunkIndex, err)
		}
		return &partialReader{ReadCloser: f, chunk: p.ChunkIndex}, nil
	}}
}

// partialReader names the chunk in the error of a damaged blob, whatever the workload makes of it.
type partialReader struct {
	io.ReadCloser
	chunk int32
}

func (p *partialReader) Read(b []byte) (int, error) {
	n, err := p.ReadCloser.Read(b)
	if err == nil || errors.Is(err, io.EOF) {
		return n, err
	}
	return n, blobError(p.chunk, err)
}

// blobError tells a damaged or missing blob, which the task has to make again,
// from a fault of the machine, which passes.
func blobError(chunk int32, err error) error {
	if errors.Is(err, artifacts.ErrCorrupt) || errors.Is(err, artifacts.ErrNotFound) {
		return &workloads.PartialError{ChunkIndex: chunk, Err: err}
	}
	return fmt.Errorf("partial result of chunk %d: %w", chunk, err)
}

// PartialMessage says what is wrong with a partial result, for users.
func PartialMessage(err error) string {
	var user *workloads.Error
	switch {
	case errors.As(err, &user):
		return user.Message
	case errors.Is(err, artifacts.ErrCorrupt):
		return "the stored partial result differs from its checksum"
	case errors.Is(err, artifacts.ErrNotFound):
		return "the stored partial result is gone"
	}
	return "the stored partial result cannot be read"
}
