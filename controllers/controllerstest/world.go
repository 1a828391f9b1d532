package controllerstest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap/zaptest"
	"k8s.io/utils/clock"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/artifacts"
	"scimesh.dev/scimesh/artifacts/filesystem"
	"scimesh.dev/scimesh/controllers/jobstep"
	"scimesh.dev/scimesh/store"
	"scimesh.dev/scimesh/store/storetest"
	"scimesh.dev/scimesh/workloads"
)

// Engine is what the test's workers declare.
const Engine = "lines/1"

// World is a database, a folder of artifacts and the workload Lines.
type World struct {
	T        testing.TB
	URL      string
	Store    *store.Store
	Blobs    artifacts.Store
	BlobDir  string
	Lines    *Lines
	Registry *workloads.Registry
}

// New returns an empty world. Options change the store's configuration.
func New(t testing.TB, options ...func(*store.Config)) *World {
	t.Helper()
	dir := t.TempDir()
	blobs, err := filesystem.New(dir, filesystem.Options{})
	if err != nil {
		t.Fatal(err)
	}
	lines := &Lines{}
	url := storetest.NewDatabase(t)
	return &World{T: t, URL: url, Store: storetest.Open(t, url, options...), Blobs: blobs, BlobDir: dir, Lines: lines, Registry: workloads.NewRegistry(lines)}
}

// Env is a coordinator process with the real clock.
func (w *World) Env() jobstep.Env {
	return jobstep.Env{Owner: uuid.New(), Clock: clock.RealClock{}, Log: zaptest.NewLogger(w.T)}
}

// Put stores content as a blob.
func (w *World) Put(content string) artifacts.Blob {
	w.T.Helper()
	blob, err := artifacts.Put(w.T.Context(), w.Blobs, strings.NewReader(content), artifacts.PutOptions{})
	if err != nil {
		w.T.Fatal(err)
	}
	return blob
}

// Read returns the bytes of an artifact, checked.
func (w *World) Read(ref v1.ArtifactRef) string {
	w.T.Helper()
	f, err := artifacts.OpenVerified(w.T.Context(), w.Blobs, artifacts.Blob{SHA256: ref.SHA256, SizeBytes: ref.SizeBytes})
	if err != nil {
		w.T.Fatal(err)
	}
	defer f.Close()
	all, err := io.ReadAll(f)
	if err != nil {
		w.T.Fatal(err)
	}
	return string(all)
}

// MakeJob creates a Job of the workload Lines on an input of n lines.
func (w *World) MakeJob(name string, n int, options ...func(*v1.JobSpec)) store.Job {
	w.T.Helper()
	var input strings.Builder
	for i := range n {
		fmt.Fprintf(&input, "%s line %d\n", name, i)
	}
	blob := w.Put(input.String())
	a, err := w.Store.CreateArtifact(w.T.Context(), store.FileRef{Filename: "in.txt", ContentType: "text/plain", SHA256: blob.SHA256, SizeBytes: blob.SizeBytes})
	if err != nil {
		w.T.Fatal(err)
	}
	spec := v1.JobSpec{Workload: "lines", Input: v1.JobInput{Artifact: &a.ID}, MaxAttempts: 3}
	for _, option := range options {
		option(&spec)
	}
	job, err := w.Store.CreateJob(w.T.Context(), store.CreateJobParams{Name: name, Spec: spec, WorkloadVersion: "1"})
	if err != nil {
		w.T.Fatal(err)
	}
	return job
}

// WantResult is the final file of MakeJob(name, n).
func WantResult(name string, n int) string {
	var out strings.Builder
	for i := range n {
		fmt.Fprintf(&out, "%s LINE %d\n", strings.ToUpper(name), i)
	}
	return out.String()
}

// Job reads a Job again.
func (w *World) Job(id uuid.UUID) store.Job {
	w.T.Helper()
	job, err := w.Store.GetJobByID(w.T.Context(), id)
	if err != nil {
		w.T.Fatal(err)
	}
	return job
}

// Worker registers a worker for Lines.
func (w *World) Worker(name string) store.Worker {
	w.T.Helper()
	worker, err := w.Store.RegisterWorker(w.T.Context(), store.RegisterWorkerParams{
		Name: name, Capabilities: []string{"lines"}, Engine: Engine, CPUCount: 1, MemoryMB: 1,
	})
	if err != nil {
		w.T.Fatal(err)
	}
	return worker
}

// WorkOne claims a task through s and completes it. It reports whether there was one.
func (w *World) WorkOne(ctx context.Context, s *store.Store, worker store.Worker, wait time.Duration) (bool, error) {
	task, ok, err := s.ClaimTask(ctx, store.ClaimParams{Worker: worker.ID, Capabilities: worker.Capabilities, Wait: wait})
	if err != nil || !ok {
		return false, err
	}
	if _, err := s.RenewLease(ctx, store.RenewLeaseParams{Lease: task.Lease}); err != nil {
		return true, err
	}
	in, err := w.Blobs.Open(ctx, task.InputSHA256)
	if err != nil {
		return true, err
	}
	defer in.Close()
	var out bytes.Buffer
	if _, err := w.Lines.Execute(ctx, workloads.TaskRequest{Input: in, Output: &out, Threads: 1}); err != nil {
		return true, err
	}
	blob, err := artifacts.Put(ctx, w.Blobs, &out, artifacts.PutOptions{})
	if err != nil {
		return true, err
	}
	a, err := s.RecordTaskArtifact(ctx, store.RecordTaskArtifactParams{Lease: task.Lease, FileRef: store.FileRef{
		Filename: "partial.txt", ContentType: "text/plain", SHA256: blob.SHA256, SizeBytes: blob.SizeBytes,
	}})
	if err != nil {
		return true, err
	}
	_, err = s.CompleteTask(ctx, store.CompleteTaskParams{Lease: task.Lease, ArtifactID: a.ID, SHA256: a.SHA256})
	return true, err
}

// WorkAll completes tasks until none is left.
func (w *World) WorkAll(worker store.Worker) (tasks int) {
	w.T.Helper()
	for {
		ok, err := w.WorkOne(w.T.Context(), w.Store, worker, 0)
		if err != nil {
			w.T.Fatal(err)
		}
		if !ok {
			return tasks
		}
		tasks++
	}
}

// Exec runs a statement as somebody with psql would.
func (w *World) Exec(sql string, args ...any) {
	w.T.Helper()
	if _, err := storetest.Conn(w.T, w.URL).Exec(w.T.Context(), sql, args...); err != nil {
		w.T.Fatal(err)
	}
}
