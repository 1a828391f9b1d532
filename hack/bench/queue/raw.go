//go:build linux

package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"time"

	"scimesh.dev/scimesh/store/pgcluster"
)

//go:embed raw.sql
var rawSQL string

var pgbenchTPS = regexp.MustCompile(`(?m)^tps = ([0-9.]+) `)

// rawCycles returns how often a second clients of pgbench go through claim,
// heartbeat and completion, each a single-row statement and a transaction.
func rawCycles(ctx context.Context, dir, url string, clients int, last time.Duration) (float64, error) {
	pgbench, err := findPgbench(ctx)
	if err != nil {
		return 0, err
	}
	script := filepath.Join(dir, "raw.sql")
	if err := os.WriteFile(script, []byte(rawSQL), 0o600); err != nil {
		return 0, err
	}
	// pgbench's time includes that of connecting, its rate does not.
	connecting := time.Duration(clients) * 30 * time.Millisecond
	out, err := exec.CommandContext(ctx, pgbench, "--no-vacuum", "--protocol=prepared", "--file="+script,
		"--client="+strconv.Itoa(clients), "--jobs="+strconv.Itoa(min(clients, runtime.NumCPU())),
		"--time="+strconv.Itoa(int((last+connecting).Seconds())), url).CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("pgbench: %w\n%s", err, out)
	}
	m := pgbenchTPS.FindSubmatch(out)
	if m == nil {
		return 0, fmt.Errorf("pgbench printed no rate:\n%s", out)
	}
	return strconv.ParseFloat(string(m[1]), 64)
}

// findPgbench looks beside the server's programs, then in PATH.
func findPgbench(ctx context.Context) (string, error) {
	found, err := pgcluster.Find(ctx)
	if err != nil {
		return "", err
	}
	for _, inst := range found {
		if path := filepath.Join(inst.BinDir, "pgbench"); exec.Command(path, "--version").Run() == nil {
			return path, nil
		}
	}
	path, err := exec.LookPath("pgbench")
	if err != nil {
		return "", errors.New("pgbench is not installed (it comes with PostgreSQL's contrib programs)")
	}
	return path, nil
}
