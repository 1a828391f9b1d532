package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
)

// cutting serves the log of a completed task in parts of a few bytes, each
// broken off but the last. It stops to bring anything after some answers.
func cutting(t *testing.T, log string, part, answers int) (*caller, *atomic.Int32) {
	t.Helper()
	var asked atomic.Int32
	mux := http.NewServeMux()
	mux.HandleFunc("GET /tasks/{task}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		task := fixtureTasks()[0]
		task.Status.Attempt = 2
		_ = json.NewEncoder(w).Encode(task)
	})
	mux.HandleFunc("GET /tasks/{task}/logs", func(w http.ResponseWriter, r *http.Request) {
		offset, _ := strconv.Atoi(r.URL.Query().Get("offset"))
		w.Header().Set("X-Task-Attempt", r.URL.Query().Get("attempt"))
		w.Header().Set("Content-Type", "text/plain")
		rest := log[offset:]
		if int(asked.Add(1)) > answers {
			rest = ""
		} else if len(rest) <= part {
			fmt.Fprint(w, rest)
			return
		}
		fmt.Fprint(w, rest[:min(part, len(rest))])
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return newCaller(t, s.URL), &asked
}

func TestLogsResume(t *testing.T) {
	log := "first line\nsecond\twith \x1b[31mcolour\nthird \xff\n" + strings.Repeat("x", 100) + "\nno line feed"
	want := "first line\nsecond\twith \\u001b[31mcolour\nthird �\n" + strings.Repeat("x", 100) + "\nno line feed\n"
	c, asked := cutting(t, log, 7, 1000)
	if got := c.ok("logs", "task/gefitinib-0", "-f"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if n := int(asked.Load()); n < len(log)/7 {
		t.Errorf("asked %d times", n)
	}
	if got := c.ok("logs", "task/gefitinib-0", "--tail", "2", "--prefix"); got != "[gefitinib-0] "+strings.Repeat("x", 100)+"\n[gefitinib-0] no line feed\n" {
		t.Errorf("--tail 2:\n%s", got)
	}
}

func TestLogsCutForGood(t *testing.T) {
	c, _ := cutting(t, "first line\nsecond line\nthird\n", 14, 1)
	r := c.run("logs", "task/gefitinib-0", "-f")
	if r.code != ExitError || r.out != "first line\nsec\n" || !strings.Contains(r.err, "the log of task gefitinib-0, attempt 2, was cut at byte 14") {
		t.Errorf("%+v", r)
	}
}

// TestLineWriter cuts lines that do not end.
func TestLineWriter(t *testing.T) {
	var out strings.Builder
	w := &lineWriter{out: &logPrinter{out: &out}, tail: -1}
	long := strings.Repeat("y", 3*maxLine+5)
	for _, part := range []string{long, "\r\n", "\n", "end"} {
		if _, err := w.Write([]byte(part)); err != nil {
			t.Fatal(err)
		}
		if len(w.partial) > 2*maxLine+len(long) {
			t.Fatalf("%d bytes are kept", len(w.partial))
		}
	}
	if err := w.end(); err != nil {
		t.Fatal(err)
	}
	if got := strings.ReplaceAll(out.String(), "\n", ""); got != long+"end" {
		t.Errorf("%d bytes came out of %d", len(got), len(long)+3)
	}
}
