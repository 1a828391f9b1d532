package worker

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/api/wire"
)

const (
	testToken = "s3cret-worker-token"
	testURL   = "http://coordinator.test"
)

// fakeCoordinator keeps the worker contract over real HTTP, and breaks it
// where a test says so.
type fakeCoordinator struct {
	t testing.TB

	mu       sync.Mutex
	ttl      time.Duration
	interval time.Duration
	dbClock  time.Duration // how far the clock that makes deadlines is off
	clock    time.Duration // how far the clock that makes Date is off
	token    string
	base     string
	known    map[uuid.UUID]wire.RegisterRequest
	tasks    []*fakeTask
	wake     chan struct{}
	// before sees each request first; true means that it has answered.
	before func(w http.ResponseWriter, r *http.Request) bool
	seen   []seenRequest
}

type seenRequest struct {
	at           time.Time
	method, path string
	url          string
	header       http.Header
}

// fakeTask is a task as a coordinator sees it.
type fakeTask struct {
	id         uuid.UUID
	workload   string
	parameters string
	input      []byte
	uri        string // instead of the coordinator's own
	sha256     string // instead of input's
	claimedAs  string // instead of the workload

	status    v1.TaskPhase
	attempt   int32
	worker    uuid.UUID
	expires   time.Time
	cancel    bool
	beats     []time.Time
	progress  []float64
	uploads   [][]byte
	artifact  uuid.UUID
	completed *wire.ResultRequest
	failures  []wire.FailureRequest
	released  int
	lost      int
	// lostRunning counts the lost leases of attempts that had sent a heartbeat.
	lostRunning int
	logs        []string
	logEnd      bool
	refused     int // changes that a stale lease tried
}

func newFake(t testing.TB) *fakeCoordinator {
	return &fakeCoordinator{
		t: t, ttl: 30 * time.Second, interval: 10 * time.Second, token: testToken, base: testURL,
		known: make(map[uuid.UUID]wire.RegisterRequest), wake: make(chan struct{}),
	}
}

// add queues a task whose workload is "test".
func (c *fakeCoordinator) add(input string) *fakeTask {
	c.mu.Lock()
	defer c.mu.Unlock()
	task := &fakeTask{id: uuid.New(), workload: "test", parameters: `{"k":1}`, input: []byte(input), status: v1.TaskPending}
	c.tasks = append(c.tasks, task)
	close(c.wake)
	c.wake = make(chan struct{})
	return task
}

// look calls f with the coordinator's state locked.
func (c *fakeCoordinator) look(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f()
}

// intercept sets before. It must not be called while c is locked.
func (c *fakeCoordinator) intercept(f func(w http.ResponseWriter, r *http.Request) bool) {
	c.look(func() { c.before = f })
}

// paths returns method and path of each request whose path contains part.
func (c *fakeCoordinator) paths(part string) []seenRequest {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []seenRequest
	for _, r := range c.seen {
		if strings.Contains(r.path, part) {
			out = append(out, r)
		}
	}
	return out
}

func (c *fakeCoordinator) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	c.seen = append(c.seen, seenRequest{time.Now(), r.Method, r.URL.Path, r.URL.String(), r.Header.Clone()})
	before, token := c.before, c.token
	w.Header().Set("Date", time.Now().Add(c.clock).UTC().Format(http.TimeFormat))
	c.mu.Unlock()
	if before != nil && before(w, r) {
		return
	}
	if r.Header.Get("Authorization") != "Bearer "+token {
		refuse(w, http.StatusUnauthorized, "unauthorized")
		return
	}
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case r.URL.Path == "/workers/register":
		c.register(w, r)
	case r.URL.Path == "/tasks/claim":
		c.claim(w, r)
	case len(parts) >= 3 && parts[0] == "tasks":
		c.onTask(w, r, parts)
	default:
		refuse(w, http.StatusNotFound, "not_found")
	}
}

func refuse(w http.ResponseWriter, status int, code string) {
	answer(w, status, wire.ErrorResponse{Error: wire.ErrorBody{Code: wire.ErrorCode(code), Message: "the test says " + code}, RequestID: "r1"})
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

// read decodes a request strictly.
func read[T any](c *fakeCoordinator, w http.ResponseWriter, r *http.Request) (v T, ok bool) {
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	if err := d.Decode(&v); err != nil {
		c.t.Errorf("%s %s: %v", r.Method, r.URL.Path, err)
		refuse(w, http.StatusBadRequest, "invalid_request")
		return v, false
	}
	return v, true
}

func (c *fakeCoordinator) register(w http.ResponseWriter, r *http.Request) {
	req, ok := read[wire.RegisterRequest](c, w, r)
	if !ok {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	id := uuid.New()
	if req.WorkerID != nil {
		id = *req.WorkerID
	}
	c.known[id] = req
	answer(w, http.StatusOK, wire.RegisterResponse{WorkerID: id, HeartbeatIntervalSeconds: int32(c.interval / time.Second)})
}

func (c *fakeCoordinator) claim(w http.ResponseWriter, r *http.Request) {
	req, ok := read[wire.ClaimRequest](c, w, r)
	if !ok {
		return
	}
	deadline := time.NewTimer(time.Duration(req.WaitSeconds) * time.Second)
	defer deadline.Stop()
	for {
		c.mu.Lock()
		if _, known := c.known[req.WorkerID]; !known {
			c.mu.Unlock()
			refuse(w, http.StatusNotFound, "not_found")
			return
		}
		task := c.lease(req)
		wake := c.wake
		if task != nil {
			got := wire.ClaimedTask{
				TaskID: task.id, Attempt: task.attempt, LeaseExpiresAt: v1.NewTime(task.expires), Workload: task.workload,
				Parameters: json.RawMessage(task.parameters),
				Input:      wire.ClaimedInput{URI: task.uri, SHA256: task.sha256},
			}
			if task.claimedAs != "" {
				got.Workload = task.claimedAs
			}
			if got.Input.URI == "" {
				got.Input.URI = c.base + "/tasks/" + task.id.String() + "/input"
			}
			if got.Input.SHA256 == "" {
				got.Input.SHA256 = digest(task.input)
			}
			c.mu.Unlock()
			answer(w, http.StatusOK, got)
			return
		}
		c.mu.Unlock()
		select {
		case <-wake:
		case <-deadline.C:
			w.WriteHeader(http.StatusNoContent)
			return
		case <-r.Context().Done():
			return
		}
	}
}

// lease gives the next pending task to the worker, after taking back expired ones.
func (c *fakeCoordinator) lease(req wire.ClaimRequest) *fakeTask {
	now := time.Now().Add(c.dbClock)
	for _, t := range c.tasks {
		if (t.status == v1.TaskLeased || t.status == v1.TaskRunning) && !t.expires.After(now) {
			if t.status == v1.TaskRunning {
				t.lostRunning++
			}
			t.status = v1.TaskPending
			t.lost++
		}
		if t.status == v1.TaskPending && slices.Contains(req.Capabilities, t.workload) {
			t.status = v1.TaskLeased
			t.attempt++
			t.worker = req.WorkerID
			t.expires = now.Add(c.ttl)
			return t
		}
	}
	return nil
}

// onTask serves what a lease is needed for.
func (c *fakeCoordinator) onTask(w http.ResponseWriter, r *http.Request, parts []string) {
	i := slices.IndexFunc(c.tasks, func(t *fakeTask) bool { return t.id.String() == parts[1] })
	if i < 0 {
		refuse(w, http.StatusNotFound, "not_found")
		return
	}
	task := c.tasks[i]
	switch parts[2] {
	case "input":
		c.mu.Lock()
		input := task.input
		w.Header().Set("ETag", `"`+digest(input)+`"`)
		c.mu.Unlock()
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(input))
	case "heartbeat":
		c.heartbeat(w, r, task)
	case "artifacts":
		c.upload(w, r, task)
	case "logs":
		c.appendLog(w, r, task, parts[3])
	case "result":
		c.complete(w, r, task)
	case "failure":
		if req, ok := read[wire.FailureRequest](c, w, r); ok {
			c.end(w, task, req.WorkerID, req.Attempt, func() { task.status = v1.TaskFailed; task.failures = append(task.failures, req) })
		}
	case "release":
		if req, ok := read[wire.ReleaseRequest](c, w, r); ok {
			c.end(w, task, req.WorkerID, req.Attempt, func() {
				task.released++
				if task.status = v1.TaskPending; task.cancel {
					task.status = v1.TaskCancelled
				}
			})
		}
	default:
		refuse(w, http.StatusNotFound, "not_found")
	}
}

// holds reports whether the lease is alive. c is locked.
func (c *fakeCoordinator) holds(t *fakeTask, worker uuid.UUID, attempt int32) bool {
	ok := (t.status == v1.TaskLeased || t.status == v1.TaskRunning) && t.worker == worker && t.attempt == attempt &&
		t.expires.After(time.Now().Add(c.dbClock))
	if !ok {
		t.refused++
	}
	return ok
}

func (c *fakeCoordinator) end(w http.ResponseWriter, t *fakeTask, worker uuid.UUID, attempt int32, change func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.holds(t, worker, attempt) {
		refuse(w, http.StatusConflict, "lease_lost")
		return
	}
	change()
	answer(w, http.StatusOK, wire.TaskState{TaskID: t.id, Attempt: attempt, Status: t.status})
}

func (c *fakeCoordinator) heartbeat(w http.ResponseWriter, r *http.Request, t *fakeTask) {
	req, ok := read[wire.HeartbeatRequest](c, w, r)
	if !ok {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.holds(t, req.WorkerID, req.Attempt) {
		refuse(w, http.StatusConflict, "lease_lost")
		return
	}
	t.status = v1.TaskRunning
	t.beats = append(t.beats, time.Now())
	if req.Progress != nil {
		t.progress = append(t.progress, *req.Progress)
	}
	t.expires = time.Now().Add(c.dbClock).Add(c.ttl)
	answer(w, http.StatusOK, wire.HeartbeatResponse{LeaseExpiresAt: v1.NewTime(t.expires), Cancel: t.cancel})
}

// headers reads the identity of an upload or a log chunk.
func headers(r *http.Request) (worker uuid.UUID, attempt int32) {
	worker, _ = uuid.Parse(r.Header.Get("X-Worker-ID"))
	n, _ := strconv.Atoi(r.Header.Get("X-Task-Attempt"))
	return worker, int32(n)
}

func (c *fakeCoordinator) upload(w http.ResponseWriter, r *http.Request, t *fakeTask) {
	worker, attempt := headers(r)
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	if got := r.Header.Get("X-Content-SHA256"); got != digest(body) {
		refuse(w, http.StatusBadRequest, "invalid_request")
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.holds(t, worker, attempt) {
		refuse(w, http.StatusConflict, "lease_lost")
		return
	}
	t.uploads = append(t.uploads, body)
	t.artifact = uuid.New()
	answer(w, http.StatusCreated, wire.UploadedArtifact{
		ArtifactID: t.artifact, URI: c.base + "/artifacts/" + t.artifact.String() + "/download",
		SHA256: digest(body), SizeBytes: int64(len(body)),
	})
}

func (c *fakeCoordinator) complete(w http.ResponseWriter, r *http.Request, t *fakeTask) {
	req, ok := read[wire.ResultRequest](c, w, r)
	if !ok {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if t.completed != nil && t.completed.Result == req.Result && t.completed.Attempt == req.Attempt {
		answer(w, http.StatusOK, wire.TaskState{TaskID: t.id, Attempt: req.Attempt, Status: t.status})
		return
	}
	if t.status == v1.TaskLeased {
		c.t.Errorf("task %s completed before its first heartbeat", t.id)
	}
	if !c.holds(t, req.WorkerID, req.Attempt) || req.Result.ArtifactID != t.artifact {
		refuse(w, http.StatusConflict, "lease_lost")
		return
	}
	t.status, t.completed = v1.TaskCompleted, &req
	answer(w, http.StatusOK, wire.TaskState{TaskID: t.id, Attempt: req.Attempt, Status: t.status})
}

func (c *fakeCoordinator) appendLog(w http.ResponseWriter, r *http.Request, t *fakeTask, seq string) {
	worker, attempt := headers(r)
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	n, err := strconv.Atoi(seq)
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err != nil || len(body) > 64<<10 || n > len(t.logs):
		c.t.Errorf("log chunk %q of %d bytes after %d chunks", seq, len(body), len(t.logs))
		refuse(w, http.StatusBadRequest, "invalid_request")
		return
	case t.worker != worker || t.attempt != attempt:
		refuse(w, http.StatusConflict, "lease_lost")
		return
	case n == len(t.logs):
		t.logs = append(t.logs, string(body))
		t.logEnd = r.Header.Get("X-Log-Final") == "true"
	}
	w.WriteHeader(http.StatusNoContent)
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// serveTCP serves the coordinator on a real port, for other processes.
func (c *fakeCoordinator) serveTCP(t testing.TB) string {
	srv := httptest.NewServer(c)
	t.Cleanup(srv.Close)
	c.base = srv.URL
	return srv.URL
}
