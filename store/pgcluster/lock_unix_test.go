//go:build unix

package pgcluster

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// A process that forks while it holds the lock gives the child a copy of the
// file, which must not keep the lock.
func TestUnlockFileDespiteACopy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	f, err := lockFile(path)
	if err != nil {
		t.Fatal(err)
	}
	child := exec.Command("cat")
	in, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	child.ExtraFiles = []*os.File{f}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = in.Close()
		_ = child.Wait()
	}()
	if _, err := lockFile(path); err == nil {
		t.Fatal("locked twice")
	}
	unlockFile(f)
	again, err := lockFile(path)
	if err != nil {
		t.Fatalf("a copy of the file keeps the lock: %v", err)
	}
	unlockFile(again)
}
