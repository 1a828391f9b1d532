package worker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/workloads"
)

// big is an input of about 1 MB.
var big = strings.Repeat("CHEMBL939\tCOc1cc2ncnc(Nc3ccc(F)c(Cl)c3)c2cc1OCCCN1CCOCC1\n", 18000)

// cutting returns a hook that serves inputs but breaks each answer after n
// bytes, the first times times, and counts the bytes served.
func cutting(b *bench, n, times int, served *atomic.Int64) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "/input") {
			return false
		}
		times--
		limit := n
		if times < 0 {
			limit = 1 << 40
		}
		r.Header.Set("Authorization", "Bearer "+testToken)
		b.fake.onTask(&cutWriter{ResponseWriter: w, left: limit, served: served}, r, strings.Split(r.URL.Path, "/")[1:])
		return true
	}
}

// cutWriter breaks the connection after left bytes.
type cutWriter struct {
	http.ResponseWriter
	left   int
	served *atomic.Int64
}

func (w *cutWriter) Write(p []byte) (int, error) {
	if w.left < len(p) {
		n, _ := w.ResponseWriter.Write(p[:w.left])
		w.served.Add(int64(n))
		if f, ok := w.ResponseWriter.(http.Flusher); ok {
			f.Flush()
		}
		panic(http.ErrAbortHandler)
	}
	n, err := w.ResponseWriter.Write(p)
	w.left -= n
	w.served.Add(int64(n))
	return n, err
}

func TestCutDownloadGoesOnWhereItBroke(t *testing.T) {
	inBubble(t, upper, func(b *bench) {
		var served atomic.Int64
		b.fake.intercept(cutting(b, 100_000, 7, &served))
		task := b.fake.add(big)
		b.runTasks(1)
		b.wantCompleted(task, strings.ToUpper(big))
		// What was under way when a connection broke may come twice.
		if n := served.Load(); n > int64(len(big))+7*64<<10 {
			t.Errorf("%d bytes served for an input of %d", n, len(big))
		}
		requests := b.fake.paths("/input")
		if len(requests) != 8 {
			t.Errorf("%d requests, want 8", len(requests))
		}
		for _, r := range requests[1:] {
			if r.header.Get("Range") == "" || r.header.Get("If-Range") == "" {
				t.Errorf("request without range: %v", r.header)
			}
		}
	})
}

func TestInputThatChangesBetweenPiecesIsReadAnew(t *testing.T) {
	inBubble(t, upper, func(b *bench) {
		var served atomic.Int64
		task := b.fake.add(strings.ToLower(big))
		cut := cutting(b, 300_000, 1, &served)
		b.fake.look(func() { task.sha256 = digest([]byte(big)) })
		b.fake.intercept(func(w http.ResponseWriter, r *http.Request) bool {
			if !strings.HasSuffix(r.URL.Path, "/input") {
				return false
			}
			// This server does not know If-Range.
			r.Header.Del("If-Range")
			defer b.fake.look(func() { task.input = []byte(big) })
			return cut(w, r)
		})
		b.runTasks(1)
		b.wantCompleted(task, strings.ToUpper(big))
	})
}

func TestServerWithoutRangesIsReadAnew(t *testing.T) {
	inBubble(t, upper, func(b *bench) {
		var served atomic.Int64
		cut := cutting(b, 300_000, 2, &served)
		b.fake.intercept(func(w http.ResponseWriter, r *http.Request) bool {
			r.Header.Del("Range")
			return cut(w, r)
		})
		task := b.fake.add(big)
		b.runTasks(1)
		b.wantCompleted(task, strings.ToUpper(big))
	})
}

func TestWrongChecksumIsReportedBeforeAnythingRuns(t *testing.T) {
	var runs int
	inBubble(t, counted(&runs, upper), func(b *bench) {
		task := b.fake.add("input")
		b.fake.look(func() { task.sha256 = digest([]byte("another")) })
		b.runTasks(1)
		b.wantFailure(task, codeChecksum, true)
		if runs != 0 {
			t.Error("ran on an input that is not the task's")
		}
	})
}

func TestInputThatTheCoordinatorHasLost(t *testing.T) {
	inBubble(t, upper, func(b *bench) {
		b.fake.intercept(answering("/input", http.StatusNotFound, "not_found"))
		task := b.fake.add("x")
		b.runTasks(1)
		b.wantFailure(task, codeInputUnavailable, true)
	})
}

func TestConflictAtDownloadIsQuiet(t *testing.T) {
	inBubble(t, upper, func(b *bench) {
		b.fake.intercept(answering("/input", http.StatusConflict, "lease_lost"))
		task := b.fake.add("x")
		b.runTasks(1)
		b.fake.look(func() {
			if len(task.failures) != 0 || task.released != 0 {
				t.Errorf("failures %v, released %d", task.failures, task.released)
			}
		})
		b.wantNoFolders()
	})
}

// trickle writes body in n pieces, pausing before each.
func trickle(w http.ResponseWriter, body string, n int, pause time.Duration) {
	w.Header().Set("Content-Length", fmt.Sprint(len(body)))
	for i := range n {
		time.Sleep(pause) // the bubble's time
		_, _ = w.Write([]byte(body[i*len(body)/n : (i+1)*len(body)/n]))
		_ = http.NewResponseController(w).Flush()
	}
}

func TestSlowServerIsAwaited(t *testing.T) {
	inBubble(t, upper, func(b *bench) {
		b.fake.intercept(func(w http.ResponseWriter, r *http.Request) bool {
			if !strings.HasSuffix(r.URL.Path, "/input") {
				return false
			}
			trickle(w, "slow but steady", 15, 20*time.Second)
			return true
		})
		task := b.fake.add("slow but steady")
		b.runTasks(1)
		b.wantCompleted(task, "SLOW BUT STEADY")
		if n := len(b.fake.paths("/input")); n != 1 {
			t.Errorf("%d requests, want 1", n)
		}
	})
}

func TestStalledServerIsAskedAgain(t *testing.T) {
	inBubble(t, upper, func(b *bench) {
		var stalls atomic.Int32
		b.fake.intercept(func(w http.ResponseWriter, r *http.Request) bool {
			if !strings.HasSuffix(r.URL.Path, "/input") || stalls.Add(1) > 2 {
				return false
			}
			if stalls.Load() == 2 {
				w.Header().Set("Content-Length", "100")
				_, _ = w.Write([]byte("sta"))
				_ = http.NewResponseController(w).Flush()
			}
			<-r.Context().Done()
			return true
		})
		task := b.fake.add("stalls")
		b.runTasks(1)
		b.wantCompleted(task, "STALLS")
		if !strings.Contains(b.logs.String(), errStalled.Error()) {
			t.Errorf("log does not say that the server stalled:\n%s", b.logs)
		}
	})
}

// elsewhere is a host that records what it is told.
type elsewhere struct {
	mu     sync.Mutex
	seen   []http.Header
	answer http.HandlerFunc
}

func (e *elsewhere) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e.mu.Lock()
	e.seen = append(e.seen, r.Header.Clone())
	e.mu.Unlock()
	e.answer(w, r)
}

// wantNoSecrets checks that the host was asked, and never with the token or the worker's id.
func (e *elsewhere) wantNoSecrets(t *testing.T) {
	t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.seen) == 0 {
		t.Error("the other host was not asked")
	}
	for _, h := range e.seen {
		for name, values := range h {
			if name == "Authorization" || name == "X-Worker-Id" || strings.Contains(strings.Join(values, " "), testToken) {
				t.Errorf("the other host got %s: %v", name, values)
			}
		}
	}
}

func TestRedirectToAnotherOriginDropsTheToken(t *testing.T) {
	for name, target := range map[string]string{
		"another host":        "http://store.test/bucket/key?signature=abc",
		"a host below":        "http://store.coordinator.test/key",
		"another port":        "http://coordinator.test:8080/key",
		"and back, and forth": "http://store.test/back",
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, upper, func(b *bench) {
				other := &elsewhere{answer: func(w http.ResponseWriter, r *http.Request) {
					if r.URL.Path == "/back" {
						http.Redirect(w, r, testURL+"/public/key", http.StatusFound)
						return
					}
					http.ServeContent(w, r, "", time.Time{}, bytes.NewReader([]byte("presigned")))
				}}
				for _, addr := range []string{"store.test:80", "store.coordinator.test:80", "coordinator.test:8080"} {
					b.net.serve(b.t, addr, other)
				}
				b.fake.intercept(func(w http.ResponseWriter, r *http.Request) bool {
					switch {
					case strings.HasSuffix(r.URL.Path, "/input"):
						http.Redirect(w, r, target, http.StatusTemporaryRedirect)
					case r.URL.Path == "/public/key":
						if r.Header.Get("Authorization") != "" {
							t.Error("the token came back with a redirect of another host")
						}
						http.Redirect(w, r, "http://store.test/key", http.StatusFound)
					default:
						return false
					}
					return true
				})
				task := b.fake.add("presigned")
				b.runTasks(1)
				b.wantCompleted(task, "PRESIGNED")
				other.wantNoSecrets(t)
				if strings.Contains(b.logs.String(), "signature") {
					t.Error("the log holds a presigned URL")
				}
			})
		})
	}
}

func TestRedirectWithinTheOriginKeepsTheToken(t *testing.T) {
	inBubble(t, upper, func(b *bench) {
		b.fake.intercept(func(w http.ResponseWriter, r *http.Request) bool {
			if strings.HasSuffix(r.URL.Path, "/input") && !strings.HasPrefix(r.URL.Path, "/v1/") {
				http.Redirect(w, r, "/v1"+r.URL.Path, http.StatusFound)
				return true
			}
			if !strings.HasPrefix(r.URL.Path, "/v1/") {
				return false
			}
			if r.Header.Get("Authorization") != "Bearer "+testToken {
				t.Errorf("Authorization = %q", r.Header.Get("Authorization"))
			}
			_, _ = w.Write([]byte("same origin"))
			return true
		})
		task := b.fake.add("same origin")
		b.runTasks(1)
		b.wantCompleted(task, "SAME ORIGIN")
	})
}

// A coordinator behind a proxy may give its public name, while this worker
// reaches it by another.
func TestCoordinatorThatGoesByAnotherName(t *testing.T) {
	inBubble(t, upper, func(b *bench) {
		b.fake.base = "https://public.test/scimesh"
		task := b.fake.add("named")
		b.runTasks(1)
		b.wantCompleted(task, "NAMED")
	})
}

func TestInputOnAnotherHostGetsNoToken(t *testing.T) {
	inBubble(t, upper, func(b *bench) {
		tries := 0
		other := &elsewhere{answer: func(w http.ResponseWriter, r *http.Request) {
			if tries++; tries < 4 {
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			_, _ = w.Write([]byte("chunk"))
		}}
		b.net.serve(b.t, "data.test:80", other)
		task := b.fake.add("chunk")
		b.fake.look(func() { task.uri = "http://data.test/chunk?key=k3y" })
		b.runTasks(1)
		b.wantCompleted(task, "CHUNK")
		other.wantNoSecrets(t)
		if strings.Contains(b.logs.String(), "k3y") {
			t.Error("the log holds the query of the chunk's URI")
		}
	})
}

func TestInputThatAnotherHostDoesNotGive(t *testing.T) {
	for name, tc := range map[string]struct {
		uri    string
		status int
	}{
		"not there":            {"http://data.test/chunk?key=k3y", http.StatusNotFound},
		"forbidden":            {"http://data.test/chunk?key=k3y", http.StatusForbidden},
		"a conflict":           {"http://data.test/chunk?key=k3y", http.StatusConflict},
		"never well":           {"http://data.test/chunk?key=k3y", http.StatusBadGateway},
		"nobody there":         {"http://nowhere.test/chunk?key=k3y", 0},
		"a local file":         {"file:///etc/passwd", 0},
		"no URI":               {"::", 0},
		"redirected to a file": {"http://data.test/redirect", 0},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, upper, func(b *bench) {
				b.net.serve(b.t, "data.test:80", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if tc.status == 0 {
						w.Header().Set("Location", "file:///etc/passwd")
						w.WriteHeader(http.StatusFound)
						return
					}
					w.WriteHeader(tc.status)
				}))
				task := b.fake.add("chunk")
				b.fake.look(func() { task.uri = tc.uri })
				b.runTasks(1)
				message := b.wantFailure(task, codeInputUnavailable, true)
				for _, secret := range []string{"k3y", "passwd"} {
					if strings.Contains(message, secret) || strings.Contains(b.logs.String(), secret) {
						t.Errorf("%q told: %s\n%s", secret, message, b.logs)
					}
				}
			})
		})
	}
}

func TestTaskThatDoesNotFitTheDiskIsHandedBack(t *testing.T) {
	for name, serve := range map[string]func(w http.ResponseWriter, input []byte){
		"size known": func(w http.ResponseWriter, input []byte) {
			w.Header().Set("Content-Length", fmt.Sprint(len(input)))
			_, _ = w.Write(input)
		},
		"size unknown": func(w http.ResponseWriter, input []byte) {
			_ = http.NewResponseController(w).Flush()
			_, _ = w.Write(input)
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, upper, func(b *bench) {
				b.cfg.DiskLimit = 500_000
				b.fake.intercept(func(w http.ResponseWriter, r *http.Request) bool {
					if !strings.HasSuffix(r.URL.Path, "/input") {
						return false
					}
					serve(w, []byte(big))
					return true
				})
				task := b.fake.add(big)
				w := b.start()
				after(5 * time.Minute)
				b.fake.look(func() {
					if len(task.failures) != 0 || task.lost != 0 {
						t.Errorf("failures %v, lost leases %d; want neither", task.failures, task.lost)
					}
					if task.released < 10 || task.released > 30 {
						t.Errorf("handed back %d times in 5 minutes, want one every 10 to 20 s", task.released)
					}
				})
				w.end()
				b.wantNoFolders()
				if w.disk.used > 1000 {
					t.Errorf("%d bytes still booked", w.disk.used)
				}
			})
		})
	}
}

func TestResultThatDoesNotFitTheDisk(t *testing.T) {
	inBubble(t, upper, func(b *bench) {
		small := strings.Repeat("x", 300_000)
		b.cfg.DiskLimit = 500_000
		task := b.fake.add(small)
		b.runTasks(1)
		b.fake.look(func() {
			if task.released != 1 || len(task.failures) != 0 || task.status != v1.TaskPending {
				t.Errorf("task %s, released %d, failures %v", task.status, task.released, task.failures)
			}
		})
	})
}

func TestFoldersOfFailedTasksGiveWay(t *testing.T) {
	run := func(ctx context.Context, req workloads.TaskRequest) (workloads.TaskResult, error) {
		if res, err := upper(ctx, req); err != nil || req.Threads > 1 {
			return res, err
		}
		return workloads.TaskResult{}, errors.New("fails")
	}
	inBubble(t, run, func(b *bench) {
		b.cfg.DiskLimit, b.cfg.KeepFailed, b.cfg.Threads = 700_000, 5, 1
		b.fake.add(strings.Repeat("x", 300_000))
		b.runTasks(1)
		b.cfg.Threads = 2
		task := b.fake.add(strings.Repeat("y", 300_000))
		b.cfg.MaxTasks = 2
		b.start().wait()
		if task.status != v1.TaskCompleted || len(task.failures) != 0 {
			t.Errorf("task is %s, failures %v", task.status, task.failures)
		}
	})
}

func TestDiskIsFreedAfterEachTask(t *testing.T) {
	inBubble(t, upper, func(b *bench) {
		b.cfg.DiskLimit = 700_000 // one task takes 600,000
		var tasks []*fakeTask
		for range 5 {
			tasks = append(tasks, b.fake.add(strings.Repeat("x", 300_000)))
		}
		b.runTasks(5)
		for _, task := range tasks {
			b.wantCompleted(task, strings.Repeat("X", 300_000))
		}
	})
}
