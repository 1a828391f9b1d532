package worker

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	v1 "scimesh.dev/scimesh/api/v1"
)

// after waits for d of the bubble's time and until all is quiet.
func after(d time.Duration) {
	time.Sleep(d) // the bubble's time
	synctest.Wait()
}

func TestWorkerStartsBeforeTheCoordinator(t *testing.T) {
	inBubble(t, upper, func(b *bench) {
		b.net.down()
		task := b.fake.add("early")
		w := b.start()
		after(5 * time.Minute)
		b.net.up()
		after(retryMax)
		b.wantCompleted(task, "EARLY")
		if b.net.dials > 40 {
			t.Errorf("%d connections tried in 5 minutes", b.net.dials)
		}
		w.end()
	})
}

func TestRefusedRegistrationEndsRun(t *testing.T) {
	inBubble(t, upper, func(b *bench) {
		b.fake.intercept(answering("/register", http.StatusBadRequest, "invalid_request"))
		err := <-b.start().done
		if err == nil || !strings.Contains(err.Error(), `register worker "w1"`) {
			t.Errorf("Run() = %v, want the refused registration", err)
		}
	})
}

func TestStopWhileNotRegistered(t *testing.T) {
	inBubble(t, upper, func(b *bench) {
		b.net.down()
		w := b.start()
		after(time.Minute)
		w.end()
	})
}

// The coordinator is away for a minute, and every time in another step: the
// task is neither computed again nor does it cost an attempt.
func TestCoordinatorAwayForAMinute(t *testing.T) {
	for name, at := range map[string]time.Duration{
		"while the input is fetched":   0,
		"while the task is computed":   5 * time.Second,
		"while the result is uploaded": 20 * time.Second,
	} {
		t.Run(name, func(t *testing.T) {
			var runs int
			inBubble(t, counted(&runs, lasting(20*time.Second)), func(b *bench) {
				b.cfg.OutageGrace = 5 * time.Minute
				b.fake.ttl = 2 * time.Minute // as a coordinator extends the leases that it finds when it comes back
				var cut atomic.Bool
				b.fake.intercept(func(w http.ResponseWriter, r *http.Request) bool {
					fetching := at == 0 && strings.HasSuffix(r.URL.Path, "/input")
					uploading := at == 20*time.Second && r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/artifacts/")
					if (fetching || uploading) && cut.CompareAndSwap(false, true) {
						b.net.down()
						panic(http.ErrAbortHandler)
					}
					return false
				})
				task := b.fake.add("away")
				w := b.start()
				after(at + time.Second)
				b.net.down()
				after(time.Minute)
				b.net.up()
				after(time.Minute)
				b.wantCompleted(task, "AWAY")
				if runs != 1 {
					t.Errorf("computed %d times", runs)
				}
				w.end()
				b.wantNoFolders()
			})
		})
	}
}

func TestRejectedTokenIsTriedSlowlyAndSaidSo(t *testing.T) {
	for _, status := range []int{http.StatusUnauthorized, http.StatusForbidden} {
		inBubble(t, upper, func(b *bench) {
			task := b.fake.add("token")
			b.fake.intercept(func(w http.ResponseWriter, r *http.Request) bool {
				refuse(w, status, "unauthorized")
				return true
			})
			w := b.start()
			after(10 * time.Minute)
			b.fake.look(func() {
				if n := len(b.fake.seen); n < 8 || n > 25 {
					t.Errorf("%d requests in 10 minutes, want one every half to whole minute", n)
				}
			})
			if !strings.Contains(b.logs.String(), "status 40") {
				t.Errorf("nothing said of the rejected token:\n%s", b.logs)
			}
			b.fake.intercept(nil)
			after(deniedMax)
			b.wantCompleted(task, "TOKEN")
			w.end()
		})
	}
}

// A token that is rotated in the middle of a task costs nothing, as long as
// the lease holds.
func TestTokenRejectedWhileComputing(t *testing.T) {
	inBubble(t, lasting(10*time.Second), func(b *bench) {
		b.fake.ttl, b.fake.interval = 2*time.Minute, 0
		task := b.fake.add("rotated")
		w := b.start()
		after(time.Second)
		b.fake.look(func() { b.fake.token = "another" })
		after(40 * time.Second)
		b.fake.look(func() { b.fake.token = testToken })
		after(deniedMax)
		b.wantCompleted(task, "ROTATED")
		w.end()
	})
}

func TestRetryAfterIsHonoured(t *testing.T) {
	inBubble(t, upper, func(b *bench) {
		task := b.fake.add("patience")
		limited := true
		b.fake.intercept(func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path != "/tasks/claim" || !limited {
				return false
			}
			limited = false
			w.Header().Set("Retry-After", "47")
			refuse(w, http.StatusTooManyRequests, "too_many_requests")
			return true
		})
		start := time.Now()
		b.runTasks(1)
		claims := b.fake.paths("/claim")
		if d := claims[1].at.Sub(start); d < 47*time.Second || d > 49*time.Second {
			t.Errorf("second claim after %v, want a little more than 47 s", d)
		}
		b.wantCompleted(task, "PATIENCE")
	})
}

func TestRetryAfterAsDateIsReadByTheServersClock(t *testing.T) {
	h := http.Header{}
	now := time.Date(2031, 5, 6, 7, 8, 9, 0, time.UTC)
	h.Set("Date", now.Format(http.TimeFormat))
	h.Set("Retry-After", now.Add(90*time.Second).Format(http.TimeFormat))
	if got := retryAfter(h); got != 90*time.Second {
		t.Errorf("retryAfter = %v, want 1m30s", got)
	}
	for _, v := range []string{"", "-3", "soon"} {
		h.Set("Retry-After", v)
		if got := retryAfter(h); got != 0 {
			t.Errorf("retryAfter(%q) = %v, want 0", v, got)
		}
	}
}

// Every request fails now and then, in each of the ways that requests fail.
func TestFlakyCoordinator(t *testing.T) {
	var runs int
	inBubble(t, counted(&runs, lasting(5*time.Second)), func(b *bench) {
		b.fake.ttl = 5 * time.Minute
		tries := make(map[string]int)
		b.fake.intercept(func(w http.ResponseWriter, r *http.Request) bool {
			var n int
			b.fake.look(func() { tries[r.URL.Path]++; n = tries[r.URL.Path] })
			switch n {
			case 1:
				refuse(w, http.StatusServiceUnavailable, "unavailable")
			case 2:
				panic(http.ErrAbortHandler)
			case 3:
				w.WriteHeader(http.StatusBadGateway)
				_, _ = w.Write([]byte("<html>proxy</html>"))
			case 4:
				refuse(w, http.StatusInternalServerError, "internal")
			default:
				return false
			}
			return true
		})
		task := b.fake.add("flaky")
		w := b.start()
		after(5 * time.Minute)
		b.wantCompleted(task, "FLAKY")
		if runs != 1 {
			t.Errorf("computed %d times", runs)
		}
		w.end()
	})
}

// An answer that is lost after the coordinator has acted is asked for again.
func TestLostAnswerToTheCompletion(t *testing.T) {
	inBubble(t, upper, func(b *bench) {
		lost := false
		b.fake.intercept(func(w http.ResponseWriter, r *http.Request) bool {
			if !strings.HasSuffix(r.URL.Path, "/result") || lost {
				return false
			}
			lost = true
			b.fake.complete(discard{}, r, b.fake.tasks[0])
			panic(http.ErrAbortHandler)
		})
		task := b.fake.add("twice")
		b.runTasks(1)
		b.wantCompleted(task, "TWICE")
		if n := len(b.fake.paths("/result")); n != 2 {
			t.Errorf("%d completions, want the same one twice", n)
		}
	})
}

// discard is a response that goes nowhere.
type discard struct{}

func (discard) Header() http.Header         { return http.Header{} }
func (discard) Write(p []byte) (int, error) { return len(p), nil }
func (discard) WriteHeader(int)             {}

func TestResultThatIsNeverAccepted(t *testing.T) {
	for name, hook := range map[string]func(http.ResponseWriter, *http.Request) bool{
		"upload refused":          answering("/artifacts/", http.StatusRequestEntityTooLarge, "too_large"),
		"completion refused":      answering("/result", http.StatusBadRequest, "invalid_request"),
		"completion always fails": answering("/result", http.StatusInternalServerError, "internal"),
		"upload redirected": func(w http.ResponseWriter, r *http.Request) bool {
			if !strings.Contains(r.URL.Path, "/artifacts/") {
				return false
			}
			http.Redirect(w, r, "http://elsewhere.test/", http.StatusTemporaryRedirect)
			return true
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, upper, func(b *bench) {
				b.fake.intercept(hook)
				task := b.fake.add("never")
				b.runTasks(1)
				b.wantFailure(task, codeDelivery, true)
				b.wantNoFolders()
			})
		})
	}
}

func TestConflictAtDeliveryIsQuiet(t *testing.T) {
	for _, path := range []string{"/artifacts/", "/result", "/failure"} {
		t.Run(path, func(t *testing.T) {
			run := upper
			if path == "/failure" {
				run = failing(nil)
			}
			inBubble(t, run, func(b *bench) {
				b.fake.intercept(answering(path, http.StatusConflict, "lease_lost"))
				task := b.fake.add("late")
				b.runTasks(1)
				b.fake.look(func() {
					if len(task.failures) != 0 || task.status != v1.TaskRunning {
						t.Errorf("task is %s, failures %v; want it untouched", task.status, task.failures)
					}
				})
				if n := len(b.fake.paths(path)); n != 1 {
					t.Errorf("%d requests, want 1", n)
				}
				b.wantNoFolders()
			})
		})
	}
}
