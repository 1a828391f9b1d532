// Package inrow finds small blobs in the rows of the artifacts that they are.
//
// A result of a few hundred bytes costs more as a file than as a part of its
// row: a file is created, written, renamed and synced, while the row is
// written anyway, and becomes durable with the same commit. So the coordinator
// keeps small results in their rows, and this package makes them readable like
// every other blob. Such a blob comes with its row and goes with it: it is
// neither listed nor deleted here.
package inrow

import (
	"bytes"
	"context"
	"errors"
	"time"

	"scimesh.dev/scimesh/artifacts"
)

// Limit is the size up to which a blob is kept in its row. PostgreSQL moves
// longer values of about 2 KB out of the row's page, still at less than the
// cost of a file.
const Limit = 8 << 10

// Rows reads the bodies that rows hold.
type Rows interface {
	// ArtifactBody returns the body of any artifact of that digest that holds
	// one, and when it was written; ok is false if none does.
	ArtifactBody(ctx context.Context, sha256 string) (body []byte, written time.Time, ok bool, err error)
}

// Store is a blob store whose blobs may be in rows as well. What is not read
// is the embedded store's alone.
type Store struct {
	artifacts.Store
	Rows Rows
}

// Open implements artifacts.Store.
func (s Store) Open(ctx context.Context, sha256 string) (artifacts.Reader, error) {
	r, err := s.Store.Open(ctx, sha256)
	if !errors.Is(err, artifacts.ErrNotFound) {
		return r, err
	}
	body, _, ok, rowErr := s.Rows.ArtifactBody(ctx, sha256)
	switch {
	case rowErr != nil:
		return nil, rowErr
	case !ok:
		return nil, err
	}
	return reader{bytes.NewReader(body)}, nil
}

// Stat implements artifacts.Store.
func (s Store) Stat(ctx context.Context, sha256 string) (artifacts.Info, error) {
	info, err := s.Store.Stat(ctx, sha256)
	if !errors.Is(err, artifacts.ErrNotFound) {
		return info, err
	}
	body, written, ok, rowErr := s.Rows.ArtifactBody(ctx, sha256)
	switch {
	case rowErr != nil:
		return artifacts.Info{}, rowErr
	case !ok:
		return artifacts.Info{}, err
	}
	return artifacts.Info{Blob: artifacts.Blob{SHA256: sha256, SizeBytes: int64(len(body))}, ModTime: written}, nil
}

// reader is an artifacts.Reader over bytes in memory.
type reader struct{ *bytes.Reader }

func (reader) Close() error { return nil }
