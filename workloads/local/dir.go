package local

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"scimesh.dev/scimesh/workloads"
)

// Dir keeps files in a folder, by their digest: equal bytes are one file. It is
// made for one run: nothing is synced to the disk.
type Dir struct {
	path    string
	mu      sync.Mutex
	created int
}

// NewDir returns a Dir in an existing folder.
func NewDir(path string) *Dir { return &Dir{path: path} }

// Create implements workloads.Files.
func (d *Dir) Create(ctx context.Context, name, contentType string) (workloads.FileWriter, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	d.mu.Lock()
	d.created++
	staging := filepath.Join(d.path, "staging-"+strconv.Itoa(d.created))
	d.mu.Unlock()
	f, err := os.OpenFile(staging, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, withoutPath(err)
	}
	w := &dirWriter{dir: d, f: f, digest: sha256.New(), file: workloads.File{Name: name, ContentType: contentType}}
	w.buf = bufio.NewWriter(io.MultiWriter(f, w.digest))
	return w, nil
}

// Open opens a committed file.
func (d *Dir) Open(sha256 string) (*os.File, error) {
	f, err := os.Open(d.name(sha256))
	return f, withoutPath(err)
}

func (d *Dir) name(sha256 string) string { return filepath.Join(d.path, "blob-"+sha256) }

// withoutPath drops the path of a file error: it means nothing to a user.
func withoutPath(err error) error {
	var p *os.PathError
	var l *os.LinkError
	switch {
	case errors.As(err, &p):
		return fmt.Errorf("%s temporary file: %w", p.Op, p.Err)
	case errors.As(err, &l):
		return fmt.Errorf("%s temporary file: %w", l.Op, l.Err)
	}
	return err
}

type dirWriter struct {
	dir    *Dir
	f      *os.File // nil once committed or aborted
	buf    *bufio.Writer
	digest hash.Hash
	file   workloads.File
}

func (w *dirWriter) Write(p []byte) (int, error) {
	n, err := w.buf.Write(p)
	w.file.SizeBytes += int64(n)
	return n, withoutPath(err)
}

func (w *dirWriter) Commit() (workloads.File, error) {
	defer w.Abort()
	if err := w.buf.Flush(); err != nil {
		return workloads.File{}, withoutPath(err)
	}
	w.file.SHA256 = hex.EncodeToString(w.digest.Sum(nil))
	if err := w.f.Close(); err != nil {
		return workloads.File{}, withoutPath(err)
	}
	if err := os.Rename(w.f.Name(), w.dir.name(w.file.SHA256)); err != nil {
		return workloads.File{}, withoutPath(err)
	}
	w.f = nil
	return w.file, nil
}

func (w *dirWriter) Abort() {
	if w.f == nil {
		return
	}
	_ = w.f.Close() // may be closed already
	_ = os.Remove(w.f.Name())
	w.f = nil
}
