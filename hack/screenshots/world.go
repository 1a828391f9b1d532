//go:build unix

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/chromedp/chromedp"

	v1 "scimesh.dev/scimesh/api/v1"
)

// address is a page to take pictures of.
type address struct {
	name, path string
	before     []step
}

// jobs are what the pictures show: how the rows are cut, what is searched, and labels.
var jobs = []struct {
	name, labels, parameters string
	rows                     int
}{
	{"aspirin-neighbours", "target: COX1, series: salicylates", `{query_smiles: "CC(=O)Oc1ccccc1C(=O)O", top_k: 50}`, 80},
	{"caffeine-neighbours", "target: ADORA2A", `{query_smiles: "Cn1cnc2c1c(=O)n(C)c(=O)n2C", top_k: 25}`, 100},
	{"ibuprofen-far", "target: COX2, series: profens", `{query_smiles: "CC(C)Cc1ccc(cc1)C(C)C(=O)O", top_k: 20, threshold: "0.1", threshold_direction: less}`, 200},
	{"missing-query", "target: EGFR", `{query_id: CHEMBL999999999, top_k: 20}`, 100},
	{"gefitinib-screen", "target: EGFR, priority: high", `{query_smiles: "COc1cc2ncnc(Nc3ccc(F)c(Cl)c3)c2cc1OCCCN1CCOCC1", top_k: 100}`, 2},
}

// populate runs jobs until the pages have something to show, halts the workers
// in the middle of the last one, and returns the pages.
func (w *world) populate(ctx context.Context) ([]address, error) {
	for _, name := range []string{"bench-07", "bench-12", "lab-gpu-1"} {
		p, err := w.platform.StartWorker(name)
		if err != nil {
			return nil, err
		}
		w.processes = append(w.processes, p)
	}
	for _, j := range jobs[:4] {
		if err := w.apply(ctx, j.name, j.labels, j.parameters, j.rows, ""); err != nil {
			return nil, err
		}
		_, err := w.platform.Scimesh(ctx, "wait", "job/"+j.name, "--timeout", "2m")
		if err != nil && j.name != "missing-query" {
			return nil, err
		}
	}
	if err := w.applyGraph(ctx); err != nil {
		return nil, err
	}
	last := jobs[4]
	if err := w.apply(ctx, last.name, last.labels, last.parameters, last.rows, "priority: 10"); err != nil {
		return nil, err
	}
	if err := w.haltAt(ctx, last.name, 120); err != nil {
		return nil, err
	}
	if err := w.apply(ctx, "waiting-in-line", "target: BRAF", jobs[0].parameters, 100, ""); err != nil {
		return nil, err
	}
	return w.addresses(ctx)
}

func (w *world) apply(ctx context.Context, name, labels, parameters string, rows int, more string) error {
	molecules, err := filepath.Abs("manifests/data/drugs.tsv")
	if err != nil {
		return err
	}
	manifest := fmt.Sprintf(`apiVersion: scimesh.dev/v1
kind: Job
metadata: {name: %s, labels: {%s}}
spec:
  workload: similarity-search
  input: {path: %q}
  parameters: %s
  sharding: {rows: %d}
  %s
`, name, labels, molecules, parameters, rows, more)
	path := filepath.Join(w.dir, name+".yaml")
	if err := os.WriteFile(path, []byte(manifest), 0o644); err != nil {
		return err
	}
	_, err = w.platform.Scimesh(ctx, "apply", "-f", path)
	return err
}

// applyGraph runs a similarity graph of the same molecules.
func (w *world) applyGraph(ctx context.Context) error {
	raw, err := os.ReadFile(filepath.Join(w.dir, jobs[0].name+".yaml"))
	if err != nil {
		return err
	}
	text := strings.NewReplacer(jobs[0].name, "drug-network", "similarity-search", "similarity-graph", jobs[0].parameters, `{threshold: "0.4"}`).Replace(string(raw))
	path := filepath.Join(w.dir, "drug-network.yaml")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		return err
	}
	if _, err := w.platform.Scimesh(ctx, "apply", "-f", path); err != nil {
		return err
	}
	_, err = w.platform.Scimesh(ctx, "wait", "job/drug-network", "--timeout", "2m")
	return err
}

// haltAt stops the workers when that many tasks of a job are done.
func (w *world) haltAt(ctx context.Context, name string, tasks int64) error {
	for {
		var j v1.Job
		if err := w.get(ctx, &j, "get", "job/"+name, "-o", "json"); err != nil {
			return err
		}
		if j.Status.Tasks.Completed >= tasks || j.Status.Phase.Final() {
			break
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	for _, p := range w.processes[1:] {
		if err := p.Stop(); err != nil {
			return err
		}
	}
	return nil
}

func (w *world) get(ctx context.Context, into any, args ...string) error {
	out, err := w.platform.Scimesh(ctx, args...)
	if err != nil {
		return err
	}
	return json.NewDecoder(strings.NewReader(out)).Decode(into)
}

func (w *world) addresses(ctx context.Context) ([]address, error) {
	var workers v1.List[v1.Worker]
	if err := w.get(ctx, &workers, "get", "workers", "-o", "json"); err != nil {
		return nil, err
	}
	c, err := w.platform.Client()
	if err != nil {
		return nil, err
	}
	job, err := c.GetJob(ctx, "aspirin-neighbours")
	if err != nil {
		return nil, err
	}
	drawn := []step{chromedp.WaitVisible(chromedp.CSS(".structure img")), chromedp.Sleep(2 * time.Second)}
	checked := []step{
		chromedp.SetValue(chromedp.CSS("#f-query_smiles"), "CC(=O)Oc1ccccc1C(=O)O"),
		chromedp.Click(chromedp.CSS("button[value=check]")), chromedp.WaitVisible(chromedp.CSS("#yaml")),
	}
	return []address{
		{name: "overview", path: "/ui/"},
		{name: "jobs", path: "/ui/jobs"},
		{name: "job-running", path: "/ui/jobs/gefitinib-screen"},
		{name: "job-failed", path: "/ui/jobs/missing-query"},
		{name: "job-completed", path: "/ui/jobs/aspirin-neighbours"},
		{name: "task", path: "/ui/jobs/aspirin-neighbours/tasks/3"},
		{name: "result", path: "/ui/jobs/aspirin-neighbours/result", before: drawn},
		{name: "graph", path: "/ui/jobs/drug-network/result"},
		{name: "graph-molecule", path: "/ui/jobs/drug-network/result?molecule=propranolol#around", before: drawn},
		{name: "new", path: "/ui/new?from=aspirin-neighbours", before: checked},
		{name: "cancel", path: "/ui/cancel?labels=target%3DEGFR"},
		{name: "workers", path: "/ui/workers"},
		{name: "worker", path: "/ui/workers/" + workers.Items[0].Metadata.UID.String()},
		{name: "controllers", path: "/ui/controllers"},
		{name: "artifacts", path: "/ui/artifacts"},
		{name: "artifact", path: "/ui/artifacts/" + job.Status.Result.Artifact.String()},
		{name: "workloads", path: "/ui/workloads"},
		{name: "workload", path: "/ui/workloads/similarity-search"},
	}, nil
}
