package filesystem

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"

	"scimesh.dev/scimesh/artifacts"
)

const (
	firstBuffer = 4 << 10
	lastBuffer  = 64 << 10
)

var errWriterDone = errors.New("write to a blob that was committed or aborted")

// Create implements artifacts.Store. It does no I/O.
func (s *Store) Create(ctx context.Context, opts artifacts.PutOptions) (artifacts.Writer, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if opts.ExpectedSHA256 != "" {
		if err := artifacts.CheckDigest(opts.ExpectedSHA256); err != nil {
			return nil, err
		}
	}
	return &writer{store: s, opts: opts, hash: sha256.New()}, nil
}

// writer gathers bytes in buf, which grows to lastBuffer; once that is full,
// they go to the staging file.
type writer struct {
	store  *Store
	opts   artifacts.PutOptions
	hash   hash.Hash
	size   int64 // bytes accepted
	buf    []byte
	staged *staged // nil while all bytes are in buf
	err    error   // of an earlier call; the writer is then of no more use
}

// Write implements io.Writer.
func (w *writer) Write(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		room, err := w.room()
		if err != nil {
			return n, err
		}
		k := copy(room, p[n:])
		if err := w.accept(k); err != nil {
			return n, err
		}
		n += k
	}
	return n, w.err
}

// ReadFrom implements io.ReaderFrom: it reads straight into the buffer.
func (w *writer) ReadFrom(r io.Reader) (int64, error) {
	start := w.size
	for {
		room, err := w.room()
		if err != nil {
			return w.size - start, err
		}
		n, err := r.Read(room)
		if err := w.accept(n); err != nil {
			return w.size - start, err
		}
		if errors.Is(err, io.EOF) {
			return w.size - start, nil
		}
		if err != nil {
			return w.size - start, err
		}
	}
}

// room returns the free part of the buffer, after making some.
func (w *writer) room() ([]byte, error) {
	switch {
	case w.err != nil:
		return nil, w.err
	case w.buf == nil:
		w.buf = make([]byte, 0, firstBuffer)
	case len(w.buf) == cap(w.buf) && cap(w.buf) < lastBuffer:
		w.buf = append(make([]byte, 0, 4*cap(w.buf)), w.buf...)
	case len(w.buf) == cap(w.buf):
		if err := w.flush(); err != nil {
			return nil, err
		}
	}
	return w.buf[len(w.buf):cap(w.buf)], nil
}

// accept takes over n bytes that were put into room.
func (w *writer) accept(n int) error {
	if limit := w.opts.MaxBytes; limit > 0 && w.size+int64(n) > limit {
		w.err = fmt.Errorf("write blob: %w: more than %d bytes", artifacts.ErrTooLarge, limit)
		return w.err
	}
	w.buf = w.buf[:len(w.buf)+n]
	w.size += int64(n)
	w.hash.Write(w.buf[len(w.buf)-n:])
	return nil
}

// flush moves the buffer to the staging file.
func (w *writer) flush() error {
	if w.err == nil && w.staged == nil {
		w.staged, w.err = w.store.stage()
	}
	if w.err == nil {
		_, w.err = w.staged.Write(w.buf)
		w.buf = w.buf[:0]
	}
	if w.err != nil {
		w.err = fmt.Errorf("write blob: %w", pathless(w.err))
	}
	return w.err
}

// Commit implements artifacts.Writer.
func (w *writer) Commit(ctx context.Context) (artifacts.Blob, error) {
	defer w.Abort() //nolint:errcheck // drops the staging file unless it was published

	if err := errors.Join(w.err, ctx.Err()); err != nil {
		return artifacts.Blob{}, err
	}
	blob := artifacts.Blob{SHA256: hex.EncodeToString(w.hash.Sum(nil)), SizeBytes: w.size}
	if want := w.opts.ExpectedSHA256; want != "" && want != blob.SHA256 {
		return artifacts.Blob{}, fmt.Errorf("write blob: %w: got %s, want %s", artifacts.ErrDigestMismatch, blob.SHA256, want)
	}
	if err := w.store.commit(ctx, w, blob.SHA256); err != nil {
		return artifacts.Blob{}, fmt.Errorf("write blob %s: %w", blob.SHA256, pathless(err))
	}
	w.store.stats.blobs.Add(1)
	w.store.stats.bytes.Add(w.size)
	return blob, nil
}

// Abort implements artifacts.Writer.
func (w *writer) Abort() error {
	if w.err == nil {
		w.err = errWriterDone
	}
	w.buf = nil
	if w.staged == nil {
		return nil
	}
	st := w.staged
	w.staged = nil
	if err := st.discard(); err != nil {
		return fmt.Errorf("abort blob: %w", pathless(err))
	}
	return nil
}
