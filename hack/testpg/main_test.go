package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"scimesh.dev/scimesh/store/pgcluster"
)

// build returns the program, built, and a folder for it to work in.
func build(t *testing.T) (program, tmp string) {
	t.Helper()
	if _, err := pgcluster.Find(t.Context()); err != nil && os.Getenv("CI") == "" {
		t.Skip(err)
	}
	tmp, err := os.MkdirTemp("", "testpg-test-") //nolint:usetesting // root's t.TempDir is closed to the server's user
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(tmp); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(tmp, 0o755); err != nil {
		t.Fatal(err)
	}
	program = filepath.Join(tmp, "testpg")
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program, tmp
}

// command prepares a run of testpg without a database of the surroundings.
func command(program, tmp string, args ...string) *exec.Cmd {
	cmd := exec.Command(program, args...)
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, urlVariable+"=") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, "TMPDIR="+tmp)
	return cmd
}

func checkNothingLeft(t *testing.T, tmp string) {
	t.Helper()
	left, err := filepath.Glob(filepath.Join(tmp, "scimesh-testpg-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v (%v)", left, err)
	}
}

func TestCommandGetsAServerAndItsStatusIsKept(t *testing.T) {
	t.Parallel()
	program, tmp := build(t)
	inst, err := pgcluster.Find(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	script := `"$0"/psql -AtX "$TEST_DATABASE_URL" -c "SHOW fsync" -c "CREATE EXTENSION pg_stat_statements" -c "SELECT count(*) > 0 FROM pg_stat_statements"; exit 7`
	for flag, fsync := range map[string]string{"-fsync=false": "off", "-fsync": "on"} {
		cmd := command(program, tmp, flag, "--", "sh", "-c", script, inst[0].BinDir)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if got, want := string(out), fsync+"\nCREATE EXTENSION\nt\n"; got != want {
			t.Errorf("%s: printed %q, want %q (%v)\n%s", flag, got, want, err, &stderr)
		}
		if got := cmd.ProcessState.ExitCode(); got != 7 {
			t.Errorf("%s: status %d, want the command's 7", flag, got)
		}
	}
	checkNothingLeft(t, tmp)
}

func TestSignalledCommandLeavesNothing(t *testing.T) {
	t.Parallel()
	program, tmp := build(t)
	cmd := command(program, tmp, "--", "sh", "-c", "echo ready; exec sleep 600")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	stuck := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	defer stuck.Stop()
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 130 {
		t.Errorf("ended with %v, want status 130", err)
	}
	checkNothingLeft(t, tmp)
}

func TestDatabaseOfTheSurroundingsIsUsed(t *testing.T) {
	t.Setenv(urlVariable, "postgres://elsewhere/db")
	var stderr bytes.Buffer
	if got := run(t.Context(), []string{"--", "sh", "-c", `test "$TEST_DATABASE_URL" = postgres://elsewhere/db`}, &stderr); got != 0 {
		t.Errorf("status %d, want 0\n%s", got, &stderr)
	}
}

func TestUsage(t *testing.T) {
	var stderr bytes.Buffer
	if got := run(t.Context(), nil, &stderr); got != exitUsage || !strings.Contains(stderr.String(), "usage: testpg") {
		t.Errorf("status %d, printed %q; want the usage and status 2", got, &stderr)
	}
	t.Setenv(urlVariable, "postgres://elsewhere/db")
	if got := run(t.Context(), []string{"--", "no-such-program"}, &stderr); got != exitFailure {
		t.Errorf("status %d for a command that does not exist, want 1", got)
	}
}
