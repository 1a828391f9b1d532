package filesystem

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// layOut creates every folder of the store, makes them durable, and proves that
// staging can be written. The prefixes are all made here, so that a write
// finds its folder and need not sync the one above.
func (s *Store) layOut() error {
	if err := s.makeDirAll(s.root); err != nil {
		return err
	}
	for _, name := range []string{"sha256", "staging", "locks", "journal"} {
		if err := s.makeDir(filepath.Join(s.root, name)); err != nil {
			return err
		}
	}
	for i := range s.dirs {
		if err := s.makeDir(filepath.Join(s.root, "sha256", fmt.Sprintf("%02x", i))); err != nil {
			return err
		}
	}
	for _, dir := range []string{filepath.Join(s.root, "sha256"), s.root} {
		if err := s.syncPath(dir); err != nil {
			return err
		}
	}
	return s.probe()
}

// makeDirAll creates dir and what is missing above it; each folder that gains
// an entry is synced.
func (s *Store) makeDirAll(dir string) error {
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		return fmt.Errorf("%w: not a folder", fs.ErrInvalid)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	parent := filepath.Dir(dir)
	if err := s.makeDirAll(parent); err != nil {
		return err
	}
	if err := s.makeDir(dir); err != nil {
		return err
	}
	return s.syncPath(parent)
}

// makeDir creates dir with its exact mode, whatever the umask, or leaves it as
// it is.
func (s *Store) makeDir(dir string) error {
	err := os.Mkdir(dir, dirMode)
	if errors.Is(err, fs.ErrExist) {
		return nil // by an earlier start, or another process just now
	}
	if err != nil {
		return err
	}
	return os.Chmod(dir, dirMode)
}

// probe stages a file, locks it and removes it.
func (s *Store) probe() error {
	st, err := s.stage()
	if err != nil {
		return err
	}
	_, err = st.Write([]byte{0})
	return errors.Join(err, st.discard())
}

func (s *Store) syncPath(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close() // read only
	return s.fsync(f)
}
