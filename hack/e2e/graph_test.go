//go:build unix

package e2e

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/hack/internal/platform"
)

// graph writes the manifest of a graph over the file at path.
func graph(t *testing.T, name, path, parameters string) string {
	t.Helper()
	manifest := fmt.Sprintf(`apiVersion: scimesh.dev/v1
kind: Job
metadata: {name: %s, labels: {suite: e2e}}
spec:
  workload: similarity-graph
  output: {formats: [clusters, graphml]}
  input: {path: %s}
  parameters: %s
`, name, path, parameters)
	file := filepath.Join(t.TempDir(), name+".yaml")
	if err := os.WriteFile(file, []byte(manifest), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// localGraph runs a graph in one process; files beside the result go to a folder.
func localGraph(t *testing.T, p *platform.Platform, manifest, dir string) []byte {
	t.Helper()
	out := filepath.Join(t.TempDir(), "local.csv")
	scimesh(t, p, "run", "-f", manifest, "-o", out, "--output-dir", dir)
	return read(t, out)
}

// The final file does not depend on the blocks, on the workers, or on the order
// in which they finished.
func TestADistributedGraphIsThatOfOneProcess(t *testing.T) {
	p := start(t, platform.Options{})
	coordinator(t, p)
	for i := range 3 {
		worker(t, p, fmt.Sprintf("worker-%d", i))
	}
	path := molecules(t, 600)
	for label, parameters := range map[string]string{
		"similar":    `threshold: "0.35"`,
		"dissimilar": `threshold: "0.1", threshold_direction: less, max_rows: 300`,
	} {
		var want []byte
		dir := t.TempDir()
		for _, size := range []int{1000, 130, 40} {
			name := fmt.Sprintf("%s-b%d", label, size)
			manifest := graph(t, name, path, fmt.Sprintf("{%s, block_size: %d}", parameters, size))
			if want == nil {
				want = localGraph(t, p, manifest, dir)
			}
			scimesh(t, p, "apply", "-f", manifest)
			scimesh(t, p, "wait", "job/"+name, "--timeout", "3m")
			if got := download(t, p, name); !bytes.Equal(got, want) {
				t.Errorf("%s: the distributed result has %d bytes and differs from that of one process, which has %d", name, len(got), len(want))
			}
			for format, file := range map[string]string{"clusters": "clusters.csv", "graphml": "graph.graphml"} {
				out := filepath.Join(t.TempDir(), file)
				scimesh(t, p, "download", "job/"+name, "--format", format, "-o", out)
				if got := read(t, out); !bytes.Equal(got, read(t, filepath.Join(dir, file))) {
					t.Errorf("%s: the file %s of %d bytes differs from that of one process", name, file, len(got))
				}
			}
		}
		if bytes.Count(want, []byte("\r\n")) < 100 {
			t.Fatalf("%s: too few edges to prove anything", label)
		}
	}
	verify(t, p)
}

// Workers that are killed in either stage, and a coordinator that is killed
// while it plans the second stage or reduces, do not show in the result.
func TestAGraphSurvivesKilledProcesses(t *testing.T) {
	p := start(t, platform.Options{Coordinator: []string{"COORDINATOR_LEASE_TTL=2s"}})
	boss := coordinator(t, p)
	c := newClient(t, p)
	manifest := graph(t, "killed", molecules(t, 3000), `{threshold: "0.3", block_size: 500}`)
	want := localGraph(t, p, manifest, t.TempDir())
	workers := []*platform.Process{worker(t, p, "worker-0"), worker(t, p, "worker-1")}
	scimesh(t, p, "apply", "-f", manifest)

	phase := func() v1.JobStatus { return getJob(t, c, "killed").Status }
	await(t, "a block to be made", func() bool { return phase().Tasks.Completed > 0 })
	workers[0].Kill()
	await(t, "a pair of blocks to be compared", func() bool { s := phase(); return s.Tasks.Total > 6 && s.Tasks.Completed > 7 })
	workers[1].Kill()
	worker(t, p, "worker-2")
	await(t, "the reduction", func() bool { s := phase(); return s.Phase == v1.JobReducing || s.Phase == v1.JobCompleted })
	boss.Kill()
	restarted, err := p.StartCoordinator("coordinator-2", false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(restarted.Kill)
	if err := platform.AwaitReady(t.Context(), restarted); err != nil {
		t.Fatal(err)
	}
	scimesh(t, p, "wait", "job/killed", "--timeout", "3m")
	if got := download(t, p, "killed"); !bytes.Equal(got, want) {
		t.Errorf("the result has %d bytes and differs from that of one process, which has %d", len(got), len(want))
	}
	if s := phase(); s.Tasks.Failed != 0 || s.Ledger == nil || s.Ledger.PairsChecked != s.Ledger.Scored*(s.Ledger.Scored-1)/2 {
		t.Errorf("status %+v", s)
	}
	verify(t, p)
}
