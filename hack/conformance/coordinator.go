package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

const workload = "similarity-search"

// coordinatorSuite checks a coordinator. It creates Jobs of its own, named
// conformance-…, and cancels what is left of them.
type coordinatorSuite struct {
	operator, worker *client
	run              string // tells runs apart
	jobs             int
}

func newCoordinatorSuite(url, operatorToken, workerToken string) *coordinatorSuite {
	return &coordinatorSuite{
		operator: newClient(url, operatorToken), worker: newClient(url, workerToken), run: strings.ToLower(rand.Text()[:8]),
	}
}

func (s *coordinatorSuite) checks() []check {
	return []check{
		{"registration gives an id and an interval", s.registration},
		{"a worker that registers with its id stays the same", s.sameWorker},
		{"requests are decoded strictly, and faults are named", s.strictRequests},
		{"a missing or wrong token is refused", s.tokens},
		{"a claim without a compatible task is 204", s.emptyClaim},
		{"a claim never widens what was registered", s.narrowClaim},
		{"an unknown worker and an unknown task are 404", s.unknown},
		{"a claim gives a task with absolute URI, digest and UTC times", s.claim},
		{"the input has the digest of the claim, with ranges", s.input},
		{"a heartbeat renews the lease", s.heartbeat},
		{"a foreign worker and a stale attempt are 409 everywhere", s.foreign},
		{"an upload is streamed, checked and repeatable", s.upload},
		{"a cut upload and a wrong checksum leave no artifact", s.brokenUpload},
		{"a completion names an uploaded artifact of this task and attempt", s.wrongCompletion},
		{"the same completion again succeeds, another one is 409", s.completion},
		{"a failure ends the attempt, and the task comes again", s.failure},
		{"a task that was handed back comes again at once", s.release},
		{"an expired lease is lost", s.expiry},
		{"every path is served under /v1 too", s.versioned},
		{"oversized bodies are 413", s.oversize},
	}
}

var (
	uuidForm   = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)
	digestForm = regexp.MustCompile(`^[0-9a-f]{64}$`)
	timeForm   = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$`)
)

func describeWorker(more fields) fields {
	return fields{
		"name": "conformance", "capabilities": []string{workload}, "cpu_count": 1, "memory_mb": 64, "engine": "conformance",
	}.merge(more)
}

// register registers a worker and returns its id.
func (s *coordinatorSuite) register(ctx context.Context, more fields) (string, error) {
	a, err := s.worker.post(ctx, "/workers/register", describeWorker(more))
	if err != nil {
		return "", err
	}
	var got struct {
		ID       string `json:"worker_id"`
		Interval int    `json:"heartbeat_interval_seconds"`
	}
	if err := errors.Join(a.want(200), a.decode(&got)); err != nil {
		return "", err
	}
	if !uuidForm.MatchString(got.ID) || got.Interval < 1 {
		return "", fmt.Errorf("worker_id %q, heartbeat_interval_seconds %d", got.ID, got.Interval)
	}
	return got.ID, nil
}

func (s *coordinatorSuite) registration(ctx context.Context) error {
	first, err := s.register(ctx, nil)
	if err != nil {
		return err
	}
	second, err := s.register(ctx, nil)
	if first == second {
		return errors.New("two workers got the same id")
	}
	return err
}

func (s *coordinatorSuite) sameWorker(ctx context.Context) error {
	id, err := s.register(ctx, nil)
	if err != nil {
		return err
	}
	again, err := s.register(ctx, fields{"worker_id": id, "name": "renamed"})
	if err == nil && again != id {
		return fmt.Errorf("registered %s again and became %s", id, again)
	}
	return err
}

func (s *coordinatorSuite) strictRequests(ctx context.Context) error {
	for _, tc := range []struct{ body, names string }{
		{`{`, ""},
		{`[]`, ""},
		{``, ""},
		{`{"name":"x","capabilities":["a"],"cpu_count":1,"memory_mb":1} {}`, ""},
		{`{"name":"x","capabilities":["a"],"cpu_count":1,"memory_mb":1,"colour":"red"}`, "colour"},
		{`{"name":"x","name":"y","capabilities":["a"],"cpu_count":1,"memory_mb":1}`, "name"},
		{`{"name":"x","capabilities":["a"],"memory_mb":1}`, "cpu_count"},
		{`{"name":"x","capabilities":["a"],"cpu_count":"one","memory_mb":1}`, "cpu_count"},
		{`{"name":"x","capabilities":[],"cpu_count":1,"memory_mb":1}`, "capabilities"},
		{`{"name":"x","capabilities":["a"],"cpu_count":1,"memory_mb":1,"worker_id":"me"}`, "worker_id"},
	} {
		a, err := s.worker.send(ctx, http.MethodPost, "/workers/register", strings.NewReader(tc.body), "Content-Type", "application/json")
		if err != nil {
			return err
		}
		if err := errors.Join(a.want(400), a.mentions(tc.names)); err != nil {
			return fmt.Errorf("body %s: %w", tc.body, err)
		}
	}
	a, err := s.worker.send(ctx, http.MethodPost, "/workers/register", strings.NewReader("x"), "Content-Type", "text/plain")
	if err != nil {
		return err
	}
	return a.want(415)
}

func (s *coordinatorSuite) tokens(ctx context.Context) error {
	for _, token := range []string{"", "wrong-" + s.run} {
		a, err := s.worker.with(token).post(ctx, "/workers/register", describeWorker(nil))
		if err != nil {
			return err
		}
		if err := a.want(401, 403); err != nil {
			return err
		}
		if token != "" && bytes.Contains(a.body, []byte(token)) {
			return errors.New("the answer repeats the token")
		}
	}
	if s.operator.token == s.worker.token {
		return nil
	}
	a, err := s.worker.post(ctx, "/jobs", fields{})
	if err != nil {
		return err
	}
	return a.want(403)
}

// claimAs asks for a task; ok is false if there is none.
func (s *coordinatorSuite) claimAs(ctx context.Context, worker string, more fields) (t task, ok bool, err error) {
	a, err := s.worker.post(ctx, "/tasks/claim", fields{"worker_id": worker, "capabilities": []string{workload}, "max_concurrency": 1}.merge(more))
	if err != nil {
		return t, false, err
	}
	if a.status == http.StatusNoContent {
		return t, false, nil
	}
	err = errors.Join(a.want(200), a.decode(&t))
	t.worker, t.raw = worker, a.body
	return t, err == nil, err
}

func (s *coordinatorSuite) emptyClaim(ctx context.Context) error {
	name := "conformance-" + s.run
	id, err := s.register(ctx, fields{"capabilities": []string{name}})
	if err != nil {
		return err
	}
	_, ok, err := s.claimAs(ctx, id, fields{"capabilities": []string{name}})
	if err == nil && ok {
		return errors.New("a task of a workload that nobody has")
	}
	return err
}

func (s *coordinatorSuite) narrowClaim(ctx context.Context) error {
	id, err := s.register(ctx, fields{"capabilities": []string{"conformance-" + s.run}})
	if err != nil {
		return err
	}
	return s.withJob(ctx, 1, func(context.Context, string) error {
		t, ok, err := s.claimAs(ctx, id, nil)
		if err == nil && ok {
			return fmt.Errorf("task %s went to a worker that had not registered %s", t.ID, workload)
		}
		return err
	})
}

func (s *coordinatorSuite) unknown(ctx context.Context) error {
	const nobody = "00000000-0000-7000-8000-000000000000"
	a, err := s.worker.post(ctx, "/tasks/claim", fields{"worker_id": nobody, "capabilities": []string{workload}})
	if err != nil {
		return err
	}
	if err := a.want(404); err != nil {
		return err
	}
	id, err := s.register(ctx, nil)
	if err != nil {
		return err
	}
	a, err = s.worker.post(ctx, "/tasks/"+nobody+"/heartbeat", fields{"worker_id": id, "attempt": 1})
	if err != nil {
		return err
	}
	return a.want(404, 409)
}

// task is a claimed task.
type task struct {
	ID      string `json:"task_id"`
	Attempt int    `json:"attempt"`
	Expires string `json:"lease_expires_at"`
	Seconds float64
	Name    string `json:"workload"`
	Input   struct {
		URI    string
		SHA256 string
	}
	Parameters json.RawMessage
	worker     string
	raw        []byte
}

func (t task) path(rest string) string { return "/tasks/" + t.ID + rest }

func (t task) lease() fields { return fields{"worker_id": t.worker, "attempt": t.Attempt} }

func (t task) headers(more ...string) []string {
	return append([]string{"X-Worker-ID", t.worker, "X-Task-Attempt", strconv.Itoa(t.Attempt), "Content-Type", "text/csv"}, more...)
}

// withJob runs do while a Job of n tasks exists, and cancels the Job then.
func (s *coordinatorSuite) withJob(ctx context.Context, n int, do func(ctx context.Context, name string) error) error {
	s.jobs++
	name := fmt.Sprintf("conformance-%s-%d", s.run, s.jobs)
	var table strings.Builder
	table.WriteString("chembl_id\tcanonical_smiles\n")
	for i := range n {
		fmt.Fprintf(&table, "M%d\tC%s\n", i, strings.Repeat("C", i))
	}
	a, err := s.operator.send(ctx, http.MethodPost, "/artifacts?filename="+name+".tsv", strings.NewReader(table.String()), "Content-Type", "text/tab-separated-values")
	if err != nil {
		return err
	}
	if err := a.want(200, 201); err != nil {
		return err
	}
	a, err = s.operator.post(ctx, "/jobs", fields{
		"apiVersion": "scimesh.dev/v1", "kind": "Job", "metadata": fields{"name": name},
		"spec": fields{
			"workload": workload, "input": fields{"sha256": hex.EncodeToString(sum([]byte(table.String())))},
			"parameters": fields{"query_smiles": "CCO"}, "sharding": fields{"rows": 1}, "priority": 1000,
		},
	})
	if err != nil {
		return err
	}
	if err := a.want(201); err != nil {
		return err
	}
	defer func() { _, _ = s.operator.post(context.WithoutCancel(ctx), "/jobs/"+name+"/cancel", nil) }()
	return do(ctx, name)
}

func sum(b []byte) []byte {
	h := sha256.Sum256(b)
	return h[:]
}

// withTask runs do with a task that a new worker has claimed.
func (s *coordinatorSuite) withTask(ctx context.Context, do func(t task) error) error {
	return s.withJob(ctx, 1, func(ctx context.Context, _ string) error {
		id, err := s.register(ctx, nil)
		if err != nil {
			return err
		}
		t, err := s.await(ctx, id)
		if err != nil {
			return err
		}
		return do(t)
	})
}

// await claims until there is a task.
func (s *coordinatorSuite) await(ctx context.Context, worker string) (task, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		t, ok, err := s.claimAs(ctx, worker, fields{"wait_seconds": 2})
		if err != nil || ok {
			return t, err
		}
	}
}
