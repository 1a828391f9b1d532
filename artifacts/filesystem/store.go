package filesystem

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/google/uuid"

	"scimesh.dev/scimesh/artifacts"
)

const (
	dirMode  = 0o700
	fileMode = 0o600

	// DefaultSyncConcurrency is enough for a disk to merge many flushes, and
	// few enough threads.
	DefaultSyncConcurrency = 16
)

// Options tunes a Store. The zero value works.
type Options struct {
	// SyncConcurrency is how many commits may do I/O at once;
	// DefaultSyncConcurrency if it is not positive.
	SyncConcurrency int
	// Journal makes blobs of at most 64 KiB durable together, in a journal, and
	// leaves their own files to the system. It is for Linux, and ignored elsewhere.
	Journal bool
}

// A Store is an artifacts.Store in a folder.
type Store struct {
	root    string
	slots   chan struct{}
	dirs    [256]dirSync
	journal *journal // nil without one
	stats   counters

	// fsync is (*os.File).Sync, or what a test puts in its place; datasync is
	// its cheaper relative.
	fsync    func(*os.File) error
	datasync func(*os.File) error
}

var _ artifacts.Store = (*Store)(nil)

// New opens the store in the folder root and creates what is missing. It
// returns an error if the folder cannot be written.
func New(root string, opts Options) (*Store, error) {
	if root == "" {
		return nil, errors.New("artifact store: no folder given")
	}
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, fmt.Errorf("artifact store: %w", err)
	}
	n := opts.SyncConcurrency
	if n <= 0 {
		n = DefaultSyncConcurrency
	}
	s := &Store{root: root, slots: make(chan struct{}, n), fsync: (*os.File).Sync, datasync: datasync}
	boot := bootID()
	err = s.layOut()
	if err == nil {
		err = s.recoverJournals(boot)
	}
	if err != nil {
		return nil, fmt.Errorf("artifact store %s: %w", root, pathless(err))
	}
	if opts.Journal && canJournal {
		s.journal = &journal{store: s, limit: segmentSize, boot: fmt.Sprintf("%-*s", bootIDLen, boot)}
	}
	return s, nil
}

// Open implements artifacts.Store.
func (s *Store) Open(ctx context.Context, sha256 string) (artifacts.Reader, error) {
	if err := check(ctx, sha256); err != nil {
		return nil, err
	}
	f, err := os.Open(s.blobPath(sha256))
	if err != nil {
		return nil, blobError("open", sha256, err)
	}
	info, err := f.Stat()
	if err != nil {
		f.Close() // read only
		return nil, blobError("open", sha256, err)
	}
	return &reader{File: f, size: info.Size()}, nil
}

// reader embeds the file, so that net/http can send it with sendfile(2).
type reader struct {
	*os.File
	size int64
}

func (r *reader) Size() int64 { return r.size }

// Stat implements artifacts.Store.
func (s *Store) Stat(ctx context.Context, sha256 string) (artifacts.Info, error) {
	if err := check(ctx, sha256); err != nil {
		return artifacts.Info{}, err
	}
	info, err := os.Lstat(s.blobPath(sha256))
	if err != nil {
		return artifacts.Info{}, blobError("stat", sha256, err)
	}
	return makeInfo(sha256, info), nil
}

// Delete implements artifacts.Store.
func (s *Store) Delete(ctx context.Context, sha256 string) error {
	_, err := s.deleteIf(ctx, sha256, func(fs.FileInfo) bool { return true })
	return err
}

// DeleteIfOlder implements artifacts.Store.
func (s *Store) DeleteIfOlder(ctx context.Context, sha256 string, cutoff time.Time) (bool, error) {
	return s.deleteIf(ctx, sha256, func(info fs.FileInfo) bool { return info.ModTime().Before(cutoff) })
}

// deleteIf unlinks a blob on which old says yes, with every Put of the prefix
// locked out between the question and the deed. The folder is not synced: a
// deletion that a power cut undoes leaves a blob that can be deleted again.
func (s *Store) deleteIf(ctx context.Context, sha256 string, old func(fs.FileInfo) bool) (bool, error) {
	if err := check(ctx, sha256); err != nil {
		return false, err
	}
	unlock, err := s.lockPrefix(sha256, exclusive)
	if err != nil {
		return false, blobError("lock", sha256, err)
	}
	defer unlock()

	info, err := os.Lstat(s.blobPath(sha256))
	if errors.Is(err, fs.ErrNotExist) || err == nil && !old(info) {
		return false, nil
	}
	if err == nil {
		err = os.Remove(s.blobPath(sha256))
	}
	if err != nil {
		return false, blobError("delete", sha256, err)
	}
	return true, nil
}

func check(ctx context.Context, sha256 string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return artifacts.CheckDigest(sha256)
}

func makeInfo(sha256 string, info fs.FileInfo) artifacts.Info {
	return artifacts.Info{
		Blob:    artifacts.Blob{SHA256: sha256, SizeBytes: info.Size()},
		ModTime: info.ModTime().UTC(),
	}
}

// The digest of these paths has been checked, so they stay under the root.

func (s *Store) blobDir(sha256 string) string  { return filepath.Join(s.root, "sha256", sha256[:2]) }
func (s *Store) blobPath(sha256 string) string { return filepath.Join(s.blobDir(sha256), sha256) }
func (s *Store) newStagingPath() string        { return filepath.Join(s.stagingDir(), uuid.NewString()) }
func (s *Store) stagingDir() string            { return filepath.Join(s.root, "staging") }
