package worker

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"k8s.io/apimachinery/pkg/util/validation/field"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/workloads"
)

const coordinatorAddr = "coordinator.test:80"

type executeFunc func(ctx context.Context, req workloads.TaskRequest) (workloads.TaskResult, error)

// testWorkload computes what its function says. It can only execute.
type testWorkload struct {
	name string
	run  executeFunc
}

func (w testWorkload) Describe() v1.WorkloadSpec { return v1.WorkloadSpec{Version: "1"} }
func (w testWorkload) Name() string              { return w.name }
func (w testWorkload) Validate(_ *field.Path, p json.RawMessage) (json.RawMessage, field.ErrorList) {
	return p, nil
}
func (w testWorkload) Plan(context.Context, workloads.PlanRequest) (workloads.Plan, error) {
	return workloads.Plan{}, errors.New("a worker does not plan")
}
func (w testWorkload) Execute(ctx context.Context, req workloads.TaskRequest) (workloads.TaskResult, error) {
	return w.run(ctx, req)
}
func (w testWorkload) Reduce(context.Context, workloads.ReduceRequest) (workloads.ReduceResult, error) {
	return workloads.ReduceResult{}, errors.New("a worker does not reduce")
}

// upper writes the input in capitals.
func upper(_ context.Context, req workloads.TaskRequest) (workloads.TaskResult, error) {
	in, err := io.ReadAll(req.Input)
	if err != nil {
		return workloads.TaskResult{}, err
	}
	req.Progress(0.5)
	req.Logf("read %d bytes", len(in))
	_, err = io.WriteString(req.Output, strings.ToUpper(string(in)))
	return workloads.TaskResult{ContentType: "text/csv", Metrics: map[string]any{"processed_rows": 1}}, err
}

// lasting is upper after d, or its context's end.
func lasting(d time.Duration) executeFunc {
	return func(ctx context.Context, req workloads.TaskRequest) (workloads.TaskResult, error) {
		if err := sleep(ctx, d); err != nil {
			return workloads.TaskResult{}, err
		}
		return upper(ctx, req)
	}
}

// counted counts the calls of run.
func counted(n *int, run executeFunc) executeFunc {
	var mu sync.Mutex
	return func(ctx context.Context, req workloads.TaskRequest) (workloads.TaskResult, error) {
		mu.Lock()
		*n++
		mu.Unlock()
		return run(ctx, req)
	}
}

// logBuffer collects a worker's own log as JSON lines.
type logBuffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}
func (l *logBuffer) Sync() error { return nil }
func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
func (l *logBuffer) logger() *zap.Logger {
	return zap.New(zapcore.NewCore(zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig()), l, zap.DebugLevel))
}

// bench is a worker and the coordinator that it talks to, in one bubble.
type bench struct {
	t    *testing.T
	fake *fakeCoordinator
	net  *network
	logs *logBuffer
	cfg  Config
}

// inBubble runs f with a bench whose worker's workload is run.
func inBubble(t *testing.T, run executeFunc, f func(b *bench)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := &bench{t: t, fake: newFake(t), net: newNetwork(), logs: &logBuffer{}}
		b.net.serve(b.t, coordinatorAddr, b.fake)
		b.cfg = Config{
			CoordinatorURL: testURL, Token: testToken, Name: "w1", WorkDir: t.TempDir(),
			Workloads: workloads.NewRegistry(testWorkload{"test", run}), ClaimWait: 10 * time.Second,
			Logger: b.logs.logger(), Transport: b.net.transport(t),
		}
		f(b)
	})
}

// running is a worker at work.
type running struct {
	*Worker
	t    *testing.T
	stop context.CancelFunc
	done chan error
}

// start runs a worker of b.cfg.
func (b *bench) start() *running {
	b.t.Helper()
	w, err := New(b.cfg)
	if err != nil {
		b.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(b.t.Context())
	r := &running{Worker: w, t: b.t, stop: stop, done: make(chan error, 1)}
	go func() { r.done <- w.Run(ctx) }()
	b.t.Cleanup(stop)
	return r
}

// end stops the worker and waits for the end of Run.
func (r *running) end() {
	r.t.Helper()
	r.stop()
	r.wait()
}

func (r *running) wait() {
	r.t.Helper()
	if err := <-r.done; err != nil {
		r.t.Errorf("Run() = %v", err)
	}
}

// runOnce lets a worker do n tasks and end.
func (b *bench) runTasks(n int) {
	b.t.Helper()
	b.cfg.MaxTasks = n
	b.start().wait()
}

// wantCompleted checks that task ended with want as its result, at its first attempt.
func (b *bench) wantCompleted(task *fakeTask, want string) {
	b.t.Helper()
	b.fake.look(func() {
		if task.status != v1.TaskCompleted {
			b.t.Fatalf("task is %s after attempt %d, failures %v\n%s", task.status, task.attempt, task.failures, b.logs)
		}
		if got := string(task.uploads[len(task.uploads)-1]); got != want {
			b.t.Errorf("result = %q, want %q", got, want)
		}
		if task.attempt != 1 || task.lost != 0 || len(task.failures) != 0 {
			b.t.Errorf("attempts %d, lost leases %d, failures %v; want 1, 0, none", task.attempt, task.lost, task.failures)
		}
	})
}

// wantFailure checks the one failure reported for task and returns it.
func (b *bench) wantFailure(task *fakeTask, code string, retryable bool) (message string) {
	b.t.Helper()
	b.fake.look(func() {
		if len(task.failures) != 1 {
			b.t.Fatalf("failures %v, want one of code %s\n%s", task.failures, code, b.logs)
		}
		f := task.failures[0]
		if f.ErrorCode != code || *f.Retryable != retryable {
			b.t.Errorf("failure %s (retryable %t): %s, want %s (%t)", f.ErrorCode, *f.Retryable, f.ErrorMessage, code, retryable)
		}
		message = f.ErrorMessage
	})
	return message
}

// folders returns the names of the task folders in the work dir.
func (b *bench) folders() []string {
	entries, err := os.ReadDir(filepath.Join(b.cfg.WorkDir, tasksDir))
	if err != nil {
		b.t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func (b *bench) wantNoFolders() {
	b.t.Helper()
	if got := b.folders(); len(got) != 0 {
		b.t.Errorf("task folders left: %v", got)
	}
}

// answering returns a before hook that gives requests whose path contains part an error.
func answering(part string, status int, code string) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.Contains(r.URL.Path, part) {
			return false
		}
		refuse(w, status, code)
		return true
	}
}
