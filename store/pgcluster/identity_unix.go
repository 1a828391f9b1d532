//go:build unix

package pgcluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// identity is the user that the server runs as. The zero value is this
// process's own user.
type identity struct {
	name     string
	uid, gid int
	switched bool // this process is root and gives up its rights for the server
}

// serverIdentity returns the user to run the server as. Only root has a choice:
// the user named, else postgres, else nobody.
func serverIdentity(name string) (identity, error) {
	if os.Geteuid() != 0 {
		return identity{uid: os.Geteuid(), gid: os.Getegid()}, nil
	}
	names := []string{name}
	if name == "" {
		names = []string{"postgres", "nobody"}
	}
	var lookupErr error
	for _, name := range names {
		u, err := user.Lookup(name)
		if err != nil {
			lookupErr = err
			continue
		}
		uid, uidErr := strconv.Atoi(u.Uid)
		gid, gidErr := strconv.Atoi(u.Gid)
		if err := errors.Join(uidErr, gidErr); err != nil {
			return identity{}, fmt.Errorf("user %s: %w", name, err)
		}
		if uid == 0 {
			return identity{}, fmt.Errorf("user %s is root, as which PostgreSQL refuses to run", name)
		}
		return identity{name: name, uid: uid, gid: gid, switched: true}, nil
	}
	return identity{}, fmt.Errorf("PostgreSQL refuses to run as root, and no other user was found: %w", lookupErr)
}

// command prepares a program of PostgreSQL to run as id, in a session of its own.
func (id identity) command(ctx context.Context, path string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if id.switched {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(id.uid), Gid: uint32(id.gid)}
	}
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "TZ=UTC"}
	return cmd
}

// own gives path to the server's user.
func (id identity) own(path string) error {
	if !id.switched {
		return nil
	}
	return os.Chown(path, id.uid, id.gid)
}

// checkAccess reports why the server's user cannot work in dir, by working
// there: permissions have more sources than mode bits.
func (id identity) checkAccess(ctx context.Context, inst Installation, dir string) error {
	cmd := id.command(ctx, inst.path("postgres"), "--version")
	cmd.Dir = dir
	err := cmd.Run()
	if err == nil || !errors.Is(err, fs.ErrPermission) {
		return err
	}
	blocked := dir
	for parent := dir; parent != filepath.Dir(parent); {
		parent = filepath.Dir(parent)
		if info, err := os.Stat(parent); err == nil && info.Mode().Perm()&0o001 == 0 {
			blocked = parent
		}
	}
	return fmt.Errorf("PostgreSQL refuses to run as root, and the user %s, which it would run as, cannot enter %s: run this as an ordinary user, choose a folder that all users can reach (under /var/lib or /tmp, for example), or chmod o+x %s", id.name, blocked, blocked)
}
