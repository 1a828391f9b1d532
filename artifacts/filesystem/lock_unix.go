//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package filesystem

import (
	"errors"
	"os"
	"syscall"
)

type lockMode int

const (
	shared    lockMode = syscall.LOCK_SH
	exclusive lockMode = syscall.LOCK_EX
)

// lock waits for a lock on f, which lasts until unlockFile.
func lock(f *os.File, mode lockMode) error {
	return flock(f, int(mode))
}

func unlockFile(f *os.File) error { return flock(f, syscall.LOCK_UN) }

// tryLock takes an exclusive lock on f, or reports that another holds one.
func tryLock(f *os.File) (bool, error) {
	err := flock(f, syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

func flock(f *os.File, how int) error {
	for {
		err := syscall.Flock(int(f.Fd()), how)
		if !errors.Is(err, syscall.EINTR) {
			return os.NewSyscallError("flock", err)
		}
	}
}

// isFull says whether err means that the medium, a quota or a limit on the size
// of files is exhausted.
func isFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG)
}
