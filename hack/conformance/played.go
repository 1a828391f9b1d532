package main

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
)

const playedToken = "conformance-token"

// request is one that a worker has sent.
type request struct {
	call   string // method and path, task ids left out
	task   string
	header http.Header
	body   []byte
}

// played is a coordinator as a worker sees it. A check changes what it says by hook.
type played struct {
	server *httptest.Server
	leases float64 // seconds

	mu       sync.Mutex
	requests []request
	faults   []string // requests that no worker may send
	tasks    []*playedTask
	claims   int
	worker   string
	// hook answers a request instead of the coordinator, if it returns true.
	hook func(w http.ResponseWriter, r request) bool
}

// playedTask is handed out once.
type playedTask struct {
	id       string
	input    []byte
	sha256   string
	artifact string
	uploaded string // digest
}

func newPlayed() *played {
	p := &played{leases: 60}
	p.server = httptest.NewServer(p)
	return p
}

// shard is a table that a worker of similarity-search can read.
const shard = "chembl_id\tcanonical_smiles\nM1\tCCO\nM2\tCCN\nM3\tc1ccccc1O\n"

func (p *played) addTask() *playedTask {
	t := &playedTask{id: uuid.Must(uuid.NewV7()).String(), artifact: uuid.Must(uuid.NewV7()).String(), input: []byte(shard)}
	t.sha256 = hex.EncodeToString(sum(t.input))
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tasks = append(p.tasks, t)
	return t
}

// seen returns the requests of a kind, in order.
func (p *played) seen(call string) []request {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []request
	for _, r := range p.requests {
		if r.call == call {
			out = append(out, r)
		}
	}
	return out
}

// wantFields are the fields that a request may have, by call.
var wantFields = map[string][]string{
	"POST /workers/register": {"worker_id", "name", "capabilities", "engine", "cpu_count", "memory_mb", "golden", "workloads"},
	"POST /tasks/claim":      {"worker_id", "capabilities", "max_concurrency", "wait_seconds", "cached_inputs"},
	"POST heartbeat":         {"worker_id", "attempt", "progress"},
	"POST result":            {"worker_id", "attempt", "result", "metrics"},
	"POST failure":           {"worker_id", "attempt", "error_code", "error_message", "retryable"},
	"POST release":           {"worker_id", "attempt"},
}

func (p *played) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the worker went away
	}
	got := request{call: r.Method + " " + strings.TrimPrefix(r.URL.Path, "/v1"), header: r.Header, body: body}
	if parts := strings.Split(strings.Trim(strings.TrimPrefix(r.URL.Path, "/v1"), "/"), "/"); len(parts) >= 3 && parts[0] == "tasks" {
		got.task, got.call = parts[1], r.Method+" "+parts[2]
	}
	p.mu.Lock()
	p.requests = append(p.requests, got)
	p.inspect(got)
	hook := p.hook
	p.mu.Unlock()
	if hook != nil && hook(w, got) {
		return
	}
	p.answer(w, got)
}

// inspect notes what no worker may send. The lock is held.
func (p *played) inspect(r request) {
	fault := func(format string, args ...any) {
		p.faults = append(p.faults, r.call+": "+fmt.Sprintf(format, args...))
	}
	if r.header.Get("Authorization") != "Bearer "+playedToken {
		fault("Authorization is %q", r.header.Get("Authorization"))
	}
	if bytes.Contains(r.body, []byte(playedToken)) {
		fault("the body holds the token")
	}
	allowed, ok := wantFields[r.call]
	if !ok {
		return
	}
	var f map[string]json.RawMessage
	if err := json.Unmarshal(r.body, &f); err != nil {
		fault("%v", err)
	}
	for name := range f {
		if !slices.Contains(allowed, name) {
			fault("unknown field %q", name)
		}
	}
	if strings.Contains(string(r.body), "worker://") || strings.Contains(string(r.body), "file://") {
		fault("a local URI: %s", r.body)
	}
}

func (p *played) answer(w http.ResponseWriter, r request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.find(r.task)
	switch {
	case r.call == "POST /workers/register":
		p.registered(w, r)
	case r.call == "POST /tasks/claim":
		p.claimed(w)
	case t == nil:
		writeJSON(w, http.StatusNotFound, errorBody("not_found"))
	case r.call == "POST heartbeat":
		writeJSON(w, http.StatusOK, fields{"lease_expires_at": expires(p.leases), "lease_seconds": p.leases})
	case r.call == "GET input":
		_, _ = w.Write(t.input)
	case r.call == "PUT artifacts":
		t.uploaded = hex.EncodeToString(sum(r.body))
		writeJSON(w, http.StatusCreated, fields{"artifact_id": t.artifact, "uri": p.uri(t), "sha256": t.uploaded, "size_bytes": len(r.body)})
	case r.call == "PUT logs":
		w.WriteHeader(http.StatusNoContent)
	case r.call == "POST result", r.call == "POST failure", r.call == "POST release":
		writeJSON(w, http.StatusOK, fields{"task_id": t.id, "attempt": 1, "status": "completed"})
	default:
		p.faults = append(p.faults, "no such endpoint: "+r.call)
		writeJSON(w, http.StatusNotFound, errorBody("not_found"))
	}
}

func (p *played) find(id string) *playedTask {
	for _, t := range p.tasks {
		if t.id == id {
			return t
		}
	}
	return nil
}

func (p *played) registered(w http.ResponseWriter, r request) {
	var body struct {
		ID string `json:"worker_id"`
	}
	_ = json.Unmarshal(r.body, &body) // faults are noted by inspect
	if p.worker = body.ID; p.worker == "" {
		p.worker = uuid.Must(uuid.NewV7()).String()
	}
	writeJSON(w, http.StatusOK, fields{"worker_id": p.worker, "heartbeat_interval_seconds": 15})
}

func (p *played) claimed(w http.ResponseWriter) {
	if p.claims >= len(p.tasks) {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	t := p.tasks[p.claims]
	p.claims++
	writeJSON(w, http.StatusOK, fields{
		"task_id": t.id, "attempt": 1, "lease_expires_at": expires(p.leases), "lease_seconds": p.leases, "workload": workload,
		"input":      fields{"uri": p.server.URL + "/tasks/" + t.id + "/input", "sha256": t.sha256},
		"parameters": fields{"query_smiles": "CCO", "top_k": 5, "threshold_direction": "greater"},
		"new_field":  "responses may gain fields",
	})
}

func (p *played) uri(t *playedTask) string {
	return p.server.URL + "/artifacts/" + t.artifact + "/download"
}

func expires(seconds float64) string {
	return time.Now().Add(time.Duration(seconds * float64(time.Second))).UTC().Format("2006-01-02T15:04:05.000000Z")
}

func errorBody(code string) fields {
	return fields{"error": fields{"code": code, "message": "as the check wants it"}, "request_id": "conformance"}
}

func writeJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the worker may have gone
}

// cut ends the connection without an answer.
func cut(w http.ResponseWriter) {
	if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
		_ = conn.Close()
	}
}

// trickle sends b over the given time, in pieces.
func trickle(w http.ResponseWriter, b []byte, over time.Duration) {
	w.Header().Set("Content-Length", fmt.Sprint(len(b)))
	for i := range b {
		if _, err := w.Write(b[i : i+1]); err != nil {
			return
		}
		_ = http.NewResponseController(w).Flush()
		<-time.After(over / time.Duration(len(b)))
	}
}
