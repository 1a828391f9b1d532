// Package blobfiles gives workloads files in the artifact store.
package blobfiles

import (
	"context"
	"io"

	"scimesh.dev/scimesh/artifacts"
	"scimesh.dev/scimesh/store"
	"scimesh.dev/scimesh/workloads"
)

// Files creates files as blobs. A committed file that no row of the database
// names in the end is an unreferenced blob, which the janitor removes.
type Files struct{ Store artifacts.Store }

var _ workloads.Files = Files{}

// Create begins a file. The context must live until Commit or Abort.
func (f Files) Create(ctx context.Context, name, contentType string) (workloads.FileWriter, error) {
	w, err := f.Store.Create(ctx, artifacts.PutOptions{})
	if err != nil {
		return nil, err
	}
	return &writer{ctx: ctx, w: w, name: name, contentType: contentType}, nil
}

// writer is one file; it keeps the context of Create for Commit, since a
// workload's files live within one call of the workload.
type writer struct {
	ctx               context.Context
	w                 artifacts.Writer
	name, contentType string
}

func (w *writer) Write(p []byte) (int, error) { return w.w.Write(p) }

func (w *writer) Commit() (workloads.File, error) {
	blob, err := w.w.Commit(w.ctx)
	if err != nil {
		return workloads.File{}, err
	}
	return workloads.File{Name: w.name, ContentType: w.contentType, SHA256: blob.SHA256, SizeBytes: blob.SizeBytes}, nil
}

func (w *writer) Abort() { _ = w.w.Abort() } // what remains goes with the next sweep of staging

// Opener returns a function that opens the blob for one checked reading, in
// the form that workload requests want.
func (f Files) Opener(blob artifacts.Blob) func(context.Context) (io.ReadCloser, error) {
	return func(ctx context.Context) (io.ReadCloser, error) {
		return artifacts.OpenVerified(ctx, f.Store, blob)
	}
}

// Ref is the committed file in the form that the store records.
func Ref(f workloads.File) store.FileRef {
	return store.FileRef{Filename: f.Name, ContentType: f.ContentType, SHA256: f.SHA256, SizeBytes: f.SizeBytes}
}
