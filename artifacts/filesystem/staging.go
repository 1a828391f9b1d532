package filesystem

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// staged is a file in staging, locked while its writer lives.
type staged struct {
	*os.File
}

func (s *Store) stage() (*staged, error) {
	f, err := os.OpenFile(s.newStagingPath(), os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	if err != nil {
		return nil, err
	}
	st := &staged{f}
	if err := errors.Join(f.Chmod(fileMode), lock(f, shared)); err != nil {
		return nil, errors.Join(err, st.discard())
	}
	return st, nil
}

// discard removes the file.
func (st *staged) discard() error {
	err := os.Remove(st.Name())
	return errors.Join(err, st.Close())
}

// SweepStaging implements artifacts.Store. A file is swept only if its writer is
// gone, however long that writer has been silent; the cutoff covers the moment
// between the creation of a file and its lock.
func (s *Store) SweepStaging(ctx context.Context, cutoff time.Time) (int, error) {
	entries, err := os.ReadDir(s.stagingDir())
	if err != nil {
		return 0, fmt.Errorf("sweep staging: %w", pathless(err))
	}
	swept := 0
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return swept, err
		}
		gone, err := sweep(filepath.Join(s.stagingDir(), e.Name()), cutoff)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return swept, fmt.Errorf("sweep staging: %w", pathless(err))
		}
		if gone {
			swept++
		}
	}
	return swept, nil
}

func sweep(path string, cutoff time.Time) (bool, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return false, err
	}
	defer f.Close() // nothing was written

	info, err := f.Stat()
	if err != nil || !info.ModTime().Before(cutoff) {
		return false, err
	}
	if free, err := tryLock(f); !free {
		return false, err
	}
	return true, os.Remove(path)
}
