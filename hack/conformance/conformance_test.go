//go:build unix

package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"scimesh.dev/scimesh/hack/internal/platform"
)

// build builds the program under test.
func build(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "scimesh")
	if out, err := exec.Command("go", "build", "-o", binary, "scimesh.dev/scimesh/cmd/scimesh").CombinedOutput(); err != nil {
		t.Fatalf("build scimesh: %v\n%s", err, out)
	}
	return binary
}

// pass runs checks as subtests.
func pass(t *testing.T, checks []check, output *bytes.Buffer) {
	t.Helper()
	for _, c := range checks {
		t.Run(c.name, func(t *testing.T) {
			if output != nil {
				output.Reset()
			}
			if err := c.run(t.Context()); err != nil {
				t.Error(err)
				if output != nil {
					t.Logf("the worker printed:\n%.8000s", output)
				}
			}
		})
	}
}

// startPlatform starts a database and a coordinator.
func startPlatform(t *testing.T, binary string, env ...string) *platform.Platform {
	t.Helper()
	dir, err := os.MkdirTemp("", "scimesh-conformance-") //nolint:usetesting // t.TempDir is closed to PostgreSQL's user
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	p, err := platform.Start(ctx, platform.Options{Dir: dir, Binary: binary, Coordinator: env})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	c, err := p.StartCoordinator("coordinator", false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Kill)
	if err := platform.AwaitReady(ctx, c); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestTheCoordinatorConforms(t *testing.T) {
	p := startPlatform(t, build(t), "COORDINATOR_LEASE_TTL=10s")
	pass(t, newCoordinatorSuite(p.URL(), p.OperatorToken(), p.WorkerToken()).checks(), nil)
	if _, err := p.Scimesh(t.Context(), "debug", "verify"); err != nil {
		t.Error(err)
	}
}

func TestTheGoWorkerConforms(t *testing.T) {
	var output bytes.Buffer
	pass(t, newWorkerSuite([]string{build(t), "worker"}, &output).checks(), &output)
}

// python is a program of the Python environment.
func python(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("..", "..", ".cache", "venv", "bin", name))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("%v (run hack/bootstrap python)", err)
		}
		t.Skipf("%s is not installed; hack/bootstrap python installs it", name)
	}
	return path
}

func TestThePythonWorkerConforms(t *testing.T) {
	var output bytes.Buffer
	pass(t, newWorkerSuite([]string{python(t, "scimesh-worker")}, &output).checks(), &output)
}

// The example of docs/building-workers.md, as it stands there, computes a Job.
func TestTheDocumentedWorkerWorks(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "building-workers.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := bytes.Cut(page, []byte("```python\n"))
	source, _, closed := bytes.Cut(rest, []byte("```"))
	if !found || !closed {
		t.Fatal("the page holds no example")
	}
	dir := t.TempDir()
	script, table, manifest := filepath.Join(dir, "worker.py"), filepath.Join(dir, "in.tsv"), filepath.Join(dir, "job.yaml")
	for path, text := range map[string]string{
		script: string(source),
		table:  "chembl_id\tcanonical_smiles\nM1\tCCO\nM2\tCCN\nM3\tCCC\n",
		manifest: "apiVersion: scimesh.dev/v1\nkind: Job\nmetadata: {name: documented}\n" +
			"spec: {workload: similarity-search, input: {path: in.tsv}, parameters: {query_smiles: CCO}, sharding: {rows: 2}}\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p := startPlatform(t, build(t))
	cmd := exec.CommandContext(t.Context(), python(t, "python"), script)
	cmd.Env = append(os.Environ(), "SCIMESH_COORDINATOR_URL="+p.URL(), "SCIMESH_TOKEN="+p.WorkerToken())
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = cmd.Process.Kill(), cmd.Wait() }()
	for _, args := range [][]string{{"apply", "-f", manifest}, {"wait", "job/documented", "--timeout", "2m"}, {"debug", "verify"}} {
		if _, err := p.Scimesh(t.Context(), args...); err != nil {
			t.Fatalf("%v\nthe worker printed: %s", err, output.String())
		}
	}
	c, err := p.Client()
	if err != nil {
		t.Fatal(err)
	}
	job, err := c.GetJob(t.Context(), "documented")
	if err != nil || job.Status.Ledger == nil || job.Status.Ledger.Rejected["NotComputed"] != 3 {
		t.Errorf("job %+v, %v; want three rows rejected by the example", job.Status, err)
	}
}

// Generated requests find no failure of the coordinator, and no answer of
// another form than openapi.yaml says. The two endpoints that can stream without
// end are left out, and so is the check that what fits the document is accepted:
// that depends on which inputs, workloads and leases there are.
func TestGeneratedRequestsKeepTheContract(t *testing.T) {
	if testing.Short() {
		t.Skip("sends some thousand requests")
	}
	schemathesis := python(t, "schemathesis")
	p := startPlatform(t, build(t))
	spec, err := filepath.Abs(filepath.Join("..", "..", "api", "openapi.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, schemathesis, "run", spec, "--url", p.URL(), "--header", "Authorization: Bearer "+p.OperatorToken(),
		"--checks", "all", "--exclude-checks", "positive_data_acceptance",
		"--phases", "examples,fuzzing", "--max-examples", "3", "--seed", "1", "--request-timeout", "60", "--continue-on-failure",
		"--exclude-operation-id", "listJobs", "--exclude-operation-id", "getTaskLog", "--suppress-health-check", "all")
	cmd.Dir = t.TempDir() // where it keeps what it found
	out, err := cmd.CombinedOutput()
	out = bytes.ReplaceAll(out, []byte(p.OperatorToken()), []byte("TOKEN"))
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if _, err := p.Scimesh(t.Context(), "debug", "verify"); err != nil {
		t.Error(err)
	}
}
