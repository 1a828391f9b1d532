package worker

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/uuid"
)

const (
	lockFile     = "lock"
	identityFile = "worker.json"
	tasksDir     = "tasks"
	failedDir    = "failed"
)

// ErrWorkDirInUse says that another process works in the work dir.
var ErrWorkDirInUse = errors.New("work dir is in use by another worker process")

// workDir is a locked work dir.
type workDir struct {
	path  string
	lock  *os.File
	cache *cache
}

// identity is what makes a restarted worker the same worker.
type identity struct {
	WorkerID uuid.UUID `json:"worker_id"`
	Name     string    `json:"name"`
}

// openWorkDir makes the work dir if need be and locks it. The lock goes with the process.
func openWorkDir(path string) (*workDir, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("work dir: %w", err)
	}
	for _, dir := range []string{path, filepath.Join(path, tasksDir)} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("work dir: %w", err)
		}
	}
	lock, err := os.OpenFile(filepath.Join(path, lockFile), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("work dir: %w", err)
	}
	if err := lockExclusively(lock); err != nil {
		holder, _ := os.ReadFile(lock.Name())
		_ = lock.Close()
		if pid := strings.TrimSpace(string(holder)); pid != "" && errors.Is(err, ErrWorkDirInUse) {
			err = fmt.Errorf("%w (process %s)", err, pid)
		}
		return nil, fmt.Errorf("work dir %s: %w", path, err)
	}
	d := &workDir{path: path, lock: lock}
	if err := d.writePID(); err != nil {
		d.close()
		return nil, fmt.Errorf("work dir: %w", err)
	}
	return d, nil
}

func (d *workDir) writePID() error {
	if err := d.lock.Truncate(0); err != nil {
		return err
	}
	_, err := d.lock.WriteAt(fmt.Appendf(nil, "%d\n", os.Getpid()), 0)
	return err
}

func (d *workDir) close() {
	_ = unlock(d.lock)
	_ = d.lock.Close()
}

// identity returns the kept identity, zero if there is none. A damaged file is
// an error that the caller may take for none: identities are cheap.
func (d *workDir) identity() (identity, error) {
	var id identity
	raw, err := os.ReadFile(filepath.Join(d.path, identityFile))
	if errors.Is(err, fs.ErrNotExist) {
		return id, nil
	}
	if err != nil {
		return id, err
	}
	if err := json.Unmarshal(raw, &id); err != nil {
		return identity{}, fmt.Errorf("%s: %w", identityFile, err)
	}
	return id, nil
}

func (d *workDir) saveIdentity(id identity) error {
	return writeJSON(filepath.Join(d.path, identityFile), id)
}

// taskDirs returns the folders of tasks that an earlier process left, oldest claim first by name.
func (d *workDir) taskDirs() ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(d.path, tasksDir))
	if err != nil {
		return nil, err
	}
	var dirs []string
	for _, e := range entries {
		dirs = append(dirs, filepath.Join(d.path, tasksDir, e.Name()))
	}
	return dirs, nil
}

// keepFailed moves the folder of a failed task aside and removes all but the
// newest keep of those. It returns the bytes that are gone from the work dir.
func (d *workDir) keepFailed(dir string, keep int) (freed int64, err error) {
	parent := filepath.Join(d.path, failedDir)
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return 0, err
	}
	dst := filepath.Join(parent, filepath.Base(dir))
	freed = sizeOf(dst)
	if err := os.RemoveAll(dst); err != nil {
		return 0, err
	}
	if err := os.Rename(dir, dst); err != nil {
		return freed, err
	}
	entries, err := os.ReadDir(parent)
	if err != nil {
		return freed, err
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return modTime(a).Compare(modTime(b)) })
	for _, e := range entries[:max(0, len(entries)-keep)] {
		path := filepath.Join(parent, e.Name())
		size := sizeOf(path)
		if err := os.RemoveAll(path); err != nil {
			return freed, err
		}
		freed += size
	}
	return freed, nil
}

// dropFailed removes the folders of failed tasks and returns their bytes.
func (d *workDir) dropFailed() (freed int64) {
	parent := filepath.Join(d.path, failedDir)
	freed = sizeOf(parent)
	if err := os.RemoveAll(parent); err != nil {
		return 0
	}
	return freed
}

// writeJSON replaces a file by the JSON of v, whole or not at all, readable by
// this user alone.
func writeJSON(path string, v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return err
	}
	tmp := path + ".tmp"
	if err := os.WriteFile(tmp, append(raw, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(tmp, path)
}
