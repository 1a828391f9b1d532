//go:build unix

// Package e2e tests the whole system as its users and operators meet it: the
// real binary, a real PostgreSQL, processes that are killed.
package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"scimesh.dev/scimesh/hack/internal/platform"
)

// binary is the scimesh program under test, built once.
var binary string

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "scimesh-e2e-bin-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "scimesh")
	build := exec.Command("go", "build", "-o", binary, "scimesh.dev/scimesh/cmd/scimesh")
	build.Stdout, build.Stderr = os.Stderr, os.Stderr
	if err := build.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "build scimesh:", err)
		return 1
	}
	return m.Run()
}

// start makes a platform that is gone when the test ends. Every test also
// checks that no process printed a secret and that the database is sound.
func start(t *testing.T, opts platform.Options) *platform.Platform {
	t.Helper()
	opts.Dir, opts.Binary = publicTempDir(t), binary
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	p, err := platform.Start(ctx, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		wantNoSecrets(t, p)
		if t.Failed() {
			printLogs(t, p)
		}
	})
	return p
}

// publicTempDir is a temporary folder that PostgreSQL's user may enter too.
func publicTempDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "scimesh-e2e-") //nolint:usetesting // t.TempDir is closed to other users
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func coordinator(t *testing.T, p *platform.Platform) *platform.Process {
	t.Helper()
	c, err := p.StartCoordinator("coordinator", false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Kill)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := platform.AwaitReady(ctx, c); err != nil {
		t.Fatal(err)
	}
	return c
}

func worker(t *testing.T, p *platform.Platform, name string) *platform.Process {
	t.Helper()
	w, err := p.StartWorker(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Kill)
	return w
}

// scimesh runs a command that must succeed.
func scimesh(t *testing.T, p *platform.Platform, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	out, err := p.Scimesh(ctx, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func wantNoSecrets(t *testing.T, p *platform.Platform) {
	t.Helper()
	logs, err := p.Logs()
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range logs {
		for _, secret := range p.Secrets() {
			if strings.Contains(text, secret) {
				t.Errorf("%s holds a token", name)
			}
		}
	}
}

func printLogs(t *testing.T, p *platform.Platform) {
	logs, err := p.Logs()
	if err != nil {
		t.Log(err)
		return
	}
	for name, text := range logs {
		lines := strings.Split(text, "\n")
		if len(lines) > 60 {
			lines = lines[len(lines)-60:]
		}
		t.Logf("%s ends:\n%s", name, strings.Join(lines, "\n"))
	}
}

// verify runs `scimesh debug verify`, which must find nothing.
func verify(t *testing.T, p *platform.Platform) {
	t.Helper()
	scimesh(t, p, "debug", "verify")
}

// stagingFiles are the unfinished uploads in the artifact store.
func stagingFiles(t *testing.T, p *platform.Platform) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(p.StorageDir(), "staging", "*"))
	if err != nil {
		t.Fatal(err)
	}
	return files
}
