package worker

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/workloads"
)

// Whatever the clocks of the three machines say, the lease is renewed before
// half of what was left of it, and nothing expires early.
func TestLeaseIsKeptWithAnyClock(t *testing.T) {
	for name, tc := range map[string]struct{ database, coordinator time.Duration }{
		"all clocks agree":                       {0, 0},
		"this machine is an hour behind":         {time.Hour, time.Hour},
		"this machine is an hour ahead":          {-time.Hour, -time.Hour},
		"the coordinator is an hour ahead":       {0, time.Hour},
		"the coordinator is an hour behind":      {0, -time.Hour},
		"the database is years away from others": {30 * 365 * 24 * time.Hour, 0},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, lasting(10*time.Minute), func(b *bench) {
				b.fake.dbClock, b.fake.clock = tc.database, tc.coordinator
				task := b.fake.add("long")
				start := time.Now()
				b.runTasks(1)
				b.wantCompleted(task, "LONG")
				if d := time.Since(start); d > 10*time.Minute+5*time.Second {
					t.Errorf("took %v", d)
				}
				last := start
				for i, at := range task.beats {
					if at.Sub(last) >= b.fake.ttl/2 {
						t.Errorf("heartbeat %d %v after the one before, TTL %v", i, at.Sub(last), b.fake.ttl)
					}
					last = at
				}
				if n := len(task.beats); n > 100 {
					t.Errorf("%d heartbeats in ten minutes", n)
				}
			})
		})
	}
}

func TestLeaseWithoutAnIntervalIsKeptByItsLength(t *testing.T) {
	for _, ttl := range []time.Duration{2 * time.Second, 5 * time.Second, time.Minute, 10 * time.Minute} {
		inBubble(t, lasting(30*time.Minute), func(b *bench) {
			b.fake.interval, b.fake.ttl = 0, ttl
			task := b.fake.add("long")
			b.runTasks(1)
			b.wantCompleted(task, "LONG")
			if n := len(task.beats); n > int(8*30*time.Minute/ttl)+2 {
				t.Errorf("TTL %v: %d heartbeats in half an hour", ttl, n)
			}
			for i := 1; i < len(task.beats); i++ {
				if gap := task.beats[i].Sub(task.beats[i-1]); gap >= ttl/2 {
					t.Errorf("TTL %v: heartbeat %d after %v", ttl, i, gap)
				}
			}
		})
	}
}

func TestCancelStopsTheTask(t *testing.T) {
	inBubble(t, lasting(time.Hour), func(b *bench) {
		task := b.fake.add("unwanted")
		w := b.start()
		after(time.Second)
		b.fake.look(func() { task.cancel = true })
		after(b.fake.interval)
		b.fake.look(func() {
			if task.released < 1 || len(task.failures) != 0 {
				t.Errorf("released %d, failures %v; want it handed back", task.released, task.failures)
			}
			told, back := task.beats[len(task.beats)-1], time.Time{}
			for _, r := range b.fake.seen {
				if strings.HasSuffix(r.path, "/release") {
					back = r.at
				}
			}
			if back.Sub(told) > time.Second {
				t.Errorf("handed back %v after the heartbeat that cancelled", back.Sub(told))
			}
		})
		w.end()
	})
}

// The completion is on its way back when a heartbeat is told that the attempt
// has ended: that is no lost lease.
func TestHeartbeatThatMeetsTheCompletion(t *testing.T) {
	inBubble(t, upper, func(b *bench) {
		task := b.fake.add("met")
		b.fake.intercept(func(w http.ResponseWriter, r *http.Request) bool {
			if !strings.HasSuffix(r.URL.Path, "/result") {
				return false
			}
			b.fake.complete(discard{}, r, task)
			time.Sleep(b.fake.interval + time.Second) // the bubble's time
			answer(w, http.StatusOK, nil)
			return true
		})
		b.runTasks(1)
		b.wantCompleted(task, "MET")
		if task.refused == 0 {
			t.Error("no heartbeat met the completion: the test has tested nothing")
		}
		if !strings.Contains(b.logs.String(), "task completed") {
			t.Errorf("not completed:\n%s", b.logs)
		}
	})
}

func TestLostLeaseStopsTheTaskQuietly(t *testing.T) {
	var stopped time.Time
	run := func(ctx context.Context, req workloads.TaskRequest) (workloads.TaskResult, error) {
		defer func() { stopped = time.Now() }()
		return lasting(time.Hour)(ctx, req)
	}
	for name, status := range map[string]int{
		"conflict": http.StatusConflict, "deleted": http.StatusNotFound, "refused again and again": http.StatusBadRequest,
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, run, func(b *bench) {
				task := b.fake.add("lost")
				b.cfg.MaxTasks = 1
				w := b.start()
				after(time.Second)
				b.fake.intercept(answering("/heartbeat", status, "lease_lost"))
				w.wait()
				beats := b.fake.paths("/heartbeat")
				if d := stopped.Sub(beats[len(beats)-1].at); d < 0 || d > time.Second {
					t.Errorf("stopped %v after the answer", d)
				}
				if len(task.failures) != 0 || task.released != 0 {
					t.Errorf("failures %v, released %d; want neither", task.failures, task.released)
				}
				b.wantNoFolders()
			})
		})
	}
}

// The coordinator answers nothing from the first second on.
func TestDeadlineWithoutARenewal(t *testing.T) {
	for name, tc := range map[string]struct {
		grace time.Duration
		ends  time.Duration // 0: the computation is not stopped
	}{
		"stops the computation":                       {0, 30 * time.Second},
		"with a grace stops it later":                 {time.Minute, 90 * time.Second},
		"with a grace that suffices does not stop it": {time.Hour, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var ended time.Time
			run := func(ctx context.Context, req workloads.TaskRequest) (workloads.TaskResult, error) {
				defer func() { ended = time.Now() }()
				return lasting(10*time.Minute)(ctx, req)
			}
			inBubble(t, run, func(b *bench) {
				b.cfg.OutageGrace = tc.grace
				b.fake.ttl, b.fake.interval = 30*time.Second, 0
				b.fake.add("alone")
				start := time.Now()
				w := b.start()
				after(time.Second)
				b.net.down()
				after(9 * time.Minute)
				switch took := ended.Sub(start); {
				case tc.ends == 0 && !ended.IsZero():
					t.Errorf("computation stopped after %v", took)
				case tc.ends != 0 && (took < tc.ends-time.Second || took > tc.ends+3*time.Second):
					t.Errorf("computation stopped after %v, want %v", took, tc.ends)
				}
				w.Abort()
				w.wait()
			})
		})
	}
}

// A result that was finished before the coordinator went away is offered for
// as long as it takes, though its deadline passed long ago.
func TestFinishedResultIsOfferedAfterTheDeadline(t *testing.T) {
	var runs int
	inBubble(t, counted(&runs, lasting(10*time.Second)), func(b *bench) {
		task := b.fake.add("finished")
		w := b.start()
		after(time.Second)
		b.net.down()
		after(time.Hour)
		// The coordinator comes back and extends the leases that it finds.
		b.fake.look(func() { task.expires = time.Now().Add(time.Hour) })
		b.net.up()
		after(time.Minute)
		b.wantCompleted(task, "FINISHED")
		if runs != 1 {
			t.Errorf("computed %d times", runs)
		}
		w.end()
	})
}

// As after SIGSTOP or a suspended laptop: the lease has passed to another
// attempt, and what this worker still sends changes nothing.
func TestStalledWorkerHarmsNothing(t *testing.T) {
	stall := make(chan struct{})
	run := func(context.Context, workloads.TaskRequest) (workloads.TaskResult, error) {
		<-stall
		return workloads.TaskResult{ContentType: "text/csv"}, nil
	}
	inBubble(t, run, func(b *bench) {
		stall = make(chan struct{})
		task := b.fake.add("stalled")
		b.cfg.MaxTasks = 1
		w := b.start()
		after(time.Second)
		b.fake.look(func() { task.attempt, task.worker = 2, [16]byte{1}; task.expires = time.Now().Add(time.Hour) })
		close(stall) // finishes before the next heartbeat tells it
		w.wait()
		b.fake.look(func() {
			if task.status != v1.TaskRunning || task.attempt != 2 || task.completed != nil || len(task.uploads) != 0 || task.refused == 0 {
				t.Errorf("task %s attempt %d, completed %v, uploads %d, refused %d", task.status, task.attempt, task.completed, len(task.uploads), task.refused)
			}
		})
		b.wantNoFolders()
	})
}

// A workload that does not heed its context keeps its slot but neither the
// heartbeat nor the end of the worker waits for it.
func TestWorkloadThatDoesNotStop(t *testing.T) {
	run := func(context.Context, workloads.TaskRequest) (workloads.TaskResult, error) {
		time.Sleep(time.Hour) // the bubble's time
		return workloads.TaskResult{}, nil
	}
	inBubble(t, run, func(b *bench) {
		task := b.fake.add("deaf")
		b.fake.add("next")
		w := b.start()
		after(5 * time.Minute)
		if len(task.beats) < 10 {
			t.Errorf("%d heartbeats in 5 minutes", len(task.beats))
		}
		b.fake.look(func() { task.status = v1.TaskCancelled })
		after(time.Minute)
		if n := len(b.fake.paths("/claim")); n != 1 {
			t.Errorf("%d claims, want none while the slot is busy", n-1)
		}
		start := time.Now()
		w.end()
		if d := time.Since(start); d > 2*stopGrace+logsAtEnd {
			t.Errorf("the end took %v", d)
		}
		time.Sleep(time.Hour) // the bubble's time
	})
}
