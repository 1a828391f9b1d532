package pgcluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// MinVersion is the oldest major version of PostgreSQL that is supported.
const MinVersion = 15

// ErrNotInstalled is returned when no PostgreSQL server is found that is new enough.
var ErrNotInstalled = errors.New("PostgreSQL is not installed")

// Installation is a set of PostgreSQL server programs.
type Installation struct {
	BinDir  string // folder of postgres and initdb
	Version int    // major version
}

func (i Installation) path(program string) string { return filepath.Join(i.BinDir, program) }

// Find returns the installations of a supported version, newest first. It asks
// pg_config and looks in PATH and where Debian, Red Hat and Homebrew put the
// server's programs.
func Find(ctx context.Context) ([]Installation, error) {
	var found []Installation
	for _, dir := range candidateDirs(ctx) {
		inst, err := inspect(ctx, dir)
		if err != nil || inst.Version < MinVersion {
			continue
		}
		found = insertByVersion(found, inst)
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%w: found no postgres and initdb of version %d or newer in PATH, by pg_config or in the usual places; install it (Debian, Ubuntu: apt-get install postgresql) or name its folder of programs", ErrNotInstalled, MinVersion)
	}
	return found, nil
}

func candidateDirs(ctx context.Context) []string {
	var dirs []string
	if out, err := exec.CommandContext(ctx, "pg_config", "--bindir").Output(); err == nil {
		dirs = append(dirs, strings.TrimSpace(string(out)))
	}
	if path, err := exec.LookPath("postgres"); err == nil {
		if target, err := filepath.EvalSymlinks(path); err == nil {
			path = target
		}
		dirs = append(dirs, filepath.Dir(path))
	}
	for _, pattern := range []string{
		"/usr/lib/postgresql/*/bin",
		"/usr/pgsql-*/bin",
		"/usr/local/pgsql/bin",
		"/opt/homebrew/opt/postgresql@*/bin",
		"/usr/local/opt/postgresql@*/bin",
	} {
		matches, _ := filepath.Glob(pattern) // fails for a malformed pattern only
		dirs = append(dirs, matches...)
	}
	return dirs
}

// inspect returns the installation in dir, which must hold postgres and initdb.
func inspect(ctx context.Context, dir string) (Installation, error) {
	inst := Installation{BinDir: dir}
	if _, err := os.Stat(inst.path("initdb")); err != nil {
		return inst, err
	}
	out, err := exec.CommandContext(ctx, inst.path("postgres"), "--version").Output()
	if err != nil {
		return inst, fmt.Errorf("%s --version: %w", inst.path("postgres"), err)
	}
	inst.Version, err = parseVersion(string(out))
	return inst, err
}

// parseVersion reads the major version from "postgres (PostgreSQL) 15.18 (Debian …)".
func parseVersion(out string) (int, error) {
	_, version, _ := strings.Cut(out, "(PostgreSQL) ")
	digits := strings.IndexFunc(version, func(r rune) bool { return r < '0' || r > '9' })
	if digits < 0 {
		digits = len(version)
	}
	major, err := strconv.Atoi(version[:digits])
	if err != nil {
		return 0, fmt.Errorf("no version in %q", strings.TrimSpace(out))
	}
	return major, nil
}

// insertByVersion keeps list sorted by version, newest first, each folder once.
func insertByVersion(list []Installation, inst Installation) []Installation {
	at := len(list)
	for i, other := range list {
		if other.BinDir == inst.BinDir {
			return list
		}
		if at == len(list) && other.Version < inst.Version {
			at = i
		}
	}
	list = append(list, Installation{})
	copy(list[at+1:], list[at:])
	list[at] = inst
	return list
}

// choose returns the installation to run a cluster with. Data that exists needs
// the version that made it; new data takes the newest.
func choose(ctx context.Context, opts Options, dataVersion int) (Installation, error) {
	var found []Installation
	if opts.BinDir != "" {
		inst, err := inspect(ctx, opts.BinDir)
		if err != nil {
			return Installation{}, err
		}
		found = []Installation{inst}
	} else {
		var err error
		if found, err = Find(ctx); err != nil {
			return Installation{}, err
		}
	}
	if dataVersion == 0 {
		return found[0], nil
	}
	for _, inst := range found {
		if inst.Version == dataVersion {
			return inst, nil
		}
	}
	return Installation{}, fmt.Errorf("the data were made by PostgreSQL %d, and only version %d is installed: install PostgreSQL %d, or carry the data over with pg_dump", dataVersion, found[0].Version, dataVersion)
}
