package worker

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// unlock does nothing: closing the only handle gives the lock up.
func unlock(*os.File) error { return nil }

// lockExclusively locks a byte far behind the end, so that others can read the file.
func lockExclusively(f *os.File) error {
	at := windows.Overlapped{OffsetHigh: 1}
	err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &at)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return ErrWorkDirInUse
	}
	return err
}
