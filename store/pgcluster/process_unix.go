//go:build unix

package pgcluster

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// lockFile takes the exclusive lock on path, which ends with this process at the latest.
func lockFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("%w: %s is locked", ErrInUse, path)
		}
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return f, nil
}

// unlockFile gives the lock up at once. Closing alone would keep it for as long
// as a child of this process, between its fork and its exec, holds a copy of f.
func unlockFile(f *os.File) {
	_ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN)
	_ = f.Close()
}

func signalFast(pid int) error      { return ignoreGone(syscall.Kill(pid, syscall.SIGINT)) }
func signalImmediate(pid int) error { return ignoreGone(syscall.Kill(pid, syscall.SIGQUIT)) }

func ignoreGone(err error) error {
	if errors.Is(err, syscall.ESRCH) {
		return nil
	}
	return err
}

// serverAlive reports whether pid is a live server process on dataDir. Another
// process may have inherited the number of a dead server, and a dead one may
// wait, as a zombie, for a parent that never asks. Linux shows a process's name,
// state and, where this process has the right to look, folder: a server works in
// its data folder. Elsewhere any live process counts.
func serverAlive(pid int, dataDir string) bool {
	if err := syscall.Kill(pid, 0); err != nil && !errors.Is(err, syscall.EPERM) {
		return false
	}
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		_, procErr := os.Stat("/proc/self/stat")
		return procErr != nil
	}
	if !isLivePostgres(string(stat)) {
		return false
	}
	cwd, err := os.Readlink(filepath.Join("/proc", strconv.Itoa(pid), "cwd"))
	if errors.Is(err, fs.ErrPermission) {
		return true
	}
	return err == nil && cwd == dataDir
}

// isLivePostgres reads a line of /proc/PID/stat: "PID (NAME) STATE …".
func isLivePostgres(stat string) bool {
	_, rest, _ := strings.Cut(stat, "(")
	name, rest, ok := strings.Cut(rest, ") ")
	return ok && name == "postgres" && !strings.HasPrefix(rest, "Z") && !strings.HasPrefix(rest, "X")
}

// endOrphans ends the backends that a killed server left working in dataDir,
// where Linux shows them. They could not be stopped by their server any more, and
// another one refuses to start beside them.
func endOrphans(dataDir string) {
	links, _ := filepath.Glob("/proc/[0-9]*/cwd") // fails for a malformed pattern only
	for _, link := range links {
		if cwd, err := os.Readlink(link); err != nil || cwd != dataDir {
			continue
		}
		pid, err := strconv.Atoi(strings.Split(link, "/")[2])
		if err == nil && serverAlive(pid, dataDir) {
			_ = signalImmediate(pid) // where this has no effect, the server's own check is left
		}
	}
}
