package store_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/store"
	"scimesh.dev/scimesh/store/storetest"
)

func TestLogOfAnAttempt(t *testing.T) {
	c := newClock()
	s := storetest.New(t, withClock(c))
	storetest.MakeRunningJob(t, s, "job", 1)
	w := storetest.MakeWorker(t, s, "w")
	task := storetest.Claim(t, s, w)
	add := func(seq int32, body string, final bool) error {
		return s.AppendLog(t.Context(), store.AppendLogParams{Lease: task.Lease, Seq: seq, Body: []byte(body), Final: final})
	}
	read := func(offset int64, limit int) store.LogChunk {
		t.Helper()
		chunk, err := s.ReadLog(t.Context(), task.Task, 1, offset, limit)
		if err != nil {
			t.Fatal(err)
		}
		return chunk
	}
	for seq, body := range []string{"one\n", "two\n", "one\n"} {
		if err := add(int32(seq), body, false); err != nil {
			t.Fatal(err)
		}
		if err := add(int32(seq), "not the same", false); err != nil { // sent again: the first stays
			t.Fatal(err)
		}
	}
	if err := add(5, "gap", false); !errors.Is(err, store.ErrConflict) {
		t.Errorf("chunk after a gap: %v, want ErrConflict", err)
	}
	if err := add(3, strings.Repeat("x", store.MaxLogChunk+1), false); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("chunk too long: %v, want ErrInvalid", err)
	}
	foreign := task.Lease
	foreign.Worker = storetest.MakeWorker(t, s, "other").ID
	if err := s.AppendLog(t.Context(), store.AppendLogParams{Lease: foreign, Seq: 3}); !errors.Is(err, store.ErrLeaseLost) {
		t.Errorf("chunk of another worker: %v, want ErrLeaseLost", err)
	}
	if got, want := read(0, 1<<20), (store.LogChunk{Attempt: 1, Body: []byte("one\ntwo\none\n")}); !cmp.Equal(got, want) {
		t.Errorf("log %+v, want %+v", got, want)
	}
	if got, want := read(6, 1), (store.LogChunk{Attempt: 1, Offset: 6, Body: []byte("o\n")}); !cmp.Equal(got, want) {
		t.Errorf("from an offset: %+v, want the rest of one chunk", got)
	}
	if got := read(12, 100); len(got.Body) != 0 || got.Final {
		t.Errorf("at the end: %+v, want nothing yet", got)
	}

	storetest.Complete(t, s, task, "result")
	c.advance(9 * time.Minute)
	if err := add(3, "flushed late\n", true); err != nil {
		t.Errorf("chunk after completion: %v", err)
	}
	if got := read(12, 100); string(got.Body) != "flushed late\n" || !got.Final {
		t.Errorf("after the final chunk: %+v", got)
	}
	if got := read(25, 100); len(got.Body) != 0 || !got.Final {
		t.Errorf("past the end of a finished log: %+v, want final", got)
	}
	if err := add(4, "dropped", false); err != nil {
		t.Errorf("chunk after the final one: %v, want it dropped", err)
	}
	c.advance(2 * time.Minute)
	if err := add(5, "too late", false); !errors.Is(err, store.ErrLeaseLost) {
		t.Errorf("eleven minutes after completion: %v, want ErrLeaseLost", err)
	}
	got, err := s.GetTask(t.Context(), task.Task)
	if err != nil || got.Attempts[0].LogBytes != 25 {
		t.Errorf("attempts %+v, %v, want 25 bytes of log", got.Attempts, err)
	}
}

func TestLogIsBounded(t *testing.T) {
	s := storetest.New(t)
	storetest.MakeRunningJob(t, s, "job", 1)
	task := storetest.Claim(t, s, storetest.MakeWorker(t, s, "w"))
	for seq := range int32(20) {
		body := []byte(strings.Repeat("x", store.MaxLogChunk))
		if err := s.AppendLog(t.Context(), store.AppendLogParams{Lease: task.Lease, Seq: seq, Body: body}); err != nil {
			t.Fatal(err)
		}
	}
	var log []byte
	for final := false; !final; {
		chunk, err := s.ReadLog(t.Context(), task.Task, 1, int64(len(log)), 100_000)
		if err != nil {
			t.Fatal(err)
		}
		log, final = append(log, chunk.Body...), chunk.Final
	}
	if len(log) > store.MaxLogBytes+100 || !strings.HasSuffix(string(log), "[the log was cut here: it reached its limit]\n") {
		t.Errorf("log of %d bytes ends with %q", len(log), log[len(log)-60:])
	}
}

func TestEventsAreListedAndForgotten(t *testing.T) {
	c := newClock()
	s := storetest.New(t, withClock(c))
	job := storetest.MakeRunningJob(t, s, "job", 1)
	w := storetest.MakeWorker(t, s, "w")
	fail(t, s, storetest.Claim(t, s, w), false)
	var reasons []string
	page := store.Page{Limit: 2}
	for {
		list, err := s.ListEvents(t.Context(), store.EventFilter{Job: job.ID}, page)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list.Items {
			reasons = append(reasons, e.Reason)
			if e.JobName != "job" || !e.CreatedAt.Equal(c.now()) {
				t.Errorf("event %+v", e)
			}
		}
		if page.Continue = list.Continue; page.Continue == "" {
			break
		}
	}
	if want := []string{"JobCreated", "JobPlanned", "TaskFailed"}; !slices.Equal(reasons, want) {
		t.Errorf("events %v, want %v", reasons, want)
	}
	c.advance(time.Hour)
	if err := s.RecordEvent(t.Context(), store.Event{WorkerID: w.ID, Type: v1.EventWarning, Reason: "Late", Message: strings.Repeat("ü", 2000)}); err != nil {
		t.Fatal(err)
	}
	if n, err := s.DeleteEvents(t.Context(), time.Minute, 1000); err != nil || n != 4 {
		t.Errorf("%d events deleted, %v, want the 4 old ones", n, err)
	}
	left, err := s.ListEvents(t.Context(), store.EventFilter{Worker: w.ID}, store.Page{})
	if err != nil || len(left.Items) != 1 || len(left.Items[0].Message) > 1024 {
		t.Errorf("events left %+v, %v", left, err)
	}
}

func TestInputsAndTheirBlobs(t *testing.T) {
	c := newClock()
	s := storetest.New(t, withClock(c))
	used, unused := storetest.MakeInput(t, s, "input of job"), storetest.MakeInput(t, s, "unused")
	if again := storetest.MakeInput(t, s, "unused"); again.ID != unused.ID {
		t.Errorf("same upload gave %s, want %s", again.ID, unused.ID)
	}
	storetest.MakeJob(t, s, "job")
	c.advance(time.Hour)
	fresh := storetest.MakeInput(t, s, "fresh")
	if got, err := s.FindArtifact(t.Context(), used.SHA256); err != nil || got.ID != used.ID {
		t.Errorf("found %+v, %v", got, err)
	}
	if n, err := s.DeleteUnusedInputs(t.Context(), 30*time.Minute, 10); err != nil || n != 1 {
		t.Errorf("%d inputs deleted, %v, want the unused old one", n, err)
	}
	want := map[string]bool{used.SHA256: true, fresh.SHA256: true}
	got, err := s.ReferencedBlobs(t.Context(), []string{used.SHA256, unused.SHA256, fresh.SHA256})
	if err != nil || !cmp.Equal(got, want) {
		t.Errorf("referenced %v, %v, want %v", got, err, want)
	}
	if _, err := s.FindArtifact(t.Context(), unused.SHA256); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("deleted input: %v, want ErrNotFound", err)
	}
}

func TestBodiesInRows(t *testing.T) {
	s := storetest.New(t)
	storetest.MakeRunningJob(t, s, "job", 2)
	w := storetest.MakeWorker(t, s, "w")
	inRow, asBlob := storetest.Claim(t, s, w), storetest.Claim(t, s, w)
	record := func(l store.Lease, f store.FileRef, body []byte) {
		t.Helper()
		if _, err := s.RecordTaskArtifact(t.Context(), store.RecordTaskArtifactParams{Lease: l, FileRef: f, Body: body}); err != nil {
			t.Fatal(err)
		}
	}
	first, second, blob := storetest.File("p", "first"), storetest.File("p", "second"), storetest.File("p", "blob")
	record(inRow.Lease, first, []byte("first"))
	record(inRow.Lease, second, []byte("second")) // replaces it
	record(asBlob.Lease, blob, nil)
	for f, want := range map[store.FileRef]string{first: "", second: "second", blob: ""} {
		body, _, ok, err := s.ArtifactBody(t.Context(), f.SHA256)
		if err != nil || ok != (want != "") || string(body) != want {
			t.Errorf("body of %s = %q, %v, %v; want %q", f.SHA256, body, ok, err, want)
		}
	}
	got, err := s.ReferencedBlobs(t.Context(), []string{first.SHA256, second.SHA256, blob.SHA256})
	if want := map[string]bool{blob.SHA256: true}; err != nil || !cmp.Equal(got, want) {
		t.Errorf("referenced %v, %v, want %v", got, err, want)
	}
	short := store.RecordTaskArtifactParams{Lease: asBlob.Lease, FileRef: blob, Body: []byte("blo")}
	if _, err := s.RecordTaskArtifact(t.Context(), short); err == nil {
		t.Error("a body of another size than the artifact's was recorded")
	}
}

func TestWhy(t *testing.T) {
	c := newClock()
	s := storetest.New(t, withClock(c))
	job := storetest.MakeRunningJob(t, s, "job", 3)
	storetest.MakeRunningJob(t, s, "urgent", 1, func(p *store.CreateJobParams) { p.Spec.Priority = 1; p.Spec.Workload = "other" })
	failing := storetest.MakeWorker(t, s, "failing")
	f := fail(t, s, storetest.Claim(t, s, failing), true)
	busy := storetest.MakeWorker(t, s, "busy")
	storetest.Claim(t, s, busy)
	storetest.MakeWorker(t, s, "idle")
	storetest.MakeWorker(t, s, "of another engine", func(p *store.RegisterWorkerParams) { p.Engine = "x" })
	storetest.MakeWorker(t, s, "of another workload", func(p *store.RegisterWorkerParams) { p.Capabilities = []string{"x"} })

	got, err := s.Why(t.Context(), job.ID)
	if err != nil {
		t.Fatal(err)
	}
	got.Job = store.Job{}
	want := store.WhySnapshot{
		Ready: 1, Waiting: 1, NextRetryAt: f.NotBefore, JobsAhead: 1,
		Workers: store.WorkerSummary{Registered: 5, Capable: 4, Online: 4, SameEngine: 3, Healthy: 3, Idle: 2},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("snapshot differs:\n%s", diff)
	}
	stats, err := s.QueueStats(t.Context())
	if err != nil || stats.JobsByPhase[v1.JobRunning] != 2 || stats.Tasks != (v1.TaskCounts{Total: 4, Pending: 3, Leased: 1}) || stats.Workers[v1.WorkerOnline] != 5 {
		t.Errorf("statistics %+v, %v", stats, err)
	}
	c.advance(time.Hour)
	if stats, err = s.QueueStats(t.Context()); err != nil || stats.OldestPendingAge != time.Hour {
		t.Errorf("oldest pending task %s, %v, want an hour", stats.OldestPendingAge, err)
	}
}

func TestKeysForReconcilers(t *testing.T) {
	c := newClock()
	s := storetest.New(t, withClock(c))
	created := storetest.MakeJob(t, s, "created")
	running := storetest.MakeRunningJob(t, s, "running", 1)
	cancelled := storetest.MakeRunningJob(t, s, "cancelled", 2)
	expiring := storetest.MakeJob(t, s, "expiring", func(p *store.CreateJobParams) { p.Spec.TTLSecondsAfterFinished = 60 })
	forever := storetest.MakeJob(t, s, "forever", func(p *store.CreateJobParams) { p.Spec.TTLSecondsAfterFinished = 1 << 62 })
	for _, j := range []store.Job{cancelled, expiring, forever} {
		if err := s.EndJob(t.Context(), store.EndJobParams{Job: j.ID, Phase: v1.JobCancelled}); err != nil {
			t.Fatal(err)
		}
	}
	expect := func(what string, list func(context.Context, uuid.UUID, int) ([]uuid.UUID, error), want ...store.Job) {
		t.Helper()
		got, err := list(t.Context(), uuid.Nil, 10)
		if err != nil {
			t.Fatal(err)
		}
		for _, j := range want {
			if !slices.Contains(got, j.ID) {
				t.Errorf("%s: %s is missing", what, j.Name)
			}
		}
		if len(got) != len(want) {
			t.Errorf("%s: %d jobs, want %d", what, len(got), len(want))
		}
	}
	expect("plan", s.JobsToPlan, created)
	expect("reduce", s.JobsToReduce)
	expect("cancel", s.JobsToCancel, created, running, cancelled)
	expect("delete", s.JobsToDelete)
	if more, err := s.CancelOpenTasks(t.Context(), cancelled.ID, 10); more || err != nil {
		t.Errorf("more %v, %v", more, err)
	}
	fail(t, s, storetest.Claim(t, s, storetest.MakeWorker(t, s, "w")), false)
	c.advance(time.Minute)
	expect("cancel after it is done", s.JobsToCancel, created, running)
	expect("reduce after a failed task", s.JobsToReduce, running)
	expect("delete after the time to live", s.JobsToDelete, expiring)
	if _, err := s.DeleteJob(t.Context(), running.ID, 10); !errors.Is(err, store.ErrConflict) {
		t.Errorf("deletion of a running job: %v, want ErrConflict", err)
	}
}

func TestVerifyFindsBrokenInvariants(t *testing.T) {
	for invariant, sql := range map[string]string{
		"counters":        `UPDATE jobs SET completed_tasks = 0`,
		"chunks":          `UPDATE tasks SET chunk_index = 7 WHERE chunk_index = 2`,
		"final-result":    `UPDATE jobs SET status = 'completed', completed_at = now(), completed_tasks = 3, result_artifact_id = input_artifact_id`,
		"partial-result":  `UPDATE artifacts SET attempt = 2 WHERE kind = 'partial_result'`,
		"attempts":        `UPDATE tasks SET attempt = attempt + 1 WHERE chunk_index = 1`,
		"budget":          `UPDATE tasks SET failures = 1 WHERE chunk_index = 1`,
		"lease-overdue":   `UPDATE tasks SET lease_expires_at = now() - interval '1 hour' WHERE lease_owner IS NOT NULL`,
		"lease-owner":     `DELETE FROM workers`,
		"parallelism":     `UPDATE jobs SET parallelism = 1; UPDATE tasks SET status = 'leased', lease_owner = id, lease_expires_at = now() + interval '1 hour' WHERE chunk_index = 2`,
		"unsettled":       `UPDATE jobs SET status = 'failed', completed_at = now() - interval '1 hour'`,
		"step":            `UPDATE jobs SET step_owner = id, step_expires_at = now()`,
		"input":           `UPDATE tasks SET input_artifact_id = id`,
		"future-artifact": `UPDATE artifacts SET attempt = 9 WHERE kind = 'partial_result'`,
		"decodable":       `UPDATE jobs SET spec = '1'`,
	} {
		t.Run(invariant, func(t *testing.T) {
			t.Parallel()
			url := storetest.NewDatabase(t)
			s := storetest.Open(t, url)
			storetest.MakeRunningJob(t, s, "job", 3)
			w := storetest.MakeWorker(t, s, "w")
			storetest.Complete(t, s, storetest.Claim(t, s, w), "result")
			storetest.Claim(t, s, w)
			verify(t, s)
			exec(t, storetest.Conn(t, url), sql)
			violations, err := s.Verify(t.Context())
			if err != nil || !slices.ContainsFunc(violations, func(v store.Violation) bool { return v.Invariant == invariant && v.Object != "" && v.Detail != "" }) {
				t.Errorf("found %+v, %v, want %s", violations, err, invariant)
			}
		})
	}
}

func TestListenEndsWhenItsConnectionIsLost(t *testing.T) {
	url := storetest.NewDatabase(t)
	s := storetest.Open(t, url)
	conn := storetest.Conn(t, url)
	got := make(chan string, 10)
	listening, done := make(chan struct{}), make(chan error, 1)
	go func() {
		done <- s.Listen(t.Context(), []string{store.ChannelJobs, "another"}, func() { close(listening) }, func(channel, payload string) { got <- channel + " " + payload })
	}()
	<-listening
	job := storetest.MakeJob(t, s, "job")
	exec(t, conn, `SELECT pg_notify('another', 'x')`)
	for _, want := range []string{store.ChannelJobs + " " + job.ID.String(), "another x"} {
		if n := <-got; n != want {
			t.Errorf("notification %q, want %q", n, want)
		}
	}
	exec(t, conn, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'`)
	if err := <-done; !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("%v, want ErrUnavailable", err)
	}
}

func TestOperationsSurviveLostConnections(t *testing.T) {
	url := storetest.NewDatabase(t)
	s := storetest.Open(t, url)
	conn := storetest.Conn(t, url)
	storetest.MakeRunningJob(t, s, "job", 2)
	w := storetest.MakeWorker(t, s, "w")
	storetest.Claim(t, s, w)
	exec(t, conn, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`)
	for deadline := time.Now().Add(10 * time.Second); ; {
		_, ok, err := s.ClaimTask(t.Context(), store.ClaimParams{Worker: w.ID, Capabilities: w.Capabilities})
		if ok {
			break
		}
		if err != nil && !errors.Is(err, store.ErrUnavailable) || time.Now().After(deadline) {
			t.Fatalf("claim after the connections were lost: %v", err)
		}
	}
	verify(t, storetest.Open(t, url))
}
