//go:build !(darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd)

package filesystem

import (
	"errors"
	"os"
)

type lockMode int

const (
	shared lockMode = iota
	exclusive
)

var errNoLocks = errors.New("no flock on this platform, which a shared folder needs")

// Without locks New fails, so nothing here is reached later.

func lock(*os.File, lockMode) error  { return errNoLocks }
func unlockFile(*os.File) error      { return errNoLocks }
func tryLock(*os.File) (bool, error) { return false, errNoLocks }
func isFull(error) bool              { return false }
