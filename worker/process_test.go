//go:build unix

package worker

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/zap"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/workloads"
)

// TestMain lets the test binary be a worker of its own.
func TestMain(m *testing.M) {
	if os.Getenv("TEST_WORKER_URL") == "" {
		os.Exit(m.Run())
	}
	if err := childWorker(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// childWorker runs a worker whose workload notes each run in a file and then,
// while the file TEST_WORKER_HOLD exists, waits.
func childWorker() error {
	run := func(ctx context.Context, req workloads.TaskRequest) (workloads.TaskResult, error) {
		f, err := os.OpenFile(os.Getenv("TEST_WORKER_RUNS"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return workloads.TaskResult{}, err
		}
		defer f.Close()
		if _, err := f.WriteString("run\n"); err != nil {
			return workloads.TaskResult{}, err
		}
		for held(os.Getenv("TEST_WORKER_HOLD")) {
			if err := sleep(ctx, 10*time.Millisecond); err != nil {
				return workloads.TaskResult{}, err
			}
		}
		return upper(ctx, req)
	}
	logger, err := zap.NewProduction()
	if err != nil {
		return err
	}
	w, err := New(Config{
		CoordinatorURL: os.Getenv("TEST_WORKER_URL"), Token: testToken, Name: "child", WorkDir: os.Getenv("TEST_WORKER_DIR"),
		Workloads: workloads.NewRegistry(testWorkload{"test", run}), ClaimWait: time.Second, Logger: logger,
	})
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	return w.Run(ctx)
}

func held(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// world is a coordinator on a real port and the files that child workers share.
type world struct {
	t               *testing.T
	fake            *fakeCoordinator
	url             string
	dir, runs, hold string
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, fake: newFake(t)}
	w.url = w.fake.serveTCP(t)
	tmp := t.TempDir()
	w.dir, w.runs, w.hold = tmp+"/work", tmp+"/runs", tmp+"/hold"
	if err := os.WriteFile(w.hold, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return w
}

type child struct {
	cmd *exec.Cmd
	log *logBuffer
}

func (w *world) start() *child {
	w.t.Helper()
	c := &child{cmd: exec.Command(os.Args[0]), log: &logBuffer{}}
	c.cmd.Env = append(os.Environ(), "TEST_WORKER_URL="+w.url, "TEST_WORKER_DIR="+w.dir,
		"TEST_WORKER_RUNS="+w.runs, "TEST_WORKER_HOLD="+w.hold)
	c.cmd.Stderr, c.cmd.Stdout = c.log, c.log
	if err := c.cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		_ = c.cmd.Process.Kill()
		_ = c.cmd.Wait()
	})
	return c
}

func (w *world) signal(c *child, s syscall.Signal) {
	w.t.Helper()
	if err := c.cmd.Process.Signal(s); err != nil {
		w.t.Fatal(err)
	}
}

// computed returns how often the workload has begun.
func (w *world) computed() int {
	raw, _ := os.ReadFile(w.runs)
	return bytes.Count(raw, []byte("\n"))
}

// until waits for cond, which the coordinator's state decides.
func (w *world) until(what string, cond func() bool) {
	w.t.Helper()
	deadline := time.After(20 * time.Second)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		var ok bool
		w.fake.look(func() { ok = cond() })
		if ok {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			w.t.Fatalf("waited in vain: %s", what)
		}
	}
}

func (w *world) release() {
	if err := os.Remove(w.hold); err != nil {
		w.t.Fatal(err)
	}
}

func TestKilledWhileComputingGoesOnUnderTheSameAttempt(t *testing.T) {
	w := newWorld(t)
	task := w.fake.add("killed")
	first := w.start()
	w.until("the workload runs", func() bool { return w.computed() == 1 })
	w.signal(first, syscall.SIGKILL)
	_ = first.cmd.Wait()

	w.release()
	w.start()
	w.until("the task is completed", func() bool { return task.status == v1.TaskCompleted })
	w.fake.look(func() {
		if task.attempt != 1 || string(task.uploads[0]) != "KILLED" || len(w.fake.known) != 1 {
			t.Errorf("attempt %d, result %q, %d identities", task.attempt, task.uploads[0], len(w.fake.known))
		}
	})
	if n := len(w.fake.paths("/input")); n != 1 {
		t.Errorf("input fetched %d times", n)
	}
}

func TestKilledBeforeDeliveryDeliversWithoutComputing(t *testing.T) {
	w := newWorld(t)
	w.release()
	w.fake.intercept(answering("/artifacts/", 503, "unavailable"))
	task := w.fake.add("finished")
	first := w.start()
	w.until("an upload was tried", func() bool {
		for _, r := range w.fake.seen {
			if strings.Contains(r.path, "/artifacts/") {
				return true
			}
		}
		return false
	})
	w.signal(first, syscall.SIGKILL)
	_ = first.cmd.Wait()
	w.fake.intercept(nil)
	w.start()
	w.until("the task is completed", func() bool { return task.status == v1.TaskCompleted })
	if w.computed() != 1 || task.attempt != 1 {
		t.Errorf("computed %d times, attempt %d", w.computed(), task.attempt)
	}
}

// A killed worker is started again and again while it works; no task that it
// had begun needs a second attempt.
func TestKilledAgainAndAgain(t *testing.T) {
	w := newWorld(t)
	w.release()
	w.fake.ttl = 4 * time.Second
	var tasks []*fakeTask
	for range 60 {
		tasks = append(tasks, w.fake.add("again"))
	}
	done := func() (n int) {
		for _, task := range tasks {
			if task.status == v1.TaskCompleted {
				n++
			}
		}
		return n
	}
	for round := 1; round <= 5; round++ {
		c := w.start()
		w.until("some more tasks are completed", func() bool { return done() >= 8*round })
		w.signal(c, syscall.SIGKILL)
		_ = c.cmd.Wait()
	}
	w.start()
	w.until("all tasks are completed", func() bool { return done() == len(tasks) })
	w.fake.look(func() {
		for _, task := range tasks {
			// Where the process ended before it had read the answer to its claim,
			// nobody knows of the lease, and it expires. No other does.
			if len(task.failures) != 0 || task.lostRunning != 0 {
				t.Errorf("task %s: attempt %d, failures %v, %d leases lost while held", task.status, task.attempt, task.failures, task.lostRunning)
			}
		}
	})
}

func TestTwoProcessesOnOneWorkDir(t *testing.T) {
	w := newWorld(t)
	task := w.fake.add("one")
	first := w.start()
	w.until("the workload runs", func() bool { return w.computed() == 1 })
	second := w.start()
	if err := second.cmd.Wait(); err == nil {
		t.Error("the second process ran")
	}
	want := fmt.Sprintf("%v (process %d)", ErrWorkDirInUse, first.cmd.Process.Pid)
	if got := second.log.String(); !strings.Contains(got, want) {
		t.Errorf("second process said %q, want %q", got, want)
	}
	w.release()
	w.until("the first goes on", func() bool { return task.status == v1.TaskCompleted })
}

// SIGSTOP past the lease: another worker has completed the task meanwhile.
func TestStoppedPastItsLeaseHarmsNothing(t *testing.T) {
	w := newWorld(t)
	w.fake.ttl, w.fake.interval = 2*time.Second, 0
	task := w.fake.add("stopped")
	c := w.start()
	w.until("the workload runs", func() bool { return w.computed() == 1 })
	w.signal(c, syscall.SIGSTOP)
	w.until("the lease has expired", func() bool { return time.Now().After(task.expires) })
	w.fake.look(func() {
		task.attempt++
		task.worker = [16]byte{7}
		task.expires = time.Now().Add(time.Hour)
	})
	w.signal(c, syscall.SIGCONT)
	w.release()
	w.until("a 409 was given", func() bool { return task.refused > 0 })
	next := w.fake.add("next")
	w.until("the worker goes on with the next task", func() bool { return next.status == v1.TaskCompleted })
	w.fake.look(func() {
		if task.status != v1.TaskRunning || task.attempt != 2 || len(task.uploads) != 0 || len(task.failures) != 0 || task.released != 0 {
			t.Errorf("task %s, attempt %d, uploads %d, failures %v", task.status, task.attempt, len(task.uploads), task.failures)
		}
	})
}

func TestSIGTERMHandsBack(t *testing.T) {
	w := newWorld(t)
	task := w.fake.add("terminated")
	c := w.start()
	w.until("the workload runs", func() bool { return w.computed() == 1 })
	w.signal(c, syscall.SIGTERM)
	if err := c.cmd.Wait(); err != nil {
		t.Errorf("worker ended with %v\n%s", err, c.log)
	}
	if task.released != 1 || len(task.failures) != 0 {
		t.Errorf("released %d, failures %v", task.released, task.failures)
	}
}
