//go:build unix

package e2e

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"scimesh.dev/scimesh/api/client"
	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/api/wire"
	"scimesh.dev/scimesh/chem"
	"scimesh.dev/scimesh/hack/internal/platform"
	"scimesh.dev/scimesh/workloads/golden"
)

func newClient(t *testing.T, p *platform.Platform) *client.Client {
	t.Helper()
	c, err := p.Client()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func getJob(t *testing.T, c *client.Client, name string) v1.Job {
	t.Helper()
	job, err := c.GetJob(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return job
}

// await waits until cond is true, and fails the test with what after a minute.
func await(t *testing.T, what string, cond func() bool) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for !cond() {
		if time.Now().After(deadline) {
			t.Fatalf("waited a minute for: %s", what)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// slow is a search whose only task takes some seconds.
func slow(t *testing.T, name string) search {
	const rows = 400_000
	return search{name: name, path: molecules(t, rows), rows: rows, parameters: `{query_smiles: "Cc1ccc(O)cc1N", top_k: 100}`}
}

// A worker that was stopped past its lease has lost it; when it goes on it
// gets 409, and what it has computed harms nothing.
func TestAStoppedWorkerHarmsNothing(t *testing.T) {
	p := start(t, platform.Options{Coordinator: []string{"COORDINATOR_LEASE_TTL=2s"}})
	coordinator(t, p)
	stopped := worker(t, p, "stopped")
	c := newClient(t, p)
	s := slow(t, "stopped")
	manifest := s.write(t)
	scimesh(t, p, "apply", "-f", manifest)
	await(t, "the task to run", func() bool { return getJob(t, c, s.name).Status.Tasks.Running == 1 })
	if err := stopped.Stop(); err != nil {
		t.Fatal(err)
	}
	await(t, "the lease to expire", func() bool { return getJob(t, c, s.name).Status.Tasks.Pending == 1 })
	worker(t, p, "other")
	await(t, "the other worker to take over", func() bool { return getJob(t, c, s.name).Status.Tasks.Running == 1 })
	if err := stopped.Continue(); err != nil {
		t.Fatal(err)
	}
	scimesh(t, p, "wait", "job/"+s.name, "--timeout", "2m")
	if got, want := download(t, p, s.name), local(t, p, manifest); !bytes.Equal(got, want) {
		t.Error("the result differs from that of one process")
	}
	task := onlyTask(t, c, s.name)
	if task.Status.LostLeases != 1 || task.Status.Failures != 0 || task.Status.WorkerName == "stopped" {
		t.Errorf("task %+v, want one lost lease and no failure", task.Status)
	}
	log := read(t, p.LogPath("coordinator"))
	if !bytes.Contains(log, []byte(`"status":409`)) {
		t.Error("the stopped worker got no 409")
	}
	select {
	case <-stopped.Done():
		t.Error("the stopped worker has ended; it should have moved on")
	default:
	}
	verify(t, p)
}

func onlyTask(t *testing.T, c *client.Client, job string) v1.Task {
	t.Helper()
	list, err := c.ListJobTasks(t.Context(), job, wire.ListJobTasksParams{})
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Items) != 1 {
		t.Fatalf("%d tasks, want 1", len(list.Items))
	}
	task, err := c.GetTask(t.Context(), list.Items[0].Metadata.UID.String())
	if err != nil {
		t.Fatal(err)
	}
	return task
}

// Leases are the database's: with the clocks of coordinator and worker an hour
// off, none expires early and none lives longer.
func TestClocksMayBeAnHourOff(t *testing.T) {
	for _, skew := range []string{"+1h", "-1h"} {
		t.Run(skew, func(t *testing.T) {
			p := start(t, platform.Options{Postgres: skewed(t, skew), Coordinator: []string{"COORDINATOR_LEASE_TTL=3s"}})
			coordinator(t, p)
			c := newClient(t, p)
			wantSkew(t, p, skew)
			w := worker(t, p, "worker")
			s := slow(t, "skewed")
			scimesh(t, p, "apply", "-f", s.write(t))
			scimesh(t, p, "wait", "job/"+s.name, "--timeout", "2m")
			if task := onlyTask(t, c, s.name); task.Status.Attempt != 1 || task.Status.LostLeases != 0 {
				t.Errorf("task %+v, want one attempt that kept its lease", task.Status)
			}
			s.name = "expires"
			scimesh(t, p, "apply", "-f", s.write(t))
			await(t, "the task to run", func() bool { return getJob(t, c, s.name).Status.Tasks.Running == 1 })
			w.Kill()
			begin := time.Now()
			await(t, "the lease to expire", func() bool { return getJob(t, c, s.name).Status.Tasks.Pending == 1 })
			if took := time.Since(begin); took > 8*time.Second {
				t.Errorf("the lease of 3 s was reclaimed after %v", took)
			}
		})
	}
}

// skewed is the environment in which a process sees another time.
func skewed(t *testing.T, skew string) []string {
	t.Helper()
	libraries, err := filepath.Glob("/usr/lib/*/faketime/libfaketime.so.1")
	if err != nil || len(libraries) == 0 {
		if os.Getenv("CI") == "true" {
			t.Fatal("libfaketime is not installed")
		}
		t.Skip("libfaketime is not installed")
	}
	return []string{"LD_PRELOAD=" + libraries[0], "FAKETIME=" + skew, "FAKETIME_DONT_FAKE_MONOTONIC=1"}
}

// wantSkew makes sure that the test tests something.
func wantSkew(t *testing.T, p *platform.Platform, skew string) {
	t.Helper()
	want, err := time.ParseDuration(strings.TrimPrefix(skew, "+"))
	if err != nil {
		t.Fatal(err)
	}
	name := "clock"
	scimesh(t, p, "apply", "-f", search{name: name, path: molecules(t, 10), rows: 10, parameters: `{query_smiles: CCO}`}.write(t))
	created := getJob(t, newClient(t, p), name).Metadata.CreationTimestamp
	if off := time.Until(created.Time) - want; off.Abs() > time.Minute {
		t.Fatalf("the database's clock is %v off, want %v", time.Until(created.Time), want)
	}
	scimesh(t, p, "delete", "job/"+name)
}

// A worker that starts before the coordinator waits for it, and one whose
// coordinator goes away delivers what it has finished when it is back, without
// computing it again.
func TestWorkersOutliveTheCoordinator(t *testing.T) {
	p := start(t, platform.Options{Coordinator: []string{"COORDINATOR_LEASE_TTL=3s"}})
	worker(t, p, "early")
	time.Sleep(300 * time.Millisecond) // the worker's first attempts fail
	c1 := coordinator(t, p)
	c := newClient(t, p)
	s := slow(t, "outage")
	manifest := s.write(t)
	scimesh(t, p, "apply", "-f", manifest)
	await(t, "the task to run", func() bool { return getJob(t, c, s.name).Status.Tasks.Running == 1 })
	c1.Kill()
	time.Sleep(8 * time.Second) // longer than the lease, and than the computation takes
	coordinator(t, p)
	scimesh(t, p, "wait", "job/"+s.name, "--timeout", "2m")
	task := onlyTask(t, c, s.name)
	if task.Status.Attempt != 1 || task.Status.LostLeases != 0 {
		t.Errorf("task %+v, want the first attempt to have been delivered", task.Status)
	}
	if got, want := download(t, p, s.name), local(t, p, manifest); !bytes.Equal(got, want) {
		t.Error("the result differs from that of one process")
	}
}

func TestCancelStopsTheWorkerWithinItsHeartbeat(t *testing.T) {
	p := start(t, platform.Options{Coordinator: []string{"COORDINATOR_LEASE_TTL=4s"}})
	coordinator(t, p)
	worker(t, p, "worker")
	c := newClient(t, p)
	s := slow(t, "unwanted")
	scimesh(t, p, "apply", "-f", s.write(t))
	await(t, "the task to run", func() bool { return getJob(t, c, s.name).Status.Tasks.Running == 1 })
	scimesh(t, p, "cancel", "job/"+s.name)
	_, err := p.Scimesh(t.Context(), "wait", "job/"+s.name, "--timeout", "30s")
	wantExit(t, err, 5)
	if tasks := getJob(t, c, s.name).Status.Tasks; tasks.Completed != 0 {
		t.Errorf("tasks %+v of a cancelled job", tasks)
	}
	// The worker is free for other work well before the computation would have ended.
	next := search{name: "next", path: molecules(t, 50), rows: 50, parameters: `{query_smiles: CCO}`}
	scimesh(t, p, "apply", "-f", next.write(t))
	scimesh(t, p, "wait", "job/next", "--timeout", "30s")
	verify(t, p)
}

// wantExit checks the exit code of a command.
func wantExit(t *testing.T, err error, code int) {
	t.Helper()
	var exit interface{ ExitCode() int }
	if !errors.As(err, &exit) || exit.ExitCode() != code {
		t.Errorf("error %v, want exit code %d", err, code)
	}
}

// A worker that fails whatever it is given, at once, is put into quarantine;
// the job's attempts are not burnt on it.
func TestAWorkerThatFailsEverythingIsQuarantined(t *testing.T) {
	p := start(t, platform.Options{})
	coordinator(t, p)
	c := newClient(t, p)
	bad := registerFake(t, p, "broken")
	const tasks = 40
	manifest := search{name: "survivor", path: molecules(t, tasks*10), rows: 10, parameters: `{query_smiles: CCO}`}.write(t)
	scimesh(t, p, "apply", "-f", manifest)

	failed := 0
	await(t, "the quarantine of the broken worker", func() bool {
		failed += failOne(t, bad)
		w, err := c.GetWorker(t.Context(), bad.id)
		if err != nil {
			t.Fatal(err)
		}
		return w.Status.QuarantinedUntil != nil
	})
	if failed > 5 {
		t.Errorf("the worker was let to fail %d times before", failed)
	}
	if n := failOne(t, bad); n != 0 {
		t.Error("a worker in quarantine was given a task")
	}
	w, err := c.GetWorker(t.Context(), bad.id)
	if err != nil {
		t.Fatal(err)
	}
	if cond := v1.FindCondition(w.Status.Conditions, v1.WorkerConditionQuarantined); cond == nil || cond.Status != v1.ConditionTrue || cond.Message == "" {
		t.Errorf("conditions %+v, want Quarantined with a message", w.Status.Conditions)
	}
	worker(t, p, "healthy")
	scimesh(t, p, "wait", "job/survivor", "--timeout", "2m")
	failures := 0
	list, err := c.ListJobTasks(t.Context(), "survivor", wire.ListJobTasksParams{})
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range list.Items {
		failures += int(task.Status.Failures)
	}
	if failures > 1 {
		t.Errorf("%d failures are counted against the job's tasks", failures)
	}
	verify(t, p)
}

// fake is a worker that a test plays.
type fake struct {
	*client.Client
	id uuid.UUID
}

func registerFake(t *testing.T, p *platform.Platform, name string) fake {
	t.Helper()
	c, err := client.New(p.URL(), p.WorkerToken(), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	registered, err := c.RegisterWorker(t.Context(), wire.RegisterRequest{
		Name: name, Capabilities: []string{"similarity-search"}, CPUCount: 1, MemoryMB: 1024, Engine: chem.EngineName, Golden: golden.Answers(),
	})
	if err != nil {
		t.Fatal(err)
	}
	return fake{c, registered.WorkerID}
}

// failOne claims a task and fails it; it reports how many it was given.
func failOne(t *testing.T, f fake) int {
	t.Helper()
	task, err := f.ClaimTask(t.Context(), wire.ClaimRequest{WorkerID: f.id, Capabilities: []string{"similarity-search"}, MaxConcurrency: 1})
	if err != nil {
		t.Fatal(err)
	}
	if task == nil {
		time.Sleep(50 * time.Millisecond)
		return 0
	}
	lease := client.Lease{Task: task.TaskID, Worker: f.id, Attempt: task.Attempt}
	if _, err := f.FailTask(t.Context(), lease, "DiskFull", "no space left on device", true); err != nil {
		t.Fatal(err)
	}
	return 1
}

func TestATerminatedWorkerHandsBackAtNoCost(t *testing.T) {
	p := start(t, platform.Options{Worker: []string{"SCIMESH_DRAIN_TIMEOUT=0s"}})
	coordinator(t, p)
	w := worker(t, p, "leaving")
	c := newClient(t, p)
	s := slow(t, "handed-back")
	scimesh(t, p, "apply", "-f", s.write(t))
	await(t, "the task to run", func() bool { return getJob(t, c, s.name).Status.Tasks.Running == 1 })
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := w.Terminate(ctx); err != nil {
		t.Errorf("the worker's end: %v", err)
	}
	task := onlyTask(t, c, s.name)
	if task.Status.Phase != v1.TaskPending || task.Status.Failures != 0 || task.Status.LostLeases != 0 {
		t.Errorf("task %+v, want it pending and nothing counted", task.Status)
	}
	worker(t, p, "staying")
	scimesh(t, p, "wait", "job/"+s.name, "--timeout", "2m")
	verify(t, p)
}

func TestOneWorkDirIsOneWorker(t *testing.T) {
	p := start(t, platform.Options{})
	coordinator(t, p)
	c := newClient(t, p)
	workers := func() []v1.Worker {
		list, err := c.ListWorkers(t.Context(), wire.ListWorkersParams{})
		if err != nil {
			t.Fatal(err)
		}
		return list.Items
	}
	first := worker(t, p, "same")
	await(t, "the worker to register", func() bool { return len(workers()) == 1 })
	second := worker(t, p, "same")
	<-second.Done()
	if n := len(workers()); n != 1 {
		t.Errorf("%d workers from one work dir", n)
	}
	first.Kill()
	third := worker(t, p, "same")
	s := search{name: "again", path: molecules(t, 50), rows: 50, parameters: `{query_smiles: CCO}`}
	scimesh(t, p, "apply", "-f", s.write(t))
	scimesh(t, p, "wait", "job/again", "--timeout", "30s")
	if n := len(workers()); n != 1 {
		t.Errorf("%d workers after a restart, want the same one", n)
	}
	third.Kill()
}

// The settings that hold secrets do not show in the list of processes.
func TestTokensAreNotInTheListOfProcesses(t *testing.T) {
	p := start(t, platform.Options{})
	procs := []*platform.Process{coordinator(t, p), worker(t, p, "worker")}
	for _, proc := range procs {
		line, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(proc.PID()), "cmdline"))
		if errors.Is(err, os.ErrNotExist) {
			t.Skip("this system has no /proc")
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, secret := range p.Secrets() {
			if bytes.Contains(line, []byte(secret)) {
				t.Errorf("%s has a token among its arguments", proc.Name)
			}
		}
	}
	resp, err := http.Get(p.URL() + "/workers")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("status %d without a token, want 401", resp.StatusCode)
	}
}
