//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// patience is how long a check waits for a worker.
const patience = 90 * time.Second

// workerSuite checks a worker, which it starts anew for each check.
type workerSuite struct {
	command []string
	stderr  io.Writer
}

func newWorkerSuite(command []string, stderr io.Writer) *workerSuite {
	return &workerSuite{command: command, stderr: stderr}
}

func (s *workerSuite) checks() []check {
	return []check{
		{"it registers, computes, uploads and then completes", s.with(s.completes)},
		{"without a task it backs off", s.with(s.backsOff)},
		{"an input with another checksum is a failure, told without paths", s.with(s.checksum)},
		{"it renews its lease while it is busy", s.with(s.renews)},
		{"its token never crosses an origin", s.with(s.redirect)},
		{"a broken download is mended", s.with(s.brokenDownload)},
		{"errors of the server and lost answers are repeated", s.with(s.repeats)},
		{"a lost lease ends the task quietly", s.with(s.lostLease)},
		{"a coordinator that does not know it is registered with again", s.with(s.registersAgain)},
		{"it keeps its identity over a restart", s.with(s.keepsIdentity)},
	}
}

// running is a worker process.
type running struct {
	cmd  *exec.Cmd
	done chan struct{}
}

func (s *workerSuite) start(p *played, dir string) (*running, error) {
	cmd := exec.Command(s.command[0], s.command[1:]...)
	cmd.Env = append(os.Environ(), "SCIMESH_COORDINATOR_URL="+p.server.URL, "SCIMESH_TOKEN="+playedToken,
		"SCIMESH_WORK_DIR="+dir, "SCIMESH_CLAIM_WAIT=0s", "SCIMESH_POLL_INTERVAL=500ms")
	cmd.Stdout, cmd.Stderr = s.stderr, s.stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	r := &running{cmd: cmd, done: make(chan struct{})}
	go func() { defer close(r.done); _ = cmd.Wait() }()
	return r, nil
}

// kill ends the process and those of its group.
func (r *running) kill() {
	_ = syscall.Kill(-r.cmd.Process.Pid, syscall.SIGKILL) // it may have ended
	<-r.done
}

// with runs a check with a played coordinator and a worker of its own.
func (s *workerSuite) with(run func(ctx context.Context, p *played, start func() (*running, error)) error) func(context.Context) error {
	return func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		dir, err := os.MkdirTemp("", "scimesh-conformance-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		p := newPlayed()
		defer p.server.Close()
		var workers []*running
		defer func() {
			for _, w := range workers {
				w.kill()
			}
		}()
		err = run(ctx, p, func() (*running, error) {
			w, err := s.start(p, dir)
			if err == nil {
				workers = append(workers, w)
			}
			return w, err
		})
		p.mu.Lock()
		defer p.mu.Unlock()
		if len(p.faults) > 0 {
			err = errors.Join(err, errors.New(strings.Join(p.faults, "\n      ")))
		}
		return err
	}
}

// await waits until a request of that kind has come n times.
func (p *played) await(ctx context.Context, call string, n int) ([]request, error) {
	for {
		if got := p.seen(call); len(got) >= n {
			return got, nil
		}
		select {
		case <-ctx.Done():
			var calls []string
			p.mu.Lock()
			defer p.mu.Unlock()
			for _, r := range p.requests {
				calls = append(calls, r.call)
			}
			return nil, fmt.Errorf("%s came less than %d times; seen: %s", call, n, strings.Join(slices.Compact(calls), ", "))
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (s *workerSuite) completes(ctx context.Context, p *played, start func() (*running, error)) error {
	t := p.addTask()
	if _, err := start(); err != nil {
		return err
	}
	results, err := p.await(ctx, "POST result", 1)
	if err != nil {
		return err
	}
	if err := p.wantManifest(results[0], t); err != nil {
		return err
	}
	put := p.seen("PUT artifacts")[0]
	if put.header.Get("X-Worker-ID") != p.worker || put.header.Get("X-Task-Attempt") != "1" || put.header.Get("Content-Type") == "" {
		return fmt.Errorf("headers of the upload: %v", put.header)
	}
	last := -1
	for _, call := range []string{"POST /workers/register", "POST /tasks/claim", "GET input", "PUT artifacts", "POST result"} {
		p.mu.Lock()
		at := slices.IndexFunc(p.requests, func(r request) bool { return r.call == call })
		p.mu.Unlock()
		if at <= last {
			return fmt.Errorf("%s came at %d, after what must follow it", call, at)
		}
		last = at
	}
	if len(p.seen("POST heartbeat")) == 0 {
		return errors.New("no heartbeat: the task would never be running")
	}
	return nil
}

// wantManifest checks that a completion names the upload.
func (p *played) wantManifest(r request, t *playedTask) error {
	var body struct {
		Worker  string `json:"worker_id"`
		Attempt int
		Result  struct {
			ID     string `json:"artifact_id"`
			URI    string
			SHA256 string
		}
	}
	if err := json.Unmarshal(r.body, &body); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	m := body.Result
	if body.Worker != p.worker || body.Attempt != 1 || r.task != t.id || m.ID != t.artifact || m.URI != p.uri(t) || m.SHA256 != t.uploaded {
		return fmt.Errorf("the completion is %s", r.body)
	}
	return nil
}

func (s *workerSuite) backsOff(ctx context.Context, p *played, start func() (*running, error)) error {
	if _, err := start(); err != nil {
		return err
	}
	if _, err := p.await(ctx, "POST /tasks/claim", 1); err != nil {
		return err
	}
	<-time.After(3 * time.Second)
	if n := len(p.seen("POST /tasks/claim")); n > 30 {
		return fmt.Errorf("%d claims in three seconds", n)
	}
	_, err := p.await(ctx, "POST /tasks/claim", 2)
	return err
}

func (s *workerSuite) checksum(ctx context.Context, p *played, start func() (*running, error)) error {
	t := p.addTask()
	t.sha256 = strings.Repeat("0", 64)
	if _, err := start(); err != nil {
		return err
	}
	failures, err := p.await(ctx, "POST failure", 1)
	if err != nil {
		return err
	}
	if n := len(p.seen("PUT artifacts")); n > 0 {
		return errors.New("it computed an input that it could not verify")
	}
	for _, inside := range []string{os.TempDir(), "Traceback", "goroutine", "CCO"} {
		if bytes.Contains(failures[0].body, []byte(inside)) {
			return fmt.Errorf("the failure shows the inside: %s", failures[0].body)
		}
	}
	return nil
}

func (s *workerSuite) renews(ctx context.Context, p *played, start func() (*running, error)) error {
	p.leases = 2
	t := p.addTask()
	p.hook = func(w http.ResponseWriter, r request) bool {
		if r.call == "GET input" {
			trickle(w, t.input, 6*time.Second)
			return true
		}
		return false
	}
	if _, err := start(); err != nil {
		return err
	}
	if _, err := p.await(ctx, "POST result", 1); err != nil {
		return err
	}
	if n := len(p.seen("POST heartbeat")); n < 4 {
		return fmt.Errorf("%d heartbeats in six seconds of a lease of two", n)
	}
	return nil
}

func (s *workerSuite) redirect(ctx context.Context, p *played, start func() (*running, error)) error {
	t := p.addTask()
	leaked := make(chan string, 100)
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if token := r.Header.Get("Authorization"); token != "" {
			leaked <- token
		}
		_, _ = w.Write(t.input)
	}))
	defer other.Close()
	p.hook = func(w http.ResponseWriter, r request) bool {
		if r.call == "GET input" {
			w.Header().Set("Location", other.URL+"/elsewhere")
			w.WriteHeader(http.StatusTemporaryRedirect)
			return true
		}
		return false
	}
	if _, err := start(); err != nil {
		return err
	}
	if _, err := p.await(ctx, "POST result", 1); err != nil {
		return err
	}
	if len(leaked) > 0 {
		return errors.New("the token went to another origin")
	}
	return nil
}

func (s *workerSuite) brokenDownload(ctx context.Context, p *played, start func() (*running, error)) error {
	t := p.addTask()
	var tries atomic.Int32
	p.hook = func(w http.ResponseWriter, r request) bool {
		if r.call != "GET input" || tries.Add(1) > 2 {
			return false
		}
		w.Header().Set("Content-Length", fmt.Sprint(len(t.input)))
		_, _ = w.Write(t.input[:len(t.input)/3])
		_ = http.NewResponseController(w).Flush()
		cut(w)
		return true
	}
	if _, err := start(); err != nil {
		return err
	}
	results, err := p.await(ctx, "POST result", 1)
	if err != nil {
		return err
	}
	return p.wantManifest(results[0], t)
}

func (s *workerSuite) repeats(ctx context.Context, p *played, start func() (*running, error)) error {
	t := p.addTask()
	tries := map[string]int{}
	p.hook = func(w http.ResponseWriter, r request) bool {
		p.mu.Lock()
		tries[r.call]++
		n := tries[r.call]
		p.mu.Unlock()
		switch {
		case n == 1 && r.call == "POST result":
			cut(w)
		case n == 1 && r.call == "POST /workers/register":
			w.WriteHeader(http.StatusBadGateway) // a proxy's, without our error shape
		case n <= 2 && (r.call == "PUT artifacts" || r.call == "POST /tasks/claim" || r.call == "POST heartbeat"):
			w.Header().Set("Retry-After", "1")
			writeJSON(w, http.StatusServiceUnavailable, errorBody("unavailable"))
		default:
			return false
		}
		return true
	}
	if _, err := start(); err != nil {
		return err
	}
	results, err := p.await(ctx, "POST result", 2)
	if err != nil {
		return err
	}
	for _, r := range results {
		if err := p.wantManifest(r, t); err != nil {
			return err
		}
	}
	if n := len(p.seen("GET input")); n > 1 {
		return fmt.Errorf("the input was fetched %d times", n)
	}
	return nil
}

func (s *workerSuite) lostLease(ctx context.Context, p *played, start func() (*running, error)) error {
	lost, next := p.addTask(), p.addTask()
	p.hook = func(w http.ResponseWriter, r request) bool {
		switch {
		case r.task != lost.id:
			return false
		case r.call == "GET input":
			trickle(w, lost.input, 3*time.Second)
		default:
			writeJSON(w, http.StatusConflict, errorBody("lease_lost"))
		}
		return true
	}
	if _, err := start(); err != nil {
		return err
	}
	results, err := p.await(ctx, "POST result", 1)
	if err != nil {
		return err
	}
	if results[0].task != next.id {
		return errors.New("it tried to complete the task that it had lost")
	}
	if n := len(p.seen("POST failure")); n > 0 {
		return errors.New("it reported a failure of a task that it had lost")
	}
	return nil
}

func (s *workerSuite) registersAgain(ctx context.Context, p *played, start func() (*running, error)) error {
	p.addTask()
	var forgot atomic.Bool
	p.hook = func(w http.ResponseWriter, r request) bool {
		if r.call != "POST /tasks/claim" || forgot.Swap(true) {
			return false
		}
		writeJSON(w, http.StatusNotFound, errorBody("not_found"))
		return true
	}
	if _, err := start(); err != nil {
		return err
	}
	if _, err := p.await(ctx, "POST /workers/register", 2); err != nil {
		return err
	}
	_, err := p.await(ctx, "POST result", 1)
	return err
}

func (s *workerSuite) keepsIdentity(ctx context.Context, p *played, start func() (*running, error)) error {
	first, err := start()
	if err != nil {
		return err
	}
	if _, err := p.await(ctx, "POST /tasks/claim", 1); err != nil {
		return err
	}
	p.mu.Lock()
	id := p.worker
	p.mu.Unlock()
	first.kill()
	if _, err := start(); err != nil {
		return err
	}
	registrations, err := p.await(ctx, "POST /workers/register", 2)
	if err != nil {
		return err
	}
	if !bytes.Contains(registrations[1].body, []byte(id)) {
		return fmt.Errorf("it registered anew: %s", registrations[1].body)
	}
	return nil
}
