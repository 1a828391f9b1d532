package filesystem

import (
	"path/filepath"
	"syscall"
	"testing"
)

func TestFullDisk(t *testing.T) {
	root := t.TempDir()
	if err := syscall.Mount("tmpfs", root, "tmpfs", 0, "size=2m,mode=700"); err != nil {
		t.Skipf("mounting a small tmpfs: %v (TestFileSizeLimit covers the same path)", err)
	}
	defer syscall.Unmount(root, 0) //nolint:errcheck // the folder is the test's own

	s := openStore(t, root)
	if err := fillUp(s, 4<<20); err != nil {
		t.Error(err)
	}
	if left := files(t, s.stagingDir()); len(left) != 0 {
		t.Errorf("left in staging: %v", left)
	}
	if got := files(t, filepath.Join(root, "sha256")); len(got) != 1 {
		t.Errorf("blobs %v, want only the one that fits", got)
	}
}
