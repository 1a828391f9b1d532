//go:build !linux

package filesystem

import (
	"errors"
	"os"
)

// Without syncfs(2) there is no journal, so small blobs are synced one by one.
const canJournal = false

var errNoSyncfs = errors.New("a journal was left here that only Linux can replay")

func syncFilesystem(string) error { return errNoSyncfs }
func datasync(f *os.File) error   { return f.Sync() }
func bootID() string              { return "" }
