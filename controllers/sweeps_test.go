package controllers_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap/zaptest"
	clocktesting "k8s.io/utils/clock/testing"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/artifacts"
	"scimesh.dev/scimesh/controllers/controllerstest"
	"scimesh.dev/scimesh/controllers/janitor"
	"scimesh.dev/scimesh/controllers/leasereaper"
	"scimesh.dev/scimesh/controllers/workerliveness"
	"scimesh.dev/scimesh/reconcile"
	"scimesh.dev/scimesh/store"
)

// sweepNow is a settable time for the database and the janitor alike.
type sweepNow struct {
	clock *clocktesting.FakePassiveClock
}

func newSweepNow() sweepNow {
	return sweepNow{clocktesting.NewFakePassiveClock(time.Now().UTC().Truncate(time.Second))}
}

func (n sweepNow) config(c *store.Config) { c.Now = n.clock.Now }

func (n sweepNow) pass(d time.Duration) { n.clock.SetTime(n.clock.Now().Add(d)) }

func sweep(t *testing.T, r reconcile.Reconciler, key string) time.Duration {
	t.Helper()
	result, err := r.Reconcile(t.Context(), reconcile.Request{Key: key})
	if err != nil {
		t.Fatal(err)
	}
	return result.RequeueAfter
}

func TestReaperReturnsExpiredLeasesAndFailsWhatLostTooMany(t *testing.T) {
	now := newSweepNow()
	f := newFixture(t, now.config, func(c *store.Config) { c.LeaseTTL = time.Minute })
	reaper := &leasereaper.Reconciler{Store: f.Store, Every: time.Second, Log: zaptest.NewLogger(t)}
	job := f.MakeJob("leases", 1, func(s *v1.JobSpec) { s.MaxAttempts = 2 })
	f.run(f.planner, job.ID)
	w := f.Worker("w")
	for lost := 1; lost <= 2; lost++ {
		if _, ok, err := f.Store.ClaimTask(t.Context(), store.ClaimParams{Worker: w.ID, Capabilities: w.Capabilities}); err != nil || !ok {
			t.Fatal(ok, err)
		}
		now.pass(59 * time.Second)
		sweep(t, reaper, leasereaper.Key)
		if got := f.Job(job.ID).Tasks; got.Leased != 1 {
			t.Fatalf("tasks %+v: a living lease was reaped", got)
		}
		now.pass(2 * time.Second)
		if again := sweep(t, reaper, leasereaper.Key); again != time.Second {
			t.Errorf("look again in %v, want 1s", again)
		}
		f.Worker("w") // the worker is heard of again
		w = f.Worker("w")
	}
	if got := f.Job(job.ID).Tasks; got.Failed != 1 {
		t.Fatalf("tasks %+v, want one failed", got)
	}
	f.run(f.reducer, job.ID)
	if got := f.wantPhase(job.ID, v1.JobFailed); got.ErrorCode != v1.ReasonTaskFailed {
		t.Errorf("error code %s", got.ErrorCode)
	}
}

func TestLivenessFollowsSignsOfLife(t *testing.T) {
	now := newSweepNow()
	f := newFixture(t, now.config, func(c *store.Config) { c.LeaseTTL = time.Hour })
	liveness := &workerliveness.Reconciler{Store: f.Store, OfflineAfter: time.Minute, Every: 10 * time.Second, Log: zaptest.NewLogger(t)}
	w := f.Worker("w")
	phase := func() v1.WorkerPhase {
		t.Helper()
		sweep(t, liveness, workerliveness.Key)
		got, err := f.Store.GetWorker(t.Context(), w.ID)
		if err != nil {
			t.Fatal(err)
		}
		return got.Phase
	}
	if got := phase(); got != v1.WorkerOnline {
		t.Errorf("phase %s, want online", got)
	}
	now.pass(61 * time.Second)
	if got := phase(); got != v1.WorkerOffline {
		t.Errorf("phase %s after a minute of silence, want offline", got)
	}
	// An offline worker is told to register, and is then online again.
	_, _, err := f.Store.ClaimTask(t.Context(), store.ClaimParams{Worker: w.ID, Capabilities: w.Capabilities})
	if !errors.Is(err, store.ErrNotFound) {
		t.Errorf("claim of an offline worker: %v, want ErrNotFound", err)
	}
	if _, err := f.Store.RegisterWorker(t.Context(), store.RegisterWorkerParams{ID: w.ID, Name: "w", Capabilities: []string{"lines"}, Engine: controllerstest.Engine, CPUCount: 1, MemoryMB: 1}); err != nil {
		t.Fatal(err)
	}
	job := f.MakeJob("busy", 1)
	f.run(f.planner, job.ID)
	if _, ok, err := f.Store.ClaimTask(t.Context(), store.ClaimParams{Worker: w.ID, Capabilities: w.Capabilities}); err != nil || !ok {
		t.Fatal(ok, err)
	}
	if got := phase(); got != v1.WorkerBusy {
		t.Errorf("phase %s with a lease, want busy", got)
	}
}

// newJanitor keeps nothing longer than an hour.
func newJanitor(t *testing.T, f *fixture, now sweepNow) *janitor.Reconciler {
	return &janitor.Reconciler{Store: f.Store, Artifacts: f.Blobs, Clock: now.clock, Log: zaptest.NewLogger(t), Config: janitor.Config{
		JobsEvery: time.Second, BlobsEvery: time.Minute, StagingEvery: time.Minute, UnusedInputs: time.Hour, Events: time.Hour, BlobGrace: time.Hour, StagingGrace: time.Hour,
	}}
}

func blobCount(t *testing.T, f *fixture) (n int) {
	t.Helper()
	for _, err := range f.Blobs.List(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	return n
}

func TestJanitorDeletesAJobAndLaterItsBlobs(t *testing.T) {
	now := newSweepNow()
	f := newFixture(t, now.config)
	j := newJanitor(t, f, now)
	job := f.MakeJob("short-lived", 2, func(s *v1.JobSpec) { s.TTLSecondsAfterFinished = 30 })
	other := f.MakeJob("kept", 1)
	for _, id := range []uuid.UUID{job.ID, other.ID} {
		f.run(f.planner, id)
	}
	f.WorkAll(f.Worker("w"))
	for _, id := range []uuid.UUID{job.ID, other.ID} {
		f.run(f.reducer, id)
	}
	now.pass(29 * time.Second)
	sweep(t, j, janitor.KeyJobs)
	f.wantPhase(job.ID, v1.JobCompleted)
	now.pass(time.Second)
	sweep(t, j, janitor.KeyJobs)
	if _, err := f.Store.GetJobByID(t.Context(), job.ID); !errors.Is(err, store.ErrNotFound) {
		t.Fatalf("error %v, want the job gone", err)
	}
	before := blobCount(t, f)
	sweep(t, j, janitor.KeyBlobs)
	if got := blobCount(t, f); got != before {
		t.Errorf("%d of %d blobs left: young blobs must stay", got, before)
	}
	now.pass(2 * time.Hour)
	sweep(t, j, janitor.KeyInputs)
	sweep(t, j, janitor.KeyBlobs)
	// The kept job has its input, one shard, one partial result and the final one, of which two pairs are equal.
	kept := f.Job(other.ID)
	if got, want := f.Read(kept.Result.ArtifactRef), controllerstest.WantResult("kept", 1); got != want {
		t.Errorf("the kept job's result is %q, want %q", got, want)
	}
	if got := blobCount(t, f); got != 2 {
		t.Errorf("%d blobs left, want the 2 of the kept job", got)
	}
}

func TestJanitorLeavesADeletedJobToTheCancellerFirst(t *testing.T) {
	now := newSweepNow()
	f := newFixture(t, now.config)
	j := newJanitor(t, f, now)
	job := f.MakeJob("deleted", 2)
	f.run(f.planner, job.ID)
	if _, err := f.Store.RequestDelete(t.Context(), "deleted"); err != nil {
		t.Fatal(err)
	}
	sweep(t, j, janitor.KeyJobs)
	f.run(f.canceller, job.ID)
	f.wantPhase(job.ID, v1.JobCancelled)
	sweep(t, j, janitor.KeyJobs)
	if _, err := f.Store.GetJobByID(t.Context(), job.ID); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("error %v, want the job gone", err)
	}
}

func TestJanitorSweepsInputsEventsAndStaging(t *testing.T) {
	now := newSweepNow()
	f := newFixture(t, now.config)
	j := newJanitor(t, f, now)
	blob := f.Put("nobody wants this")
	a, err := f.Store.CreateArtifact(t.Context(), store.FileRef{Filename: "x", ContentType: "text/plain", SHA256: blob.SHA256, SizeBytes: blob.SizeBytes})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Store.RecordEvent(t.Context(), store.Event{Type: v1.EventNormal, Reason: "Tested", Message: "old"}); err != nil {
		t.Fatal(err)
	}
	stale := filepath.Join(f.BlobDir, "staging", uuid.NewString())
	if err := os.WriteFile(stale, []byte("left by a dead writer"), 0o600); err != nil {
		t.Fatal(err)
	}
	keys := []string{janitor.KeyInputs, janitor.KeyEvents, janitor.KeyStaging, janitor.KeyBlobs}
	for _, key := range keys {
		sweep(t, j, key)
	}
	if _, err := f.Store.GetArtifact(t.Context(), a.ID); err != nil {
		t.Errorf("a young input was removed: %v", err)
	}
	now.pass(2 * time.Hour)
	for _, key := range keys {
		sweep(t, j, key)
	}
	if _, err := f.Store.GetArtifact(t.Context(), a.ID); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("artifact: %v, want it gone", err)
	}
	if _, err := f.Blobs.Stat(t.Context(), blob.SHA256); !errors.Is(err, artifacts.ErrNotFound) {
		t.Errorf("blob: %v, want it gone", err)
	}
	if _, err := os.Stat(stale); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("staging file: %v, want it gone", err)
	}
	events, err := f.Store.ListEvents(t.Context(), store.EventFilter{}, store.Page{})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events.Items {
		if e.Reason == "Tested" {
			t.Error("the old event is still there")
		}
	}
}
