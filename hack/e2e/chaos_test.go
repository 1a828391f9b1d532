//go:build unix

package e2e

import (
	"bytes"
	"context"
	"testing"
	"time"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/hack/internal/chaos"
	"scimesh.dev/scimesh/hack/internal/platform"
)

// A job of more than 200 tasks, while workers, the coordinator and PostgreSQL
// are killed, gives the same bytes and spends nothing on the coordinator's deaths.
func TestKilledProcessesChangeNothing(t *testing.T) {
	p := start(t, platform.Options{
		Safe: true, Coordinator: []string{"COORDINATOR_LEASE_TTL=6s"}, Worker: []string{"SCIMESH_CLAIM_WAIT=2s"},
	})
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	const workers = 3
	in, err := chaos.New(ctx, p, chaos.Config{
		Workers: workers, Seed: uint64(time.Now().UnixNano()), Logf: t.Logf,
		MinPause: 200 * time.Millisecond, MaxPause: 900 * time.Millisecond,
		MinDown: 50 * time.Millisecond, MaxDown: 1500 * time.Millisecond, Faults: 12,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()

	const rows, shards = 240_000, 240
	manifest := search{name: "chaos", path: molecules(t, rows), rows: rows / shards, maxAttempts: 20,
		parameters: `{query_smiles: "Cc1ccc(O)cc1N", top_k: 300}`}.write(t)
	scimesh(t, p, "apply", "-f", manifest)
	job, report, err := in.Run(ctx, "chaos")
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("faults: %+v", report)
	if job.Status.Phase != v1.JobCompleted {
		t.Fatalf("the job is %s: %s", job.Status.Phase, job.Status.ErrorMessage)
	}
	if job.Status.Tasks.Total < 200 {
		t.Fatalf("only %d tasks", job.Status.Tasks.Total)
	}
	if got, want := download(t, p, "chaos"), local(t, p, manifest); !bytes.Equal(got, want) {
		t.Error("the result differs from that of one process")
	}
	c, err := p.Client()
	if err != nil {
		t.Fatal(err)
	}
	failures, lost, err := chaos.Spent(ctx, c, "chaos")
	if err != nil {
		t.Fatal(err)
	}
	// A worker holds one task at a time, so each of its deaths and stops can cost one lease.
	if most := report.WorkerKills + report.Stops; failures > 0 || lost > most {
		t.Errorf("%d failures and %d lost leases; %d workers were killed or stopped", failures, lost, most)
	}
	verify(t, p)
	awaitNoStaging(t, p)
}

// awaitNoStaging waits until no staging file is left: the janitor removes what
// a killed coordinator left.
func awaitNoStaging(t *testing.T, p *platform.Platform) {
	t.Helper()
	deadline := time.Now().Add(90 * time.Second)
	for len(stagingFiles(t, p)) > 0 {
		if time.Now().After(deadline) {
			t.Fatalf("staging files are left: %v", stagingFiles(t, p))
		}
		time.Sleep(100 * time.Millisecond)
	}
}
