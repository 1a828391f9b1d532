//go:build unix

package e2e

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"scimesh.dev/scimesh/hack/internal/platform"
)

// local runs the job of a manifest in one process and returns the final CSV.
func local(t *testing.T, p *platform.Platform, manifest string) []byte {
	t.Helper()
	out := filepath.Join(t.TempDir(), "local.csv")
	scimesh(t, p, "run", "-f", manifest, "-o", out)
	return read(t, out)
}

// download returns the final CSV of a completed job.
func download(t *testing.T, p *platform.Platform, job string) []byte {
	t.Helper()
	out := filepath.Join(t.TempDir(), "final.csv")
	scimesh(t, p, "download", "job/"+job, "-o", out)
	return read(t, out)
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// The final file does not depend on how the input was cut, how many workers
// there were, or in which order they finished.
func TestDistributedResultIsThatOfOneProcess(t *testing.T) {
	p := start(t, platform.Options{})
	coordinator(t, p)
	const rows = 3500
	path := molecules(t, rows)

	for workers := 1; workers <= 4; workers++ {
		worker(t, p, fmt.Sprintf("worker-%d", workers))
		for _, shards := range []int{1, 2, 7, 50} {
			for label, parameters := range map[string]string{
				"top":  `{query_smiles: "Cc1ccc(O)cc1N", top_k: 50}`,
				"less": `{query_id: MOL17, top_k: 200, threshold: "0.2", threshold_direction: less, max_rows: 3000}`,
			} {
				name := fmt.Sprintf("%s-w%d-s%d", label, workers, shards)
				manifest := search{name: name, path: path, rows: (rows + shards - 1) / shards, parameters: parameters}.write(t)
				scimesh(t, p, "apply", "-f", manifest)
				scimesh(t, p, "wait", "job/"+name, "--timeout", "3m")
				got, want := download(t, p, name), local(t, p, manifest)
				if !bytes.Equal(got, want) {
					t.Errorf("%s: the distributed result differs from that of one process:\n%s\nwant\n%s", name, got, want)
				}
				if len(bytes.Split(want, []byte("\r\n"))) < 20 {
					t.Fatalf("%s: too few hits to prove anything:\n%s", name, want)
				}
			}
		}
	}
	verify(t, p)
	if files := stagingFiles(t, p); len(files) > 0 {
		t.Errorf("staging files are left: %v", files)
	}
}

func TestApplyTwiceChangesNothing(t *testing.T) {
	p := start(t, platform.Options{})
	coordinator(t, p)
	manifest := search{name: "twice", path: molecules(t, 100), rows: 50, parameters: `{query_smiles: CCO}`}.write(t)
	for i, want := range []string{"job/twice created\n", "job/twice unchanged\n"} {
		if got := scimesh(t, p, "apply", "-f", manifest); got != want {
			t.Errorf("apply %d prints %q, want %q", i+1, got, want)
		}
	}
}

// A task that failed once, on a worker that then took it no more, is computed
// by another one; the file is the same.
func TestATaskThatFailsOnceIsComputedAgain(t *testing.T) {
	p := start(t, platform.Options{})
	coordinator(t, p)
	flaky := registerFake(t, p, "flaky")
	manifest := search{name: "flaky", path: molecules(t, 700), rows: 100, parameters: `{query_smiles: "Cc1ccc(O)cc1N", top_k: 50}`}.write(t)
	scimesh(t, p, "apply", "-f", manifest)
	await(t, "a task for the flaky worker", func() bool { return failOne(t, flaky) == 1 })
	worker(t, p, "worker-1")
	worker(t, p, "worker-2")
	scimesh(t, p, "wait", "job/flaky", "--timeout", "2m")
	if got, want := download(t, p, "flaky"), local(t, p, manifest); !bytes.Equal(got, want) {
		t.Errorf("the result differs from that of one process:\n%s\nwant\n%s", got, want)
	}
	verify(t, p)
}
