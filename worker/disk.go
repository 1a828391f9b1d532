package worker

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync"
	"syscall"
)

// disk counts the bytes under the work dir against a limit; 0 is no limit.
type disk struct {
	limit int64

	mu   sync.Mutex
	used int64
}

// take books n bytes (fewer than none gives back), or returns errInsufficientDisk and books none.
func (d *disk) take(n int64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if n > 0 && d.limit > 0 && d.used+n > d.limit {
		return errInsufficientDisk
	}
	d.used += n
	return nil
}

// fits reports whether n bytes could be booked now.
func (d *disk) fits(n int64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.limit > 0 && d.used+n > d.limit {
		return errInsufficientDisk
	}
	return nil
}

func (d *disk) give(n int64) {
	d.mu.Lock()
	d.used -= n
	d.mu.Unlock()
}

// diskError gives a fault of the work dir its meaning: it is the machine's, not
// the task's. A full file system is like a reached limit.
func diskError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return errInsufficientDisk
	}
	return fmt.Errorf("%w: %w", errLocalStorage, err)
}

// machineFault reports whether err is one after which the task is handed back,
// since another machine may be well.
func machineFault(err error) bool {
	return errors.Is(err, errInsufficientDisk) || errors.Is(err, errLocalStorage)
}

// sizeOf returns the bytes in the files under path; what cannot be read counts as nothing.
func sizeOf(path string) int64 {
	var n int64
	_ = filepath.WalkDir(path, func(_ string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			if info, err := e.Info(); err == nil {
				n += info.Size()
			}
		}
		return nil
	})
	return n
}
