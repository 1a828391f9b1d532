//go:build unix

package e2e

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"scimesh.dev/scimesh/api/client"
	"scimesh.dev/scimesh/api/wire"
	"scimesh.dev/scimesh/chem"
	"scimesh.dev/scimesh/hack/internal/platform"
	"scimesh.dev/scimesh/workloads/golden"
)

// Fingerprints that this program wrote are searched without reading a SMILES, and
// many queries at once come from a file; the results are those of one process.
func TestFingerprintsAndManyQueries(t *testing.T) {
	p := start(t, platform.Options{})
	coordinator(t, p)
	worker(t, p, "worker-1")
	table := molecules(t, 2000)
	dir := t.TempDir()
	fingerprints := filepath.Join(dir, "molecules.fps.gz")
	scimesh(t, p, "fingerprint", table, "-o", fingerprints)
	queries := filepath.Join(dir, "queries.smi")
	if err := os.WriteFile(queries, []byte("Cc1ccc(O)cc1N amine\nCCO ethanol\nOC(=O)c1ccccc1O salicylic acid\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]search{
		"fps":     {path: fingerprints, parameters: `{query_id: MOL17, top_k: 50}`},
		"many":    {path: table, parameters: `{queries: {path: "` + queries + `"}, top_k: 20, threshold: 0.2}`},
		"both":    {path: fingerprints, parameters: `{queries: {path: "` + queries + `"}, measure: cosine, top_k: 20}`},
		"several": {path: table, parameters: `{queries: {path: "` + fingerprints + `"}, top_k: 3}`},
	} {
		s.name, s.rows = name, 300
		manifest := s.write(t)
		preview := scimesh(t, p, "apply", "-f", manifest, "--dry-run", "server")
		scimesh(t, p, "apply", "-f", manifest)
		scimesh(t, p, "wait", "job/"+name, "--timeout", "3m")
		got, want := download(t, p, name), local(t, p, manifest)
		if !bytes.Equal(got, want) || len(bytes.Split(want, []byte("\r\n"))) < 20 {
			t.Errorf("%s: the result differs from that of one process, or is too small:\n%.2000s\nwant\n%.2000s", name, got, want)
		}
		planned := "input: TSV with a header, id in column 3"
		if s.path == fingerprints {
			planned = "input: FPS (gzip), fingerprints of 2048 bits, type \"RDKit-Morgan/1 radius=2"
		}
		if described := scimesh(t, p, "describe", "job/"+name); !strings.Contains(described, planned) || !strings.Contains(preview, planned) {
			t.Errorf("%s: %q is not told:\n%s\n%s", name, planned, preview, described)
		}
	}
	verify(t, p)
}

// A worker whose fingerprints differ is refused, and one without proof gets nothing
// of a Job that proven workers compute.
func TestEnginesDoNotMix(t *testing.T) {
	p := start(t, platform.Options{})
	coordinator(t, p)
	c, err := client.New(p.URL(), p.WorkerToken(), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	register := func(answers map[string]string) (fake, error) {
		r, err := c.RegisterWorker(t.Context(), wire.RegisterRequest{
			Name: "other", Capabilities: []string{"similarity-search"}, CPUCount: 1, MemoryMB: 1024, Engine: chem.EngineName, Golden: answers,
		})
		return fake{c, r.WorkerID}, err
	}
	wrong := golden.Answers()
	wrong["CC(=O)Oc1ccccc1C(=O)O"] = strings.Repeat("0", 64)
	if _, err := register(wrong); !errors.Is(err, client.ErrInvalid) || !strings.Contains(err.Error(), "golden[CC(=O)Oc1ccccc1C(=O)O]") {
		t.Errorf("wrong answers: %v", err)
	}
	unproven, err := register(nil)
	if err != nil {
		t.Fatal(err)
	}

	manifest := search{name: "pinned", path: molecules(t, 600), rows: 50, parameters: `{query_smiles: CCO}`}.write(t)
	proven := registerFake(t, p, "proven")
	scimesh(t, p, "apply", "-f", manifest)
	await(t, "a task for the proven worker", func() bool { return failOne(t, proven) == 1 })
	for range 3 {
		task, err := unproven.ClaimTask(t.Context(), wire.ClaimRequest{WorkerID: unproven.id, Capabilities: []string{"similarity-search"}, MaxConcurrency: 1})
		if err != nil || task != nil {
			t.Fatalf("the unproven worker got %+v, %v", task, err)
		}
	}
	worker(t, p, "worker-1")
	scimesh(t, p, "wait", "job/pinned", "--timeout", "2m")
	artifacts := scimesh(t, p, "get", "artifacts", "--job", "pinned", "-o", "wide")
	if strings.Count(artifacts, chem.EngineName) < 13 { // of every partial result and of the final one
		t.Errorf("results do not name the engine %s:\n%s", chem.EngineName, artifacts)
	}
	verify(t, p)
}
