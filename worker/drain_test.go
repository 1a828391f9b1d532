package worker

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/workloads"
)

func TestDrainLetsTasksFinish(t *testing.T) {
	inBubble(t, lasting(20*time.Second), func(b *bench) {
		b.cfg.DrainTimeout, b.cfg.Concurrency = 30*time.Second, 2
		first, second, third := b.fake.add("a"), b.fake.add("b"), b.fake.add("c")
		w := b.start()
		after(time.Second)
		w.end()
		b.wantCompleted(first, "A")
		b.wantCompleted(second, "B")
		if third.attempt != 0 {
			t.Error("claimed while draining")
		}
	})
}

func TestDrainHandsBackWhatDoesNotFinish(t *testing.T) {
	for _, timeout := range []time.Duration{0, 5 * time.Second} {
		inBubble(t, lasting(time.Minute), func(b *bench) {
			b.cfg.DrainTimeout = timeout
			task := b.fake.add("slow")
			w := b.start()
			after(time.Second)
			start := time.Now()
			w.end()
			if d := time.Since(start); d < timeout || d > timeout+time.Second {
				t.Errorf("the end took %v, want %v", d, timeout)
			}
			if task.released != 1 || task.status != v1.TaskPending || len(task.failures) != 0 {
				t.Errorf("task %s, released %d, failures %v", task.status, task.released, task.failures)
			}
			b.wantNoFolders()
		})
	}
}

func TestTaskThatCannotBeHandedBackIsKept(t *testing.T) {
	var runs int
	inBubble(t, counted(&runs, lasting(10*time.Second)), func(b *bench) {
		b.fake.ttl = 10 * time.Minute
		task := b.fake.add("kept")
		w := b.start()
		after(time.Second)
		b.net.down()
		w.end()
		if len(b.folders()) != 1 {
			t.Fatalf("folders %v, want the task's", b.folders())
		}
		b.net.up()
		next := b.start()
		after(20 * time.Second)
		b.wantCompleted(task, "KEPT")
		if n := len(b.fake.paths("/input")); n != 1 {
			t.Errorf("input fetched %d times", n)
		}
		next.end()
	})
}

// The second signal: nothing is awaited, nothing is sent, nothing is lost.
func TestAbortEndsAtOnceAndTheNextStartGoesOn(t *testing.T) {
	var runs int
	inBubble(t, counted(&runs, lasting(10*time.Second)), func(b *bench) {
		b.cfg.DrainTimeout = time.Hour
		task := b.fake.add("aborted")
		w := b.start()
		after(time.Second)
		start := time.Now()
		w.stop()
		after(time.Second)
		w.Abort()
		w.wait()
		if d := time.Since(start); d > 2*time.Second {
			t.Errorf("the end took %v", d)
		}
		next := b.start()
		after(20 * time.Second)
		b.wantCompleted(task, "ABORTED")
		if n := len(b.fake.paths("/input")); n != 1 || runs != 2 {
			t.Errorf("input fetched %d times, computed %d times; want 1, 2", n, runs)
		}
		next.end()
		b.wantNoFolders()
	})
}

// What was computed is delivered by the next process and not computed again.
func TestFinishedWorkOutlivesTheProcess(t *testing.T) {
	for _, path := range []string{"/artifacts/", "/result"} {
		t.Run(path, func(t *testing.T) {
			var runs int
			inBubble(t, counted(&runs, upper), func(b *bench) {
				b.fake.ttl = 10 * time.Minute
				b.fake.intercept(answering(path, http.StatusServiceUnavailable, "unavailable"))
				task := b.fake.add("finished")
				w := b.start()
				after(time.Minute)
				w.Abort()
				w.wait()
				b.fake.intercept(nil)
				next := b.start()
				after(time.Second)
				b.wantCompleted(task, "FINISHED")
				if runs != 1 || len(task.uploads) != 1 {
					t.Errorf("computed %d times, uploaded %d times", runs, len(task.uploads))
				}
				next.end()
				b.wantNoFolders()
			})
		})
	}
}

func TestResultDamagedOnDiskIsNotDelivered(t *testing.T) {
	inBubble(t, upper, func(b *bench) {
		b.fake.ttl = 10 * time.Minute
		b.fake.intercept(answering("/artifacts/", http.StatusServiceUnavailable, "unavailable"))
		task := b.fake.add("damaged")
		w := b.start()
		after(time.Second)
		w.Abort()
		w.wait()
		b.fake.intercept(nil)
		path := filepath.Join(b.cfg.WorkDir, tasksDir, b.folders()[0], outputName)
		if err := os.WriteFile(path, []byte("DAMAGEE"), 0o600); err != nil {
			t.Fatal(err)
		}
		next := b.start()
		after(time.Second)
		b.wantFailure(task, codeLocalStorage, true)
		next.end()
	})
}

func TestLogOfAnAttemptGoesOnInTheNextProcess(t *testing.T) {
	inBubble(t, lasting(10*time.Second), func(b *bench) {
		task := b.fake.add("logged")
		w := b.start()
		after(2*logFlush + time.Second)
		w.Abort()
		w.wait()
		next := b.start()
		after(20 * time.Second)
		b.wantCompleted(task, "LOGGED")
		log := strings.Join(task.logs, "")
		if n := strings.Count(log, "computing test"); n != 2 || !strings.Contains(log, "result uploaded") {
			t.Errorf("log:\n%s", log)
		}
		next.end()
	})
}

func TestFailureReportOutlivesTheProcess(t *testing.T) {
	var runs int
	inBubble(t, counted(&runs, failing(errors.New("broken"))), func(b *bench) {
		b.fake.ttl = 10 * time.Minute
		b.fake.intercept(answering("/failure", http.StatusServiceUnavailable, "unavailable"))
		task := b.fake.add("fails")
		w := b.start()
		after(time.Minute)
		w.Abort()
		w.wait()
		b.fake.intercept(nil)
		next := b.start()
		after(time.Second)
		b.wantFailure(task, codeExecution, true)
		if runs != 1 {
			t.Errorf("computed %d times", runs)
		}
		next.end()
	})
}

// The lease has gone while no process ran: the folder goes, nothing is computed.
func TestLeftoverOfALostLeaseIsDropped(t *testing.T) {
	var runs int
	inBubble(t, counted(&runs, lasting(10*time.Second)), func(b *bench) {
		task := b.fake.add("lost")
		w := b.start()
		after(time.Second)
		w.Abort()
		w.wait()
		after(time.Minute)
		b.fake.look(func() { task.status = v1.TaskCancelled })
		next := b.start()
		after(time.Second)
		b.wantNoFolders()
		if runs != 1 || len(task.failures) != 0 {
			t.Errorf("computed %d times, failures %v", runs, task.failures)
		}
		next.end()
	})
}

// A task in which every process ends is reported at last.
func TestTaskThatEndsItsProcessIsNotTriedForEver(t *testing.T) {
	inBubble(t, upper, func(b *bench) {
		b.fake.ttl = time.Hour
		task := b.fake.add("deadly")
		b.cfg.Workloads = workloads.NewRegistry(testWorkload{"test", func(ctx context.Context, _ workloads.TaskRequest) (workloads.TaskResult, error) {
			<-ctx.Done()
			return workloads.TaskResult{}, ctx.Err()
		}})
		w := b.start()
		after(time.Second)
		w.Abort()
		w.wait()
		// As if the processes had ended without a word.
		dir := b.cfg.WorkDir + "/" + tasksDir + "/" + b.folders()[0]
		s, err := loadState(dir)
		if err != nil {
			t.Fatal(err)
		}
		s.Starts = maxStarts
		if err := s.save(dir); err != nil {
			t.Fatal(err)
		}
		next := b.start()
		after(time.Second)
		b.wantFailure(task, codeProcessEnded, true)
		next.end()
	})
}

func TestDrainLogsWhatItDoes(t *testing.T) {
	inBubble(t, lasting(time.Minute), func(b *bench) {
		b.fake.add("x")
		w := b.start()
		after(time.Second)
		w.end()
		for _, want := range []string{"worker stops claiming", "task handed back", "worker stopped", `"task_id":`, `"attempt":1`, `"worker_id":`, `"operation":`} {
			if !strings.Contains(b.logs.String(), want) {
				t.Errorf("log lacks %s:\n%s", want, b.logs)
			}
		}
	})
}
