//go:build unix

package e2e

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"scimesh.dev/scimesh/api/client"
	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/api/wire"
	"scimesh.dev/scimesh/hack/internal/platform"
)

// authoredJob writes a manifest of a workload that workers bring.
func authoredJob(t *testing.T, name, workload, input, parameters string, rows int) string {
	t.Helper()
	text := fmt.Sprintf("apiVersion: scimesh.dev/v1\nkind: Job\nmetadata: {name: %s}\nspec:\n  workload: %s\n  input: {path: %s}\n  parameters: %s\n  sharding: {rows: %d}\n",
		name, workload, input, parameters, rows)
	path := filepath.Join(t.TempDir(), name+".yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func awaitWorkload(t *testing.T, p *platform.Platform, name string) {
	t.Helper()
	await(t, "the workload "+name+" to be known", func() bool {
		out, err := p.Scimesh(t.Context(), "get", "workloads")
		return err == nil && strings.Contains(out, name)
	})
}

// A workload that workers bring is known from their registration, planned and
// reduced by them, and gives the same file whatever the sharding and the workers' deaths.
func TestAuthoredWorkloadsRunOnTheirWorkers(t *testing.T) {
	p := start(t, platform.Options{Coordinator: []string{"COORDINATOR_LEASE_TTL=4s"}})
	coordinator(t, p)
	path := molecules(t, 1000)
	manifest := authoredJob(t, "early", "descriptor-table", path, "{}", 100)
	if out, err := p.Scimesh(t.Context(), "apply", "-f", manifest); err == nil {
		t.Errorf("a Job of an unknown workload was accepted: %s", out)
	}
	workloads := "SCIMESH_WORKLOADS=descriptor-table,two-shard"
	victim := pythonWorker(t, p, "victim", workloads)
	pythonWorker(t, p, "second", workloads)
	awaitWorkload(t, p, "descriptor-table")

	var first []byte
	c := newClient(t, p)
	for _, rows := range []int{2000, 130} {
		name := fmt.Sprintf("descriptors-%d", rows)
		scimesh(t, p, "apply", "-f", authoredJob(t, name, "descriptor-table", path, "{decimals: 2}", rows))
		if rows < 1000 {
			await(t, "the shards to be planned", func() bool { return getJob(t, c, name).Status.Tasks.Total > 2 })
			victim.Kill()
		}
		scimesh(t, p, "wait", "job/"+name, "--timeout", "4m")
		got := download(t, p, name)
		if first == nil {
			first = got
		}
		if !bytes.Equal(got, first) {
			t.Errorf("with %d rows a shard the file differs:\n%.500s\nwant\n%.500s", rows, got, first)
		}
		ledger := getJob(t, c, name).Status.Ledger
		if lines := int64(bytes.Count(got, []byte("\r\n"))); ledger == nil || ledger.RowsRead != 1000 ||
			ledger.Rejected["InvalidSMILES"] == 0 || ledger.Rejected["TooFewColumns"] == 0 || ledger.Scored != lines-1 {
			t.Errorf("ledger %+v with %d lines", ledger, lines)
		}
	}
	text := filepath.Join(t.TempDir(), "text.txt")
	if err := os.WriteFile(text, []byte("one\ntwo\nthree\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	scimesh(t, p, "apply", "-f", authoredJob(t, "lines", "two-shard", text, "{}", 1))
	scimesh(t, p, "wait", "job/lines", "--timeout", "2m")
	if got := string(download(t, p, "lines")); got != "lines\r\n3\r\n" {
		t.Errorf("two-shard counts %q", got)
	}
	verify(t, p)
}

// A plan that holds a path or a command is refused: the Job fails with the
// reason, and nothing of the plan is written.
func TestPlansOfWorkersAreChecked(t *testing.T) {
	p := start(t, platform.Options{})
	coordinator(t, p)
	c := newClient(t, p)
	worker, err := client.New(p.URL(), p.WorkerToken(), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	described := wire.BroughtWorkload{
		Name: "hostile", Version: "1", Description: "plans what it must not", Inputs: []string{"text"}, Outputs: []string{"text"},
		ParametersSchema: []byte(`{"type":"object","additionalProperties":false}`),
	}
	registration := wire.RegisterRequest{
		Name: "hostile", Capabilities: []string{"hostile"}, CPUCount: 1, MemoryMB: 64, Workloads: []wire.BroughtWorkload{described},
	}
	me, err := worker.RegisterWorker(t.Context(), registration)
	if err != nil {
		t.Fatal(err)
	}
	awaitWorkload(t, p, "hostile")
	described.Description = "another description of the same version"
	registration.Workloads = []wire.BroughtWorkload{described}
	if _, err := worker.RegisterWorker(t.Context(), registration); err == nil {
		t.Error("another description of the same version was accepted")
	}
	described.Name, registration.Capabilities = "similarity-search", []string{"similarity-search"}
	registration.Workloads = []wire.BroughtWorkload{described}
	if _, err := worker.RegisterWorker(t.Context(), registration); err == nil {
		t.Error("a built-in workload could be replaced")
	}

	input := molecules(t, 5)
	for name, parameters := range map[string]string{"path": `{"file":"/etc/passwd"}`, "command": `{"shell":"rm -rf ."}`} {
		scimesh(t, p, "apply", "-f", authoredJob(t, name, "hostile", input, "{}", 10))
		var task *wire.ClaimedTask
		await(t, "the task that plans", func() bool {
			task, err = worker.ClaimTask(t.Context(), wire.ClaimRequest{WorkerID: me.WorkerID, Capabilities: []string{"hostile"}, MaxConcurrency: 1})
			if err != nil {
				t.Fatal(err)
			}
			return task != nil
		})
		plan := fmt.Sprintf(`{"tasks":[{"chunk_index":0,"input":{"sha256":"%s"},"parameters":%s}]}`, task.Input.SHA256, parameters)
		deliver(t, worker, client.Lease{Task: task.TaskID, Worker: me.WorkerID, Attempt: task.Attempt},
			fmt.Sprintf("{\"name\":\"plan\",\"size_bytes\":%d}\n%s{\"end\":true}\n", len(plan), plan))
		await(t, "the job to fail", func() bool { return getJob(t, c, name).Status.Phase == v1.JobFailed })
		job := getJob(t, c, name)
		if job.Status.ErrorCode != "PlanInvalid" || !strings.Contains(job.Status.ErrorMessage, name) || job.Status.Tasks.Total != 1 {
			t.Errorf("%s: the job failed with %s: %s, and has %d tasks", name, job.Status.ErrorCode, job.Status.ErrorMessage, job.Status.Tasks.Total)
		}
	}
	verify(t, p)
}

// deliver uploads a result and completes its task.
func deliver(t *testing.T, c *client.Client, lease client.Lease, text string) {
	t.Helper()
	a, err := c.UploadTaskArtifact(t.Context(), lease, client.Upload{
		Filename: "partial.bin", ContentType: "application/octet-stream", Size: int64(len(text)),
		Body: strings.NewReader(text),
	})
	if err != nil {
		t.Fatal(err)
	}
	manifest := wire.ResultManifest{ArtifactID: a.ArtifactID, URI: a.URI, SHA256: a.SHA256, ContentType: "application/octet-stream"}
	if _, err := c.CompleteTask(t.Context(), lease, manifest, nil); err != nil {
		t.Fatal(err)
	}
}
