package filesystem

import (
	"os"
	"path/filepath"
)

// lockPrefix locks the names of all blobs that share the first two digits with
// sha256, against every goroutine and process, until unlock is called.
func (s *Store) lockPrefix(sha256 string, mode lockMode) (unlock func(), err error) {
	return s.lockName(sha256[:2], mode)
}

// lockName is lockPrefix for any file in locks.
func (s *Store) lockName(name string, mode lockMode) (unlock func(), err error) {
	f, err := os.OpenFile(filepath.Join(s.root, "locks", name), os.O_RDWR|os.O_CREATE, fileMode)
	if err != nil {
		return nil, err
	}
	if err := lock(f, mode); err != nil {
		f.Close() // nothing was written
		return nil, err
	}
	return func() {
		// Closing alone would keep the lock for as long as a child of this
		// process, between its fork and its exec, holds a copy of f.
		_ = unlockFile(f)
		f.Close() // nothing was written
	}, nil
}
