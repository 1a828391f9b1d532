package worker

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"scimesh.dev/scimesh/workloads"
)

// chatty writes n lines of about 100 bytes.
func chatty(n int) executeFunc {
	return func(ctx context.Context, req workloads.TaskRequest) (workloads.TaskResult, error) {
		for i := range n {
			req.Logf("line %06d %s", i, strings.Repeat("x", 70))
		}
		return upper(ctx, req)
	}
}

func TestTaskLogComesInNumberedChunks(t *testing.T) {
	inBubble(t, chatty(5000), func(b *bench) {
		task := b.fake.add("x")
		b.runTasks(1)
		b.wantCompleted(task, "X")
		if len(task.logs) < 10 || !task.logEnd {
			t.Errorf("%d chunks, ended %t", len(task.logs), task.logEnd)
		}
		log := strings.Join(task.logs, "")
		at := 0
		for i := range 5000 {
			next := strings.Index(log[at:], fmt.Sprintf("line %06d", i))
			if next < 0 {
				t.Fatalf("line %d is missing or out of order", i)
			}
			at += next
		}
	})
}

func TestTaskLogIsBounded(t *testing.T) {
	inBubble(t, chatty(30_000), func(b *bench) {
		task := b.fake.add("x")
		b.runTasks(1)
		log := strings.Join(task.logs, "")
		if len(log) > maxLogBytes || len(log) < maxLogBytes*9/10 {
			t.Errorf("log of %d bytes, want almost %d", len(log), maxLogBytes)
		}
		if !strings.HasSuffix(log, logCut) || !task.logEnd {
			t.Errorf("log ends with %q, ended %t", log[len(log)-80:], task.logEnd)
		}
	})
}

func TestTaskLogIsSanitised(t *testing.T) {
	inBubble(t, func(ctx context.Context, req workloads.TaskRequest) (workloads.TaskResult, error) {
		req.Logf("token %s in %s\nsecond\x1b[2J line", testToken, "/home/someone/work")
		return upper(ctx, req)
	}, func(b *bench) {
		task := b.fake.add("x")
		b.runTasks(1)
		log := strings.Join(task.logs, "")
		if strings.Contains(log, testToken) || strings.Contains(log, "/home") || strings.Contains(log, "\x1b") {
			t.Errorf("log:\n%s", log)
		}
		if !strings.Contains(log, "token [redacted] in [path] second[2J line\n") {
			t.Errorf("log:\n%s", log)
		}
	})
}

func TestTaskLogFollowsARunningTask(t *testing.T) {
	inBubble(t, func(ctx context.Context, req workloads.TaskRequest) (workloads.TaskResult, error) {
		req.Logf("halfway")
		return lasting(time.Minute)(ctx, req)
	}, func(b *bench) {
		task := b.fake.add("x")
		w := b.start()
		after(2*logFlush + time.Second)
		if log := strings.Join(task.logs, ""); !strings.Contains(log, "halfway") || task.logEnd {
			t.Errorf("after %v the log is %q (ended %t)", 2*logFlush, log, task.logEnd)
		}
		w.end()
	})
}

// The log's endpoint hangs or fails: the computation and its delivery do not notice.
func TestTaskLogNeverHoldsUpTheTask(t *testing.T) {
	for name, hook := range map[string]func(http.ResponseWriter, *http.Request) bool{
		"hangs": func(_ http.ResponseWriter, r *http.Request) bool {
			if strings.Contains(r.URL.Path, "/logs/") {
				_, _ = io.Copy(io.Discard, r.Body) // else the server does not see the client go
				<-r.Context().Done()
				panic(http.ErrAbortHandler)
			}
			return false
		},
		"fails":   answering("/logs/", http.StatusServiceUnavailable, "unavailable"),
		"refuses": answering("/logs/", http.StatusConflict, "lease_lost"),
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, chatty(5000), func(b *bench) {
				b.fake.intercept(hook)
				task := b.fake.add("x")
				start := time.Now()
				w := b.start()
				after(time.Second)
				b.wantCompleted(task, "X")
				w.end()
				if d := time.Since(start); d > logsAtEnd+2*time.Second {
					t.Errorf("the worker's end took %v", d)
				}
			})
		})
	}
}

// A chunk whose answer was lost is sent again under its number, and comes once.
func TestLogChunkIsRepeatedUnderItsNumber(t *testing.T) {
	inBubble(t, chatty(3000), func(b *bench) {
		tries := make(map[string]int)
		task := b.fake.add("x")
		b.fake.intercept(func(w http.ResponseWriter, r *http.Request) bool {
			if !strings.Contains(r.URL.Path, "/logs/") {
				return false
			}
			tries[r.URL.Path]++
			if tries[r.URL.Path] > 1 {
				return false
			}
			b.fake.appendLog(discard{}, r, task, r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:])
			panic(http.ErrAbortHandler)
		})
		b.runTasks(1)
		log := strings.Join(task.logs, "")
		if n := strings.Count(log, "line "); n != 3000 || !task.logEnd {
			t.Errorf("%d lines, want 3000; ended %t", n, task.logEnd)
		}
	})
}
