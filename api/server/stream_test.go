package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"scimesh.dev/scimesh/api/client"
	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/api/wire"
	"scimesh.dev/scimesh/store"
)

func TestDownloadHonoursRangesAndConditions(t *testing.T) {
	h := newHarness(t)
	digest := h.upload("0123456789")
	l, err := h.operator.ListArtifacts(t.Context(), wire.ListArtifactsParams{SHA256: &digest})
	if err != nil || len(l.Items) != 1 {
		t.Fatal(len(l.Items), err)
	}
	path := "/artifacts/" + l.Items[0].Metadata.Name + "/download"
	etag := `"` + digest + `"`
	tests := map[string]struct {
		headers []string
		status  int
		body    string
	}{
		"whole":               {nil, 200, "0123456789"},
		"from the middle":     {[]string{"Range", "bytes=4-"}, 206, "456789"},
		"the end":             {[]string{"Range", "bytes=-2"}, 206, "89"},
		"of this file":        {[]string{"Range", "bytes=4-", "If-Range", etag}, 206, "456789"},
		"of another file":     {[]string{"Range", "bytes=4-", "If-Range", `"x"`}, 200, "0123456789"},
		"the client has it":   {[]string{"If-None-Match", etag}, 304, ""},
		"the client has less": {[]string{"If-None-Match", `"x"`}, 200, "0123456789"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			status, body, header := h.do(workerToken, "GET", path, "", "", tc.headers...)
			if status != tc.status || body != tc.body || header.Get("ETag") != etag {
				t.Errorf("answered with %d %q, ETag %s", status, body, header.Get("ETag"))
			}
		})
	}
	status, body, _ := h.do(workerToken, "GET", path, "", "", "Range", "bytes=10-")
	if e := decodeError(t, body); status != 416 || e.Error.Code != wire.CodeRangeNotSatisfiable {
		t.Errorf("past the end: %d %s", status, body)
	}
	_, _, header := h.do(operatorToken, "GET", path, "", "")
	if got := header.Get("Content-Disposition"); got != "attachment; filename=input.tsv" {
		t.Errorf("Content-Disposition is %s", got)
	}
}

func TestInputChecksALeaseThatIsNamed(t *testing.T) {
	h := newHarness(t)
	_, l := h.running("a")
	path := "/tasks/" + l.Task.String() + "/input"
	for name, tc := range map[string]struct {
		headers []string
		want    int
	}{
		"nothing named": {nil, 200},
		"the lease":     {[]string{"X-Worker-ID", l.Worker.String(), "X-Task-Attempt", "1"}, 200},
		"stale":         {[]string{"X-Worker-ID", l.Worker.String(), "X-Task-Attempt", "2"}, 409},
		"half a lease":  {[]string{"X-Worker-ID", l.Worker.String()}, 400},
	} {
		if status, body, _ := h.do(workerToken, "GET", path, "", "", tc.headers...); status != tc.want {
			t.Errorf("%s: %d %s, want %d", name, status, body, tc.want)
		}
	}
}

func TestWatch(t *testing.T) {
	h := newHarness(t)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	h.job("a")
	var got []string
	removed := false
	for e, err := range h.operator.WatchJobs(ctx, wire.ListJobsParams{LabelSelector: new("target=EGFR")}) {
		if err != nil {
			t.Fatalf("after %v: %v", got, err)
		}
		line := string(e.Type)
		if e.Object != nil {
			line += " " + e.Object.Metadata.Name
		}
		got = append(got, line)
		switch line {
		case "SYNCED":
			h.job("b")
		case "ADDED b":
			if _, err := h.operator.CancelJob(ctx, "a"); err != nil {
				t.Fatal(err)
			}
		case "MODIFIED a":
			if !removed {
				removed = true
				h.remove("a")
			}
		}
		if line == "DELETED a" {
			break
		}
	}
	if diff := cmp.Diff([]string{"ADDED a", "SYNCED", "ADDED b", "MODIFIED a", "DELETED a"}, dedupe(got)); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// dedupe drops repeated lines that follow one another.
func dedupe(lines []string) (out []string) {
	for _, l := range lines {
		if len(out) == 0 || out[len(out)-1] != l {
			out = append(out, l)
		}
	}
	return out
}

// remove ends and deletes a Job, as the canceller and the janitor would.
func (h *harness) remove(name string) {
	h.t.Helper()
	j, err := h.operator.DeleteJob(h.t.Context(), name)
	if err != nil {
		h.t.Fatal(err)
	}
	err = h.store.EndJob(h.t.Context(), store.EndJobParams{Job: j.Metadata.UID, Phase: v1.JobCancelled})
	if err != nil {
		h.t.Fatal(err)
	}
	for {
		gone, err := h.store.DeleteJob(h.t.Context(), j.Metadata.UID, 100)
		if err != nil {
			h.t.Fatal(err)
		}
		if gone {
			return
		}
	}
}

func TestWatchOfOneJob(t *testing.T) {
	h := newHarness(t)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	h.job("a")
	h.job("b")
	for e, err := range h.operator.WatchJobs(ctx, wire.ListJobsParams{Name: new("b")}) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Object != nil && e.Object.Metadata.Name != "b" {
			t.Errorf("%s %s", e.Type, e.Object.Metadata.Name)
		}
		if e.Type == v1.WatchSynced {
			h.server.Drain()
			break
		}
	}
	for _, err := range h.operator.WatchJobs(ctx, wire.ListJobsParams{}) {
		if err != nil && !errors.Is(err, client.ErrUnavailable) {
			t.Errorf("a watch that the coordinator ends fails with %v", err)
		}
	}
}

func TestStreamsAreBounded(t *testing.T) {
	h := newHarness(t, func(c *Config) { c.MaxStreams = 1 })
	for e, err := range h.operator.WatchJobs(t.Context(), wire.ListJobsParams{}) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Type != v1.WatchSynced {
			continue
		}
		for _, err := range h.operator.WatchJobs(t.Context(), wire.ListJobsParams{}) {
			if e := wantDetails(t, err, http.StatusTooManyRequests, wire.CodeTooManyRequests); e.RetryAfter == 0 {
				t.Error("no Retry-After")
			}
		}
		break
	}
}

func TestLogs(t *testing.T) {
	h := newHarness(t)
	ctx := t.Context()
	_, l := h.running("a")
	for seq, text := range []string{"one\n", "two " + workerToken + "\n"} {
		if err := h.worker.AppendTaskLog(ctx, l, int32(seq), []byte(text), false); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.worker.AppendTaskLog(ctx, l, 0, []byte("again"), false); err != nil {
		t.Errorf("the same chunk again: %v", err)
	}
	if err := h.worker.AppendTaskLog(ctx, l, 2, []byte(strings.Repeat("x", 65<<10)), false); !errors.Is(err, client.ErrTooLarge) {
		t.Errorf("a chunk too large: %v", err)
	}
	read := func(offset int64, follow bool) io.ReadCloser {
		s, err := h.operator.TaskLog(ctx, "a-0", 0, offset, follow)
		if err != nil || s.Attempt != 1 {
			t.Fatalf("log: %+v, %v", s, err)
		}
		return s
	}
	if got, err := io.ReadAll(read(0, false)); err != nil || string(got) != "one\ntwo [redacted]\n" {
		t.Errorf("log is %q, %v", got, err)
	}
	follow := read(4, true)
	lines := bufio.NewReader(follow)
	if line, err := lines.ReadString('\n'); err != nil || line != "two [redacted]\n" {
		t.Errorf("first line is %q, %v", line, err)
	}
	if err := h.worker.AppendTaskLog(ctx, l, 2, []byte("three\n"), true); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(lines); err != nil || string(rest) != "three\n" {
		t.Errorf("the rest is %q, %v", rest, err)
	}
}

func TestFollowedLogIsCutWhenTheCoordinatorStops(t *testing.T) {
	h := newHarness(t)
	_, l := h.running("a")
	if err := h.worker.AppendTaskLog(t.Context(), l, 0, []byte("one\n"), false); err != nil {
		t.Fatal(err)
	}
	s, err := h.operator.TaskLog(t.Context(), "a-0", 1, 0, true)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(s).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	h.server.Drain()
	if _, err := io.ReadAll(s); err == nil {
		t.Error("a log that goes on ended as if it were whole")
	}
}

func TestSlowBodiesAreGivenUp(t *testing.T) {
	h := newHarness(t, func(c *Config) { c.RequestTimeout, c.StallTimeout = time.Second, time.Second })
	_, l := h.running("a")
	requests := map[string]string{
		"JSON":   "POST /tasks/claim HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 100\r\n",
		"upload": fmt.Sprintf("PUT /tasks/%s/artifacts/a.csv HTTP/1.1\r\nX-Worker-ID: %s\r\nX-Task-Attempt: 1\r\nContent-Length: 100\r\n", l.Task, l.Worker),
		"input":  "POST /artifacts HTTP/1.1\r\nTransfer-Encoding: chunked\r\n",
		"form":   "POST /jobs/upload HTTP/1.1\r\nContent-Type: multipart/form-data; boundary=x\r\nContent-Length: 100\r\n",
	}
	t.Run("all at once", func(t *testing.T) {
		for name, head := range requests {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				conn, err := net.Dial("tcp", strings.TrimPrefix(h.url, "http://"))
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
				if _, err := io.WriteString(conn, head+"Host: x\r\nAuthorization: Bearer "+operatorToken+"\r\n\r\n"); err != nil {
					t.Fatal(err)
				}
				resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
				if err != nil {
					t.Fatal(err)
				}
				defer resp.Body.Close()
				body, _ := io.ReadAll(resp.Body)
				if resp.StatusCode != http.StatusRequestTimeout || decodeError(t, string(body)).Error.Code != wire.CodeTimeout {
					t.Errorf("answered with %d %s", resp.StatusCode, body)
				}
				if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
					t.Errorf("the connection is not closed: %v", err)
				}
			})
		}
	})
	h.noStaging()
}

func TestSlowButSteadyUploadIsNot(t *testing.T) {
	t.Parallel() // it mostly waits
	h := newHarness(t, func(c *Config) { c.RequestTimeout, c.StallTimeout = 4*time.Second, 4*time.Second })
	r, w := io.Pipe()
	go func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for range 9 { // more than twice the limit on a pause
			<-tick.C
			_, _ = io.WriteString(w, "0123456789")
		}
		_ = w.Close()
	}()
	req, err := http.NewRequest("POST", h.url+"/artifacts?filename=slow.tsv", r)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+operatorToken)
	resp, err := h.http.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusCreated {
		t.Errorf("answered with %d", resp.StatusCode)
	}
}

func TestReaderThatStallsIsGivenUp(t *testing.T) {
	h := newHarness(t, func(c *Config) { c.StallTimeout = time.Second })
	h.upload(strings.Repeat("0123456789", 2<<20)) // more than the buffers of two sockets
	l, err := h.operator.ListArtifacts(t.Context(), wire.ListArtifactsParams{})
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", strings.TrimPrefix(h.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.(*net.TCPConn).SetReadBuffer(4096)
	_, err = fmt.Fprintf(conn, "GET /artifacts/%s/download HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n", l.Items[0].Metadata.Name, workerToken)
	if err != nil {
		t.Fatal(err)
	}
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(20 * time.Second); !strings.Contains(h.logs.String(), `"operation":"DownloadArtifact"`); <-tick.C {
		if time.Now().After(end) {
			t.Fatal("the response to a reader that does not read goes on")
		}
	}
}

func TestBrokenUploadsLeaveNothing(t *testing.T) {
	h := newHarness(t)
	kind, body := form(t, "job", uploadedJobYAML("b"), "input", strings.Repeat(inputTSV, 1000))
	for name, cut := range map[string]struct{ path, kind, body string }{
		"input": {"/artifacts", "text/plain", strings.Repeat("x", 100_000)},
		"job":   {"/jobs/upload", kind, body},
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := net.Dial("tcp", strings.TrimPrefix(h.url, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			_, err = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s",
				cut.path, operatorToken, cut.kind, len(cut.body), cut.body[:len(cut.body)/2])
			if err != nil {
				t.Fatal(err)
			}
			_ = conn.(*net.TCPConn).CloseWrite()
			if resp, err := http.ReadResponse(bufio.NewReader(conn), nil); err == nil {
				if resp.StatusCode != http.StatusBadRequest {
					t.Errorf("answered with %d", resp.StatusCode)
				}
				_ = resp.Body.Close()
			}
			_ = conn.Close()
		})
	}
	h.server.drainUploads(t)
	h.noStaging()
	if l, err := h.operator.ListArtifacts(t.Context(), wire.ListArtifactsParams{}); err != nil || len(l.Items) != 0 {
		t.Errorf("artifacts: %d, %v", len(l.Items), err)
	}
	if l, err := h.operator.ListJobs(t.Context(), wire.ListJobsParams{}); err != nil || len(l.Items) != 0 {
		t.Errorf("jobs: %d, %v", len(l.Items), err)
	}
}

// drainUploads waits until every upload slot is free.
func (s *Server) drainUploads(t *testing.T) {
	t.Helper()
	for range cap(s.uploads) {
		select {
		case s.uploads <- struct{}{}:
		case <-time.After(10 * time.Second):
			t.Fatal("an upload goes on")
		}
	}
	for range cap(s.uploads) {
		<-s.uploads
	}
}

func TestTooManyUploads(t *testing.T) {
	h := newHarness(t, func(c *Config) { c.MaxUploads = 1 })
	h.server.uploads <- struct{}{}
	defer func() { <-h.server.uploads }()
	status, body, header := h.do(operatorToken, "POST", "/artifacts", "text/plain", strings.Repeat("x", precheckBytes+1))
	if status != http.StatusTooManyRequests || header.Get("Retry-After") == "" {
		t.Errorf("answered with %d %s", status, body)
	}
}

func TestBodiesAreBounded(t *testing.T) {
	h := newHarness(t, func(c *Config) { c.MaxInputBytes = 1000 })
	for name, tc := range map[string]struct{ method, path, kind, body string }{
		"JSON":  {"POST", "/tasks/claim", "application/json", `{"worker_id":"` + strings.Repeat("x", 1<<20) + `"}`},
		"job":   {"POST", "/jobs", "application/yaml", strings.Repeat("# comment\n", 2<<20)},
		"input": {"POST", "/artifacts", "text/plain", strings.Repeat("x", 1001)},
	} {
		if status, body, _ := h.do(operatorToken, tc.method, tc.path, tc.kind, tc.body); status != http.StatusRequestEntityTooLarge {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}
	h.noStaging()
}

func TestTokensAreNeverLogged(t *testing.T) {
	h := newHarness(t)
	for _, token := range []string{operatorToken, workerToken} {
		h.do(token, "GET", "/jobs/"+token, "", "")
		h.do(token, "GET", "/jobs?name="+token, "", "")
		h.do(token, "GET", "/"+token, "", "")
		h.do(token, "POST", "/workers/register", "application/json", `{"name":"`+token+`","capabilities":["a"],"cpu_count":1,"memory_mb":1}`, "X-Request-ID", token)
		h.do(token, "POST", "/tasks/claim", "application/json", `{"`+token+`":1}`)
		h.do("", "GET", "/jobs", "", "", "Authorization", "Basic "+token)
	}
	logs := h.logs.String()
	if strings.Count(logs, `"msg":"request"`) < 10 {
		t.Fatalf("too few lines: %s", logs)
	}
	for _, token := range []string{operatorToken, workerToken} {
		if strings.Contains(logs, token) {
			t.Errorf("the log holds a token:\n%s", logs)
		}
	}
}

func TestMetrics(t *testing.T) {
	h := newHarness(t)
	h.do(operatorToken, "GET", "/v1/jobs/nothing", "", "")
	h.do(operatorToken, "BREW", "/jobs", "", "")
	_, body, _ := h.do("", "GET", "/metrics", "", "")
	for _, want := range []string{
		`scimesh_http_requests_total{code="404",method="GET",route="/jobs/{name}"} 1`,
		`scimesh_http_requests_total{code="405",method="other",route="none"} 1`,
		`scimesh_http_requests_in_flight 1`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("no %s in\n%s", want, body)
		}
	}
}

func TestPublicURL(t *testing.T) {
	forwarded := []string{"X-Forwarded-Proto", "https", "X-Forwarded-Host", "lab.example.org, proxy"}
	for name, tc := range map[string]struct {
		option func(*Config)
		want   string
	}{
		"configured":           {func(c *Config) { c.PublicURL = "https://scimesh.example.org/x/" }, "https://scimesh.example.org/x/tasks/"},
		"forwarded":            {func(c *Config) { c.TrustForwarded = true }, "https://lab.example.org/tasks/"},
		"forwarded, untrusted": {func(*Config) {}, "http://127.0.0.1"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, tc.option)
			h.plan(h.job("a"), "shard")
			body := fmt.Sprintf(`{"worker_id":%q,"capabilities":["similarity-search"]}`, h.register("w"))
			status, answer, _ := h.do(workerToken, "POST", "/tasks/claim", "application/json", body, forwarded...)
			if status != 200 || !strings.Contains(answer, `"uri":"`+tc.want) {
				t.Errorf("%d %s, want %s", status, answer, tc.want)
			}
		})
	}
}

func TestConfigNamesWhatIsWrong(t *testing.T) {
	for want, cfg := range map[string]Config{
		"operator token":  {},
		"public URL":      {OperatorToken: "x", PublicURL: "example.org"},
		"stall timeout":   {OperatorToken: "x", StallTimeout: -1},
		"upload limit":    {OperatorToken: "x", MaxUploads: -1},
		"result size":     {OperatorToken: "x", MaxResultBytes: -1},
		"request timeout": {OperatorToken: "x", RequestTimeout: -1},
	} {
		if _, err := New(cfg, Deps{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", cfg, err, want)
		}
	}
}
