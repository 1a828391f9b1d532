package server

import (
	"bytes"
	"fmt"
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
	"scimesh.dev/scimesh/artifacts/inrow"
)

func TestRunFromUploadToResult(t *testing.T) {
	h := newHarness(t)
	ctx := t.Context()
	worker := h.register("lab-worker-01")

	task, err := h.worker.ClaimTask(ctx, wire.ClaimRequest{WorkerID: worker, Capabilities: []string{"similarity-search"}})
	if err != nil || task != nil {
		t.Fatalf("claim without a job: %v, %v", task, err)
	}
	j := h.job("gefitinib")
	if j.Status.Phase != v1.JobCreated || j.Spec.MaxAttempts != 3 || j.Status.Input == nil {
		t.Fatalf("created job is %+v", j)
	}
	h.plan(j, "shard 0", "shard 1")
	for range 2 {
		task, l := h.claim(worker)
		if !strings.HasPrefix(task.Input.URI, h.url+"/tasks/") || task.Attempt != 1 || !strings.Contains(string(task.Parameters), "CCO") {
			t.Errorf("claimed task is %+v", task)
		}
		var input bytes.Buffer
		if _, err := h.worker.DownloadTo(ctx, client.Download{URI: task.Input.URI, SHA256: task.Input.SHA256, Lease: &l}, &input); err != nil {
			t.Fatal(err)
		}
		renewed, err := h.worker.HeartbeatTask(ctx, l, new(0.5))
		if err != nil || renewed.LeaseExpiresAt.Before(task.LeaseExpiresAt.Time) || renewed.Cancel {
			t.Fatalf("heartbeat: %+v, %v", renewed, err)
		}
		a, err := h.uploadResult(l, "partial of "+input.String())
		if err != nil {
			t.Fatal(err)
		}
		done, err := h.worker.CompleteTask(ctx, l, manifestOf(a), wire.Metrics(`{"processed_rows": 3}`))
		if err != nil || done.Status != v1.TaskCompleted {
			t.Fatalf("complete: %+v, %v", done, err)
		}
		if _, err := h.worker.CompleteTask(ctx, l, manifestOf(a), nil); err != nil {
			t.Errorf("the same completion again: %v", err)
		}
	}
	h.reduce(j, "rank,chembl_id\r\n1,C2\r\n")

	j, err = h.operator.GetJob(ctx, "gefitinib")
	if err != nil || j.Status.Phase != v1.JobCompleted || j.Status.Tasks.Completed != 2 || j.Status.Result.Rows != 2 {
		t.Fatalf("job is %+v, %v", j.Status, err)
	}
	path := filepath.Join(t.TempDir(), "out.csv")
	if _, err := h.operator.DownloadFile(ctx, client.Download{URI: "jobs/gefitinib/result"}, path); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != "rank,chembl_id\r\n1,C2\r\n" {
		t.Errorf("result is %q, %v", got, err)
	}
	_, err = h.operator.DownloadFile(ctx, client.Download{URI: "jobs/gefitinib/rejects"}, path)
	wantError(t, err, http.StatusNotFound, wire.CodeNotFound)
	h.readEverything(j)
}

// readEverything calls every operation that reads, so that all answers are
// held against openapi.yaml.
func (h *harness) readEverything(j v1.Job) {
	h.t.Helper()
	for _, path := range []string{
		"/jobs", "/jobs?labelSelector=target%3DEGFR&phase=completed&workload=similarity-search&limit=1", "/jobs?name=" + j.Metadata.Name,
		"/jobs/" + j.Metadata.Name, "/jobs/" + j.Metadata.UID.String(), "/jobs/" + j.Metadata.Name + "/tasks?phase=completed&limit=1",
		"/jobs/" + j.Metadata.Name + "/events", "/jobs/" + j.Metadata.Name + "/why", "/jobs/" + j.Metadata.Name + "/result",
		"/tasks", "/tasks?job=" + j.Metadata.Name, "/tasks/" + j.Metadata.Name + "-1", "/tasks/" + j.Metadata.Name + "-1/logs",
		"/artifacts", "/artifacts?kind=input&job=" + j.Metadata.Name, "/artifacts/" + j.Status.Result.Artifact.String(),
		"/artifacts/" + j.Status.Result.Artifact.String() + "/download", "/workers", "/workers?phase=online&phase=busy",
		"/workloads", "/workloads/similarity-search", "/controllers", "/events", "/events?limit=1",
		"/healthz", "/health", "/readyz", "/metrics", "/version", "/openapi.yaml",
	} {
		for _, prefix := range []string{"", "/v1"} {
			if status, body, _ := h.do(operatorToken, http.MethodGet, prefix+path, "", ""); status != http.StatusOK {
				h.t.Errorf("GET %s%s: %d %s", prefix, path, status, body)
			}
		}
	}
}

func TestLeaseConflictsChangeNothing(t *testing.T) {
	h := newHarness(t)
	ctx := t.Context()
	_, l := h.running("a")
	other := h.register("another")
	foreign := client.Lease{Task: l.Task, Worker: other, Attempt: l.Attempt}
	stale := client.Lease{Task: l.Task, Worker: l.Worker, Attempt: l.Attempt + 1}
	nowhere := client.Lease{Task: uuid.New(), Worker: l.Worker, Attempt: 1}

	for name, wrong := range map[string]client.Lease{"foreign worker": foreign, "stale attempt": stale, "unknown task": nowhere} {
		t.Run(name, func(t *testing.T) {
			refused := func(what string, err error) {
				t.Helper()
				e := &client.Error{}
				if name == "unknown task" && err != nil && errorAs(err, &e) && e.Status == http.StatusNotFound {
					return
				}
				t.Log(what)
				wantError(t, err, http.StatusConflict, wire.CodeLeaseLost)
			}
			_, err := h.worker.HeartbeatTask(ctx, wrong, nil)
			refused("heartbeat", err)
			_, err = h.worker.UploadTaskArtifact(ctx, wrong, client.Upload{Filename: "a.csv", Body: strings.NewReader("x"), Size: 1})
			refused("small upload", err)
			big := strings.Repeat("x", 2<<20)
			_, err = h.worker.UploadTaskArtifact(ctx, wrong, client.Upload{Filename: "a.csv", Body: strings.NewReader(big), Size: int64(len(big))})
			refused("large upload", err)
			id := uuid.New()
			_, err = h.worker.CompleteTask(ctx, wrong, wire.ResultManifest{ArtifactID: id, URI: h.url + "/artifacts/" + id.String() + "/download", SHA256: digestOf("x")}, nil)
			refused("result", err)
			_, err = h.worker.FailTask(ctx, wrong, "ValueError", "no", true)
			refused("failure", err)
			_, err = h.worker.ReleaseTask(ctx, wrong)
			refused("release", err)
			refused("log", h.worker.AppendTaskLog(ctx, wrong, 0, []byte("x"), false))
		})
	}
	if _, err := h.worker.HeartbeatTask(ctx, l, nil); err != nil {
		t.Errorf("the lease was harmed: %v", err)
	}
}

func TestCompletionConflicts(t *testing.T) {
	h := newHarness(t)
	ctx := t.Context()
	_, l := h.running("a")
	_, other := h.running("b")
	mine, err := h.uploadResult(l, "mine")
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := h.uploadResult(other, "theirs")
	if err != nil {
		t.Fatal(err)
	}
	_, err = h.worker.CompleteTask(ctx, l, manifestOf(theirs), nil)
	wantError(t, err, http.StatusConflict, wire.CodeConflict)

	wrong := manifestOf(mine)
	wrong.SHA256 = digestOf("something else")
	_, err = h.worker.CompleteTask(ctx, l, wrong, nil)
	wantError(t, err, http.StatusConflict, wire.CodeConflict)

	if _, err := h.worker.CompleteTask(ctx, l, manifestOf(mine), nil); err != nil {
		t.Fatal(err)
	}
	_, err = h.worker.CompleteTask(ctx, l, wrong, nil)
	wantError(t, err, http.StatusConflict, wire.CodeConflict)
	if _, err := h.uploadResult(l, "too late"); err == nil {
		t.Error("an upload after the completion was accepted")
	}
}

func TestResultURIs(t *testing.T) {
	h := newHarness(t)
	_, l := h.running("a")
	a, err := h.uploadResult(l, "mine")
	if err != nil {
		t.Fatal(err)
	}
	for name, uri := range map[string]string{
		"worker scheme": "worker://lab/partial.csv", "file": "file:///tmp/partial.csv", "none": "", "a path": "/artifacts/" + a.ArtifactID.String() + "/download",
		"another artifact": h.url + "/artifacts/" + uuid.NewString() + "/download", "a password": strings.Replace(a.URI, "http://", "http://u:p@", 1),
	} {
		t.Run(name, func(t *testing.T) {
			m := manifestOf(a)
			m.URI = uri
			_, err := h.worker.CompleteTask(t.Context(), l, m, nil)
			e := wantDetails(t, err, http.StatusBadRequest, wire.CodeInvalidRequest)
			if len(e.Details) != 1 || e.Details[0].Field != "result.uri" {
				t.Errorf("details are %+v", e.Details)
			}
		})
	}
}

func TestUploadsOfATask(t *testing.T) {
	h := newHarness(t, func(c *Config) { c.MaxResultBytes = 1 << 20 })
	ctx := t.Context()
	_, l := h.running("a")
	first, err := h.uploadResult(l, "bytes")
	if err != nil {
		t.Fatal(err)
	}
	again, err := h.uploadResult(l, "bytes")
	if err != nil || again != first {
		t.Errorf("the same bytes again: %+v, %v; want %+v", again, err, first)
	}
	if _, err := h.uploadResult(l, "other bytes"); err != nil {
		t.Errorf("other bytes before the completion: %v", err)
	}

	_, err = h.worker.UploadTaskArtifact(ctx, l, client.Upload{Filename: "a.csv", Body: strings.NewReader("x"), Size: 1, SHA256: digestOf("y")})
	wantError(t, err, http.StatusBadRequest, wire.CodeInvalidRequest)
	big := strings.Repeat("x", 1<<20+1)
	_, err = h.worker.UploadTaskArtifact(ctx, l, client.Upload{Filename: "a.csv", Body: strings.NewReader(big), Size: int64(len(big))})
	wantError(t, err, http.StatusRequestEntityTooLarge, wire.CodeTooLarge)

	for _, name := range []string{"..%2F..%2Fetc%2Fpasswd", "%2e%2e", "a%5Cb", "a%00b", "a%0Ab", "%ff", strings.Repeat("a", 256), "%E2%80%AEcsv.exe"} {
		status, body, _ := h.do(workerToken, http.MethodPut, "/tasks/"+l.Task.String()+"/artifacts/"+name, "text/csv", "x",
			"X-Worker-ID", l.Worker.String(), "X-Task-Attempt", "1")
		if status != http.StatusBadRequest {
			t.Errorf("file name %s: %d %s", name, status, body)
		}
	}
	h.noStaging()
}

// A small result is kept in its row and a longer one as a blob; both are read alike.
func TestResultsOfAnySizeComeBack(t *testing.T) {
	h := newHarness(t)
	for size, wantBlobs := range map[int]int{0: 0, 1: 0, inrow.Limit: 0, inrow.Limit + 1: 1, 1 << 20: 1} {
		t.Run(strconv.Itoa(size), func(t *testing.T) {
			_, l := h.running(fmt.Sprintf("of-%d-bytes", size))
			before := h.countBlobs()
			want := strings.Repeat("x", size)
			m, err := h.uploadResult(l, want)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := h.worker.CompleteTask(t.Context(), l, manifestOf(m), nil); err != nil {
				t.Fatal(err)
			}
			if got := h.countBlobs() - before; got != wantBlobs {
				t.Errorf("%d blobs more, want %d", got, wantBlobs)
			}
			status, body, _ := h.do(operatorToken, http.MethodGet, "/artifacts/"+m.ArtifactID.String()+"/download", "", "")
			if status != http.StatusOK || body != want {
				t.Errorf("download: status %d, %d bytes, want %d", status, len(body), size)
			}
			if size == 0 {
				return
			}
			status, body, _ = h.do(operatorToken, http.MethodGet, "/artifacts/"+m.ArtifactID.String()+"/download", "", "", "Range", "bytes=-1")
			if status != http.StatusPartialContent || body != "x" {
				t.Errorf("last byte: status %d, %q", status, body)
			}
		})
	}
}

func (h *harness) countBlobs() int {
	h.t.Helper()
	n := 0
	for _, err := range h.blobs.List(h.t.Context()) {
		if err != nil {
			h.t.Fatal(err)
		}
		n++
	}
	return n
}

// noStaging checks that no upload has left anything behind.
func (h *harness) noStaging() {
	h.t.Helper()
	n, err := h.blobs.SweepStaging(h.t.Context(), time.Now().Add(time.Hour))
	if err != nil || n != 0 {
		h.t.Errorf("staging files left: %d, %v", n, err)
	}
}

func TestFailureAndRelease(t *testing.T) {
	h := newHarness(t)
	ctx := t.Context()
	_, l := h.running("a")
	state, err := h.worker.ReleaseTask(ctx, l)
	if err != nil || state.Status != v1.TaskPending {
		t.Fatalf("release: %+v, %v", state, err)
	}
	_, l = h.claim(l.Worker)
	if l.Attempt != 2 {
		t.Errorf("attempt after a release is %d", l.Attempt)
	}
	message := "Traceback:\n  line\x00 1\n" + workerToken
	state, err = h.worker.FailTask(ctx, l, "ValueError", message, false)
	if err != nil || state.Status != v1.TaskFailed {
		t.Fatalf("failure: %+v, %v", state, err)
	}
	task, err := h.operator.GetTask(ctx, "a-0")
	if err != nil || len(task.Status.Attempts) != 2 || task.Status.Attempts[0].Outcome != v1.AttemptReleased {
		t.Fatalf("task is %+v, %v", task.Status, err)
	}
	if got := task.Status.ErrorMessage; got != "Traceback:   line  1 [redacted]" {
		t.Errorf("message is %q", got)
	}
}

func TestCancelReachesTheWorker(t *testing.T) {
	h := newHarness(t)
	ctx := t.Context()
	_, l := h.running("a")
	j, err := h.operator.CancelJob(ctx, "a")
	if err != nil || !j.Status.CancelRequested {
		t.Fatalf("cancel: %+v, %v", j.Status, err)
	}
	if _, err := h.operator.CancelJob(ctx, "a"); err != nil {
		t.Errorf("cancel again: %v", err)
	}
	r, err := h.worker.HeartbeatTask(ctx, l, nil)
	if err != nil || !r.Cancel {
		t.Errorf("heartbeat of a cancelled job: %+v, %v", r, err)
	}
	why, err := h.operator.WhyJob(ctx, "a")
	if err != nil || len(why.Items) != 1 || why.Items[0].Reason != v1.WhyCancelling {
		t.Errorf("why: %+v, %v", why.Items, err)
	}
	if j, err = h.operator.DeleteJob(ctx, "a"); err != nil || j.Metadata.DeletionTimestamp == nil {
		t.Errorf("delete: %+v, %v", j.Metadata, err)
	}
}

func TestClaimOfAnUnknownWorker(t *testing.T) {
	h := newHarness(t)
	_, err := h.worker.ClaimTask(t.Context(), wire.ClaimRequest{WorkerID: uuid.New(), Capabilities: []string{"similarity-search"}})
	wantError(t, err, http.StatusNotFound, wire.CodeNotFound)
}

func TestWaitingClaimGetsATaskThatAppears(t *testing.T) {
	h := newHarness(t)
	worker := h.register("w")
	j := h.job("a")
	got := make(chan *wire.ClaimedTask, 1)
	go func() {
		task, err := h.worker.ClaimTask(t.Context(), wire.ClaimRequest{WorkerID: worker, Capabilities: []string{"similarity-search"}, WaitSeconds: 20})
		if err != nil {
			t.Error(err)
		}
		got <- task
	}()
	h.plan(j, "shard")
	select {
	case task := <-got:
		if task == nil {
			t.Error("the claim came back without a task")
		}
	case <-time.After(15 * time.Second):
		t.Error("the claim was not woken")
	}
}

func TestDrainEndsWaits(t *testing.T) {
	h := newHarness(t)
	worker := h.register("w")
	ended := make(chan error, 1)
	go func() {
		_, err := h.worker.ClaimTask(t.Context(), wire.ClaimRequest{WorkerID: worker, Capabilities: []string{"similarity-search"}, WaitSeconds: 30})
		ended <- err
	}()
	h.server.Drain()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Error("a claim waits on")
	}
	if err := h.operator.Ready(t.Context()); err == nil {
		t.Error("a draining coordinator says that it is ready")
	}
}
