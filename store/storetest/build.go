package storetest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/store"
)

// Workload and Engine are what the builders use.
const (
	Workload = "similarity-search"
	Engine   = "test-engine/1"
)

// SHA256 returns the digest of content, in hex.
func SHA256(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}

// File returns a reference to a blob of that content; the blob itself is nowhere.
func File(name, content string) store.FileRef {
	return store.FileRef{Filename: name, ContentType: "text/plain", SHA256: SHA256(content), SizeBytes: int64(len(content))}
}

// MakeInput records an uploaded input.
func MakeInput(t testing.TB, s *store.Store, content string) store.Artifact {
	t.Helper()
	a, err := s.CreateArtifact(t.Context(), File("input.tsv", content))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// JobParams are those of a valid Job on a new input. Options change them.
func JobParams(t testing.TB, s *store.Store, name string, options ...func(*store.CreateJobParams)) store.CreateJobParams {
	t.Helper()
	input := MakeInput(t, s, "input of "+name)
	p := store.CreateJobParams{
		Name: name, Labels: map[string]string{"made-by": "storetest"}, WorkloadVersion: "1",
		Spec: v1.JobSpec{
			Workload: Workload, Input: v1.JobInput{Artifact: &input.ID},
			Parameters: json.RawMessage(`{"query_id":"Q","top_k":5}`), Sharding: v1.Sharding{Rows: 100}, MaxAttempts: 3,
		},
	}
	for _, option := range options {
		option(&p)
	}
	return p
}

// MakeJob creates a Job in phase created.
func MakeJob(t testing.TB, s *store.Store, name string, options ...func(*store.CreateJobParams)) store.Job {
	t.Helper()
	j, err := s.CreateJob(t.Context(), JobParams(t, s, name, options...))
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// MakeRunningJob creates a Job that was planned into n tasks.
func MakeRunningJob(t testing.TB, s *store.Store, name string, n int, options ...func(*store.CreateJobParams)) store.Job {
	t.Helper()
	j := MakeJob(t, s, name, options...)
	Plan(t, s, j, n)
	j, err := s.GetJobByID(t.Context(), j.ID)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// Plan takes a created Job through planning, into n tasks.
func Plan(t testing.TB, s *store.Store, j store.Job, n int) {
	t.Helper()
	_, token, err := s.AcquireJobStep(t.Context(), store.AcquireStepParams{
		Job: j.ID, From: []v1.JobPhase{v1.JobCreated, v1.JobPlanning}, To: v1.JobPlanning,
		Owner: store.NewID(), TTL: time.Minute,
	})
	if err != nil {
		t.Fatal(err)
	}
	p := store.FinishPlanningParams{Shared: json.RawMessage(`{"query_smiles":"CCO"}`), RowsRead: int64(n)}
	for i := range n {
		shard := File(fmt.Sprintf("shard-%d.tsv", i), fmt.Sprintf("shard %d of %s", i, j.Name))
		p.Tasks = append(p.Tasks, store.PlannedTask{Input: &shard, SHA256: shard.SHA256})
	}
	if err := s.FinishPlanning(t.Context(), token, p); err != nil {
		t.Fatal(err)
	}
}

// MakeWorker registers a worker that can do Workload with Engine.
func MakeWorker(t testing.TB, s *store.Store, name string, options ...func(*store.RegisterWorkerParams)) store.Worker {
	t.Helper()
	p := store.RegisterWorkerParams{Name: name, Capabilities: []string{Workload}, Engine: Engine, CPUCount: 1, MemoryMB: 1024}
	for _, option := range options {
		option(&p)
	}
	w, err := s.RegisterWorker(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// Claim leases a task to a worker; the test fails if there is none.
func Claim(t testing.TB, s *store.Store, w store.Worker) store.LeasedTask {
	t.Helper()
	task, ok := TryClaim(t, s, w)
	if !ok {
		t.Fatalf("worker %s: no task to claim", w.Name)
	}
	return task
}

// TryClaim leases a task to a worker, if there is one.
func TryClaim(t testing.TB, s *store.Store, w store.Worker) (store.LeasedTask, bool) {
	t.Helper()
	task, ok, err := s.ClaimTask(t.Context(), store.ClaimParams{Worker: w.ID, Capabilities: w.Capabilities})
	if err != nil {
		t.Fatal(err)
	}
	return task, ok
}

// Record records a partial result of that content.
func Record(t testing.TB, s *store.Store, task store.LeasedTask, content string) store.Artifact {
	t.Helper()
	a, err := s.RecordTaskArtifact(context.Background(), store.RecordTaskArtifactParams{Lease: task.Lease, FileRef: File("partial.csv", content)})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// Complete records a partial result of that content and completes the task.
func Complete(t testing.TB, s *store.Store, task store.LeasedTask, content string) store.Artifact {
	t.Helper()
	a := Record(t, s, task, content)
	if _, err := s.CompleteTask(context.Background(), store.CompleteTaskParams{Lease: task.Lease, ArtifactID: a.ID, SHA256: a.SHA256}); err != nil {
		t.Fatal(err)
	}
	return a
}
