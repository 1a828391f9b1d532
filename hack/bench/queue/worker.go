//go:build linux

package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"
)

const (
	workload = "similarity-search"
	engine   = "bench/1"
	media    = "application/json"
)

// worker is a simulated worker with a connection of its own. It makes the calls
// of the contract and computes nothing.
type worker struct {
	*conn
	id     string
	leases *leases
}

// newWorker connects and registers.
func newWorker(t target, name string, l *leases) (*worker, error) {
	c, err := dial(t.addr, t.token)
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(map[string]any{
		"name": name, "capabilities": []string{workload}, "engine": engine, "cpu_count": 1, "memory_mb": 1024,
	})
	if err != nil {
		return nil, err
	}
	var answer struct {
		WorkerID string `json:"worker_id"`
	}
	if _, err := c.call("POST", "/workers/register", media, "", body, &answer); err != nil {
		c.close()
		return nil, err
	}
	return &worker{conn: c, id: answer.WorkerID, leases: l}, nil
}

// task is a claimed task.
type task struct {
	TaskID  string `json:"task_id"`
	Attempt int    `json:"attempt"`
}

// claim asks for a task; ok is false if there was none within the wait.
func (w *worker) claim(wait time.Duration) (t task, ok bool, err error) {
	body := fmt.Appendf(nil, `{"worker_id":%q,"capabilities":[%q],"wait_seconds":%d}`, w.id, workload, int(wait.Seconds()))
	status, err := w.call("POST", "/tasks/claim", media, "", body, &t)
	if err != nil || status == 204 {
		return t, false, err
	}
	return t, true, w.leases.take(t, w.id)
}

func (w *worker) heartbeat(t task) error {
	body := fmt.Appendf(nil, `{"worker_id":%q,"attempt":%d,"progress":0.5}`, w.id, t.Attempt)
	_, err := w.call("POST", "/tasks/"+t.TaskID+"/heartbeat", media, "", body, nil)
	return err
}

// deliver uploads a small result that no other task has, and completes the task.
func (w *worker) deliver(t task) error {
	result := fmt.Appendf(nil, "record,row,chembl_id,canonical_smiles,common,union,detail\r\nhit,,%s,CC(=O)Oc1ccccc1C(=O)O,17,%d,\r\ncount,1,,,,,read\r\nend,,,,,,\r\n",
		t.TaskID, 40+t.Attempt)
	sum := sha256.Sum256(result)
	digest := hex.EncodeToString(sum[:])
	headers := fmt.Sprintf("X-Worker-ID: %s\r\nX-Task-Attempt: %d\r\nX-Content-SHA256: %s\r\n", w.id, t.Attempt, digest)
	var artifact struct {
		ArtifactID string `json:"artifact_id"`
		URI        string `json:"uri"`
		SHA256     string `json:"sha256"`
	}
	if _, err := w.call("PUT", "/tasks/"+t.TaskID+"/artifacts/partial.csv", "text/csv", headers, result, &artifact); err != nil {
		return err
	}
	if artifact.SHA256 != digest {
		return fmt.Errorf("task %s: artifact has digest %s, want %s", t.TaskID, artifact.SHA256, digest)
	}
	body := fmt.Appendf(nil, `{"worker_id":%q,"attempt":%d,"result":{"artifact_id":%q,"uri":%q,"sha256":%q,"content_type":"text/csv"},"metrics":{"rows":1}}`,
		w.id, t.Attempt, artifact.ArtifactID, artifact.URI, artifact.SHA256)
	_, err := w.call("POST", "/tasks/"+t.TaskID+"/result", media, "", body, nil)
	return err
}

// leases remembers who was given which task. No lease is lost in a benchmark
// (all are delivered long before they expire), so a task that is given out a
// second time was held twice, or was given again after it was completed.
type leases struct {
	mu    sync.Mutex
	owner map[string]string
}

func newLeases() *leases { return &leases{owner: map[string]string{}} }

var errHeldTwice = errors.New("NO TASK MAY BE HELD TWICE")

func (l *leases) take(t task, worker string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if first, taken := l.owner[t.TaskID]; taken {
		return fmt.Errorf("%w: task %s was leased to worker %s and, as attempt %d, to worker %s", errHeldTwice, t.TaskID, first, t.Attempt, worker)
	}
	l.owner[t.TaskID] = worker
	return nil
}
