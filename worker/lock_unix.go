//go:build unix

package worker

import (
	"errors"
	"os"
	"syscall"
)

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
