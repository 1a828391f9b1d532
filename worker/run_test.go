package worker

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"scimesh.dev/scimesh/workloads"
)

func TestTaskIsComputedAndDelivered(t *testing.T) {
	inBubble(t, upper, func(b *bench) {
		task := b.fake.add("chembl_id\tcanonical_smiles\n")
		b.runTasks(1)
		b.wantCompleted(task, "CHEMBL_ID\tCANONICAL_SMILES\n")
		b.wantNoFolders()
		b.fake.look(func() {
			if len(task.beats) == 0 {
				t.Error("no heartbeat")
			}
			var metrics map[string]any
			if err := json.Unmarshal(task.completed.Metrics, &metrics); err != nil {
				t.Fatal(err)
			}
			if metrics["processed_rows"] != 1.0 || metrics["elapsed_seconds"] == nil {
				t.Errorf("metrics = %v", metrics)
			}
			if task.completed.Result.ContentType != "text/csv" {
				t.Errorf("content type %q", task.completed.Result.ContentType)
			}
			log := strings.Join(task.logs, "")
			if !task.logEnd || !strings.Contains(log, "read 27 bytes") || !strings.Contains(log, "result uploaded") {
				t.Errorf("log (ended: %t):\n%s", task.logEnd, log)
			}
		})
	})
}

func TestParametersThreadsAndProgressReachTheWorkload(t *testing.T) {
	run := func(ctx context.Context, req workloads.TaskRequest) (workloads.TaskResult, error) {
		if string(req.Parameters) != `{"k":1}` || req.Threads != 3 {
			t.Errorf("parameters %s, threads %d", req.Parameters, req.Threads)
		}
		req.Progress(0.25)
		return lasting(12*time.Second)(ctx, req)
	}
	inBubble(t, run, func(b *bench) {
		b.cfg.Threads = 3
		task := b.fake.add("x")
		b.runTasks(1)
		b.wantCompleted(task, "X")
		b.fake.look(func() {
			if len(task.progress) == 0 || task.progress[0] != 0.25 {
				t.Errorf("progress told: %v, want 0.25 first", task.progress)
			}
		})
	})
}

func TestMetricsThatCannotBeSentAreLeftOut(t *testing.T) {
	for name, v := range map[string]any{"no JSON": math.NaN(), "too long": strings.Repeat("x", 20<<10)} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(ctx context.Context, req workloads.TaskRequest) (workloads.TaskResult, error) {
				res, err := upper(ctx, req)
				res.Metrics["odd"] = v
				return res, err
			}, func(b *bench) {
				task := b.fake.add("x")
				b.runTasks(1)
				b.wantCompleted(task, "X")
				if got := string(task.completed.Metrics); !strings.HasPrefix(got, `{"elapsed_seconds":`) || strings.Contains(got, "odd") {
					t.Errorf("metrics = %s", got)
				}
			})
		})
	}
}

func TestEmptyInputAndEmptyResult(t *testing.T) {
	inBubble(t, upper, func(b *bench) {
		task := b.fake.add("")
		b.runTasks(1)
		b.wantCompleted(task, "")
	})
}

func TestConcurrentTasks(t *testing.T) {
	var now, most atomic.Int32
	run := func(ctx context.Context, req workloads.TaskRequest) (workloads.TaskResult, error) {
		most.Store(max(most.Load(), now.Add(1)))
		defer now.Add(-1)
		return lasting(time.Second)(ctx, req)
	}
	inBubble(t, run, func(b *bench) {
		var tasks []*fakeTask
		for range 9 {
			tasks = append(tasks, b.fake.add("a"))
		}
		b.cfg.Concurrency = 3
		start := time.Now()
		b.runTasks(9)
		for _, task := range tasks {
			b.wantCompleted(task, "A")
		}
		if most.Load() != 3 || time.Since(start) > 4*time.Second {
			t.Errorf("%d tasks at once for %v, want 3 for about 3s", most.Load(), time.Since(start))
		}
	})
}

func TestOnceWithoutWork(t *testing.T) {
	inBubble(t, upper, func(b *bench) {
		b.cfg.Once = true
		b.start().wait()
		if got := len(b.fake.paths("/claim")); got != 1 {
			t.Errorf("%d claims, want 1", got)
		}
	})
}

func TestOnceDoesOneTask(t *testing.T) {
	inBubble(t, upper, func(b *bench) {
		first, second := b.fake.add("a"), b.fake.add("b")
		b.cfg.Once, b.cfg.Concurrency = true, 4
		b.start().wait()
		b.wantCompleted(first, "A")
		b.fake.look(func() {
			if second.attempt != 0 {
				t.Error("the second task was claimed too")
			}
		})
	})
}

func TestIdleWorkerPollsWithoutPauseWhereClaimsWait(t *testing.T) {
	inBubble(t, upper, func(b *bench) {
		w := b.start()
		time.Sleep(95 * time.Second) // fake time
		if got := len(b.fake.paths("/claim")); got != 10 {
			t.Errorf("%d claims of 10 s in 95 s, want 10", got)
		}
		task := b.fake.add("late")
		synctest.Wait()
		b.wantCompleted(task, "LATE")
		w.end()
	})
}

func TestIdleWorkerPausesWhereClaimsDoNotWait(t *testing.T) {
	inBubble(t, upper, func(b *bench) {
		b.cfg.ClaimWait, b.cfg.PollInterval = 0, 2*time.Second
		w := b.start()
		time.Sleep(time.Minute) // fake time
		if got := len(b.fake.paths("/claim")); got < 30 || got > 60 {
			t.Errorf("%d claims a minute, want one every 1 to 2 s", got)
		}
		w.end()
	})
}

func TestRestartedWorkerIsTheSameWorker(t *testing.T) {
	inBubble(t, upper, func(b *bench) {
		for range 3 {
			b.cfg.Once = true
			b.start().wait()
		}
		b.fake.look(func() {
			if len(b.fake.known) != 1 {
				t.Errorf("%d identities, want 1", len(b.fake.known))
			}
		})
		info, err := os.Stat(filepath.Join(b.cfg.WorkDir, identityFile))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("identity file: %v, %v; want mode 0600", info.Mode(), err)
		}
	})
}

func TestDamagedIdentityIsReplaced(t *testing.T) {
	inBubble(t, upper, func(b *bench) {
		if err := os.WriteFile(filepath.Join(b.cfg.WorkDir, identityFile), []byte("{"), 0o600); err != nil {
			t.Fatal(err)
		}
		b.cfg.Once = true
		b.start().wait()
		var kept identity
		raw, err := os.ReadFile(filepath.Join(b.cfg.WorkDir, identityFile))
		if err != nil || json.Unmarshal(raw, &kept) != nil || kept.WorkerID == uuid.Nil {
			t.Errorf("identity %s, %v", raw, err)
		}
	})
}

func TestUnknownWorkerRegistersAgain(t *testing.T) {
	inBubble(t, upper, func(b *bench) {
		b.cfg.Concurrency = 3
		w := b.start()
		synctest.Wait()
		b.fake.look(func() { clear(b.fake.known) })
		time.Sleep(time.Minute) // fake time
		task := b.fake.add("again")
		time.Sleep(time.Second) // fake time
		b.wantCompleted(task, "AGAIN")
		if got := len(b.fake.paths("/register")); got != 2 {
			t.Errorf("%d registrations, want 2", got)
		}
		w.end()
	})
}
