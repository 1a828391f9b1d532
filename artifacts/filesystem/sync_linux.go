package filesystem

import (
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

const canJournal = true

// syncFilesystem makes everything durable that was written to the file system of dir.
func syncFilesystem(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return os.NewSyscallError("syncfs", unix.Syncfs(int(f.Fd())))
}

// datasync makes the bytes of a file durable, not its times.
func datasync(f *os.File) error {
	return os.NewSyscallError("fdatasync", unix.Fdatasync(int(f.Fd())))
}

// bootID names the time since the machine was started; empty if it cannot be known.
func bootID() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if text := strings.TrimSpace(string(id)); err == nil && len(text) == bootIDLen {
		return text
	}
	return ""
}
