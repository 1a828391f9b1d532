//go:build unix

package worker

import (
	"errors"
	"os"
	"syscall"
)

// unlock gives the lock up at once. Closing alone would keep it for as long as a
// child of this process, between its fork and its exec, holds a copy of f.
func unlock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }

func lockExclusively(f *os.File) error {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return ErrWorkDirInUse
		}
		return err
	}
}
