//go:build !unix

package pgcluster

import (
	"context"
	"errors"
	"os"
	"os/exec"
)

var errUnsupported = errors.New("a private server needs a Unix system; use a PostgreSQL server that is installed as a service")

// identity is never made here: serverIdentity, the first step of Start, fails.
type identity struct{}

func serverIdentity(string) (identity, error) { return identity{}, errUnsupported }

func (identity) own(string) error { return errUnsupported }

func (identity) checkAccess(context.Context, Installation, string) error { return errUnsupported }

func (identity) command(ctx context.Context, path string, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, path, args...)
}

func lockFile(string) (*os.File, error) { return nil, errUnsupported }

func unlockFile(*os.File) {}

func signalFast(int) error { return errUnsupported }

func signalImmediate(int) error { return errUnsupported }

func serverAlive(int, string) bool { return false }

func endOrphans(string) {}
