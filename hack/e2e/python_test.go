//go:build unix

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/hack/internal/platform"
)

// pythonProgram is the installed Python worker.
func pythonProgram(t *testing.T) string {
	t.Helper()
	program, err := filepath.Abs(filepath.Join("..", "..", ".cache", "venv", "bin", "scimesh-worker"))
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(program, "--version").CombinedOutput(); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("the Python worker is not installed (run hack/bootstrap python): %v\n%s", err, out)
		}
		t.Skip("the Python worker is not installed; hack/bootstrap python installs it")
	}
	return program
}

func pythonWorker(t *testing.T, p *platform.Platform, name string, env ...string) *platform.Process {
	t.Helper()
	w, err := p.StartPythonWorker(name, pythonProgram(t), env...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Kill)
	return w
}

// completed counts the tasks that a worker of that name says it has completed.
func completed(t *testing.T, p *platform.Platform, name string) int {
	t.Helper()
	return bytes.Count(read(t, p.LogPath(name)), []byte(`"task completed"`))
}

// One job may be computed half by Go and half by Python; the file is that of
// either alone and of one process.
func TestGoAndPythonWorkersShareAJob(t *testing.T) {
	p := start(t, platform.Options{})
	coordinator(t, p)
	path := molecules(t, 2400)
	for label, parameters := range map[string]string{
		"greater": `{query_smiles: "Cc1ccc(O)cc1N", top_k: 50}`,
		"less":    `{query_id: MOL17, top_k: 200, threshold: "0.2", threshold_direction: less}`,
	} {
		s := search{name: "python-" + label, path: path, rows: 400, parameters: parameters}
		want := local(t, p, s.write(t))
		if len(bytes.Split(want, []byte("\r\n"))) < 20 {
			t.Fatalf("%s: too few hits to prove anything:\n%s", label, want)
		}
		runAlone(t, p, s, pythonWorker(t, p, "py-alone-"+label), want)
		s.name = "go-" + label
		runAlone(t, p, s, worker(t, p, "go-alone-"+label), want)

		s.name, s.engine = "shared-"+label, "any"
		scimesh(t, p, "apply", "-f", s.write(t))
		// Each of the two computes three tasks and ends.
		for _, w := range []*platform.Process{
			pythonWorker(t, p, "py-"+label, "SCIMESH_MAX_TASKS=3"), goWorker(t, p, "go-"+label, "SCIMESH_MAX_TASKS=3"),
		} {
			<-w.Done()
		}
		scimesh(t, p, "wait", "job/"+s.name, "--timeout", "3m")
		if got := download(t, p, s.name); !bytes.Equal(got, want) {
			t.Errorf("%s: the shared result differs from that of one process:\n%s\nwant\n%s", label, got, want)
		}
		if py, other := completed(t, p, "py-"+label), completed(t, p, "go-"+label); py != 3 || other != 3 {
			t.Errorf("%d tasks by the Python worker and %d by the Go worker, want three each", py, other)
		}
	}
	verify(t, p)
}

func goWorker(t *testing.T, p *platform.Platform, name string, env ...string) *platform.Process {
	t.Helper()
	w, err := p.StartWorker(name, env...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Kill)
	return w
}

// runAlone has one worker compute a job, and ends it.
func runAlone(t *testing.T, p *platform.Platform, s search, w *platform.Process, want []byte) {
	t.Helper()
	scimesh(t, p, "apply", "-f", s.write(t))
	scimesh(t, p, "wait", "job/"+s.name, "--timeout", "3m")
	if got := download(t, p, s.name); !bytes.Equal(got, want) {
		t.Errorf("%s: the result differs from that of one process:\n%s\nwant\n%s", s.name, got, want)
	}
	if err := w.Interrupt(); err != nil {
		t.Fatal(err)
	}
	<-w.Done()
}

// slowPython is a search whose only task takes a Python worker some ten seconds.
func slowPython(t *testing.T, name string) search {
	const rows = 60_000
	return search{name: name, path: molecules(t, rows), rows: rows, parameters: `{query_smiles: "Cc1ccc(O)cc1N", top_k: 100}`}
}

func awaitRunning(t *testing.T, p *platform.Platform, job string) {
	t.Helper()
	c := newClient(t, p)
	await(t, "the task to run", func() bool { return getJob(t, c, job).Status.Tasks.Running == 1 })
}

// A long task renews its lease several times; one whose worker was killed is
// computed by another; one that was stopped past its lease gets 409 and moves on.
func TestKilledAndStoppedPythonWorkers(t *testing.T) {
	p := start(t, platform.Options{Coordinator: []string{"COORDINATOR_LEASE_TTL=3s"}})
	coordinator(t, p)
	s := slowPython(t, "python-faults")
	manifest := s.write(t)
	scimesh(t, p, "apply", "-f", manifest)

	killed := pythonWorker(t, p, "killed")
	awaitRunning(t, p, s.name)
	killed.Kill()
	c := newClient(t, p)
	await(t, "the lease to expire", func() bool { return getJob(t, c, s.name).Status.Tasks.Pending == 1 })

	stopped := pythonWorker(t, p, "stopped")
	awaitRunning(t, p, s.name)
	if err := stopped.Stop(); err != nil {
		t.Fatal(err)
	}
	await(t, "the lease to expire", func() bool { return getJob(t, c, s.name).Status.Tasks.Pending == 1 })
	pythonWorker(t, p, "other")
	awaitRunning(t, p, s.name)
	if err := stopped.Continue(); err != nil {
		t.Fatal(err)
	}
	scimesh(t, p, "wait", "job/"+s.name, "--timeout", "3m")
	if got, want := download(t, p, s.name), local(t, p, manifest); !bytes.Equal(got, want) {
		t.Error("the result differs from that of one process")
	}
	task := onlyTask(t, c, s.name)
	if task.Status.LostLeases != 2 || task.Status.Failures != 0 || completed(t, p, "other") != 1 {
		t.Errorf("task %+v, want two lost leases, no failure, and the other worker's result", task.Status)
	}
	var metrics struct {
		Seconds float64 `json:"elapsed_seconds"`
	}
	if err := json.Unmarshal(task.Status.Metrics, &metrics); err != nil || metrics.Seconds < 3 {
		t.Errorf("%v, the task took %v s, too little to need a renewed lease of 3 s", err, metrics.Seconds)
	}
	if !bytes.Contains(read(t, p.LogPath("coordinator")), []byte(`"status":409`)) {
		t.Error("the stopped worker got no 409")
	}
	select {
	case <-stopped.Done():
		t.Error("the stopped worker has ended; it should have moved on")
	default:
	}
	// What the killed worker left in its work dir is no obstacle to its successor.
	next := search{name: "next", path: molecules(t, 50), rows: 50, parameters: `{query_smiles: CCO}`}
	pythonWorker(t, p, "killed")
	scimesh(t, p, "apply", "-f", next.write(t))
	scimesh(t, p, "wait", "job/next", "--timeout", "2m")
	verify(t, p)
}

// outage is how long the coordinator stays away: a minute with E2E_LONG set, and
// else as long as leaves no doubt that the lease has run out.
func outage() time.Duration {
	if os.Getenv("E2E_LONG") != "" {
		return time.Minute
	}
	return 10 * time.Second
}

// Work that is finished while the coordinator is away is delivered when it is
// back, also by another process in the same work dir; nothing is computed again.
func TestPythonWorkersOutliveTheCoordinator(t *testing.T) {
	for name, restart := range map[string]bool{"the same process": false, "a restarted worker": true} {
		t.Run(name, func(t *testing.T) {
			p := start(t, platform.Options{Coordinator: []string{"COORDINATOR_LEASE_TTL=3s"}})
			first := coordinator(t, p)
			w := pythonWorker(t, p, "outage")
			s := search{name: "outage", path: molecules(t, 20_000), rows: 20_000, parameters: `{query_smiles: "Cc1ccc(O)cc1N", top_k: 100}`}
			manifest := s.write(t)
			scimesh(t, p, "apply", "-f", manifest)
			awaitRunning(t, p, s.name)
			first.Kill()
			begin := time.Now()
			await(t, "the computation to end", func() bool {
				states, _ := filepath.Glob(filepath.Join(p.Dir(), "workers", "outage", "tasks", "*", "state.json"))
				return len(states) == 1 && bytes.Contains(read(t, states[0]), []byte(`"stage": "computed"`))
			})
			if restart {
				w.Kill()
				pythonWorker(t, p, "outage")
			}
			time.Sleep(max(0, outage()-time.Since(begin)))
			coordinator(t, p)
			scimesh(t, p, "wait", "job/"+s.name, "--timeout", "3m")
			task := onlyTask(t, newClient(t, p), s.name)
			if task.Status.Attempt != 1 || task.Status.LostLeases != 0 {
				t.Errorf("task %+v, want the first attempt to have been delivered", task.Status)
			}
			if got, want := download(t, p, s.name), local(t, p, manifest); !bytes.Equal(got, want) {
				t.Error("the result differs from that of one process")
			}
			verify(t, p)
		})
	}
}

// A molecule that keeps RDKit busy costs its row, not the shard.
func TestAStallingMoleculeIsRejected(t *testing.T) {
	p := start(t, platform.Options{})
	coordinator(t, p)
	pythonWorker(t, p, "worker", "SCIMESH_ROW_TIMEOUT=2s")
	table := read(t, molecules(t, 90))
	table = fmt.Appendf(table, "x\t%s\tstalls\nx\tCCO\tafter\n", strings.Repeat("C", 100_000))
	path := filepath.Join(t.TempDir(), "stalling.tsv")
	if err := os.WriteFile(path, table, 0o600); err != nil {
		t.Fatal(err)
	}
	s := search{name: "stalling", path: path, rows: 100, parameters: `{query_smiles: CCN, top_k: 1000}`}
	scimesh(t, p, "apply", "-f", s.write(t))
	scimesh(t, p, "wait", "job/stalling", "--timeout", "3m")
	c := newClient(t, p)
	job := getJob(t, c, "stalling")
	if job.Status.Phase != v1.JobCompleted || job.Status.Ledger.Rejected["RowTimeout"] != 1 {
		t.Errorf("the job is %s with the ledger %+v, want one row rejected as RowTimeout", job.Status.Phase, job.Status.Ledger)
	}
	if result := download(t, p, "stalling"); !bytes.Contains(result, []byte(",after,CCO,")) {
		t.Errorf("the row after it is missing:\n%s", result)
	}
	if task := onlyTask(t, c, "stalling"); task.Status.Attempt != 1 {
		t.Errorf("%d attempts, want one", task.Status.Attempt)
	}
}

// Ctrl-C hands the task back at no cost.
func TestAnInterruptedPythonWorkerHandsBack(t *testing.T) {
	p := start(t, platform.Options{})
	coordinator(t, p)
	w := pythonWorker(t, p, "leaving")
	s := slowPython(t, "handed-back")
	scimesh(t, p, "apply", "-f", s.write(t))
	awaitRunning(t, p, s.name)
	if err := w.Interrupt(); err != nil {
		t.Fatal(err)
	}
	<-w.Done()
	if code := w.ExitCode(); code != 130 {
		t.Errorf("exit status %d, want 130", code)
	}
	task := onlyTask(t, newClient(t, p), s.name)
	if task.Status.Phase != v1.TaskPending || task.Status.Failures != 0 || task.Status.LostLeases != 0 {
		t.Errorf("task %+v, want it pending and nothing counted", task.Status)
	}
}

// Cancelling a job stops the computation of a Python worker within a heartbeat.
func TestCancelStopsThePythonWorker(t *testing.T) {
	p := start(t, platform.Options{Coordinator: []string{"COORDINATOR_LEASE_TTL=4s"}})
	coordinator(t, p)
	pythonWorker(t, p, "worker")
	s := slowPython(t, "unwanted")
	scimesh(t, p, "apply", "-f", s.write(t))
	awaitRunning(t, p, s.name)
	scimesh(t, p, "cancel", "job/"+s.name)
	next := search{name: "next", path: molecules(t, 50), rows: 50, parameters: `{query_smiles: CCO}`}
	scimesh(t, p, "apply", "-f", next.write(t))
	scimesh(t, p, "wait", "job/next", "--timeout", "2m")
	if tasks := getJob(t, newClient(t, p), s.name).Status.Tasks; tasks.Completed != 0 {
		t.Errorf("tasks %+v of a cancelled job", tasks)
	}
}
