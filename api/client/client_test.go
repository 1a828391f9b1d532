package client

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/api/wire"
)

const token = "secret-token"

// quick retries without noticeable waits.
var quick = RetryPolicy{Attempts: 4, Base: time.Millisecond, Max: 2 * time.Millisecond}

// serve starts a server and returns a client of it.
func serve(t *testing.T, h http.HandlerFunc, options ...func(*Options)) *Client {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	opts := Options{Retry: quick, UserAgent: "scimesh-test"}
	for _, option := range options {
		option(&opts)
	}
	c, err := New(server.URL, token, opts)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func answer(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Request-ID", "r1")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}

func digestOf(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

func TestNewRefusesURLs(t *testing.T) {
	for _, raw := range []string{"", "localhost:8080", "ftp://host", "http://", "http://user:pass@host", "http://host?x=1", "http://host#x", "http://[::1"} {
		if _, err := New(raw, "", Options{}); err == nil || strings.Contains(err.Error(), "pass") {
			t.Errorf("%q: %v", raw, err)
		}
	}
	c, err := New("https://host/prefix", "", Options{})
	if err != nil || c.URL() != "https://host/prefix/" {
		t.Errorf("%v, %v", c, err)
	}
}

func TestTokenStaysAtTheCoordinatorsOrigin(t *testing.T) {
	var leaked atomic.Int32
	var home *Client
	stranger := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, name := range []string{"Authorization", "X-Worker-ID", "X-Task-Attempt", "X-Request-ID"} {
			if r.Header.Get(name) != "" {
				leaked.Add(1)
				t.Errorf("a stranger got %s", name)
			}
		}
		if r.URL.Path == "/back" {
			http.Redirect(w, r, home.URL()+"stolen", http.StatusFound)
			return
		}
		_, _ = io.WriteString(w, "input")
	}))
	defer stranger.Close()
	home = serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/away":
			if r.Header.Get("Authorization") != "Bearer "+token || r.Header.Get("X-Worker-ID") == "" {
				t.Error("the coordinator did not get the token and the lease")
			}
			http.Redirect(w, r, stranger.URL+"/file", http.StatusFound)
		case "/away-and-back":
			http.Redirect(w, r, stranger.URL+"/back", http.StatusFound)
		case "/here":
			http.Redirect(w, r, "/there", http.StatusFound)
		case "/there":
			if r.Header.Get("Authorization") != "Bearer "+token {
				t.Error("a redirect within the coordinator lost the token")
			}
			_, _ = io.WriteString(w, "input")
		case "/stolen":
			if r.Header.Get("Authorization") != "" {
				t.Error("a stranger led the token somewhere")
			}
			_, _ = io.WriteString(w, "input")
		}
	})
	l := &Lease{Task: uuid.New(), Worker: uuid.New(), Attempt: 1}
	for _, uri := range []string{"away", "away-and-back", "here", stranger.URL + "/file"} {
		var buf bytes.Buffer
		if _, err := home.DownloadTo(t.Context(), Download{URI: uri, SHA256: digestOf("input"), Lease: l}, &buf); err != nil || buf.String() != "input" {
			t.Errorf("%s: %q, %v", uri, buf.String(), err)
		}
	}
	if _, err := home.DownloadTo(t.Context(), Download{URI: stranger.URL + "/file"}, io.Discard); err == nil {
		t.Error("a stranger's file was taken without a checksum")
	}
}

func TestErrors(t *testing.T) {
	body := `{"error":{"code":"lease_lost","message":"not yours","details":[{"field":"a","message":"b"}]},"request_id":"r1"}`
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/jobs/lost":
			answer(w, http.StatusConflict, body)
		case "/jobs/proxy":
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, "<html>nothing here</html>")
		case "/jobs/strange":
			answer(w, http.StatusOK, `{"kind":`)
		}
	})
	_, err := c.GetJob(t.Context(), "lost")
	e, ok := errors.AsType[*Error](err)
	if !ok {
		t.Fatal(err)
	}
	want := &Error{Operation: "get job lost", Status: 409, Code: wire.CodeLeaseLost, Message: "not yours", Details: []wire.ErrorDetail{{Field: "a", Message: "b"}}, RequestID: "r1"}
	if diff := cmp.Diff(want, e); diff != "" {
		t.Errorf("error (-want +got):\n%s", diff)
	}
	if !errors.Is(err, ErrConflict) || !errors.Is(err, ErrLeaseLost) || errors.Is(err, ErrUnavailable) {
		t.Error("the categories of a lost lease are wrong")
	}
	if _, err = c.GetJob(t.Context(), "proxy"); !errors.Is(err, ErrNotFound) || strings.Contains(err.Error(), "html") {
		t.Errorf("a proxy's error: %v", err)
	}
	if _, err = c.GetJob(t.Context(), "strange"); err == nil || errors.Is(err, ErrUnavailable) {
		t.Errorf("a strange answer: %v", err)
	}
	gone, err := New("http://127.0.0.1:1", token, Options{Retry: quick})
	if err != nil {
		t.Fatal(err)
	}
	if _, err = gone.GetJob(t.Context(), "a"); !errors.Is(err, ErrUnavailable) || strings.Contains(err.Error(), token) {
		t.Errorf("nobody there: %v", err)
	}
}

func TestRetries(t *testing.T) {
	tests := map[string]struct {
		status    int
		call      func(context.Context, *Client) error
		wantCalls int32
		wantErr   bool
	}{
		"503 passes": {503, func(ctx context.Context, c *Client) error { _, err := c.GetJob(ctx, "a"); return err }, 3, false},
		"429 passes": {429, func(ctx context.Context, c *Client) error { _, err := c.GetJob(ctx, "a"); return err }, 3, false},
		"400 stays":  {400, func(ctx context.Context, c *Client) error { _, err := c.GetJob(ctx, "a"); return err }, 1, true},
		"401 stays":  {401, func(ctx context.Context, c *Client) error { _, err := c.GetJob(ctx, "a"); return err }, 1, true},
		"409 stays":  {409, func(ctx context.Context, c *Client) error { _, err := c.CancelJob(ctx, "a"); return err }, 1, true},
		"claims are once": {503, func(ctx context.Context, c *Client) error {
			_, err := c.ClaimTask(ctx, wire.ClaimRequest{})
			return err
		}, 1, true},
		"creation is once":  {503, func(ctx context.Context, c *Client) error { _, err := c.CreateJob(ctx, v1.Job{}, false); return err }, 1, true},
		"apply is repeated": {502, func(ctx context.Context, c *Client) error { _, _, err := c.ApplyJob(ctx, v1.Job{}, false); return err }, 3, false},
		"uploads begin anew": {503, func(ctx context.Context, c *Client) error {
			_, err := c.UploadArtifact(ctx, Upload{Filename: "a", Body: strings.NewReader("12345"), Size: 5})
			return err
		}, 3, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var calls atomic.Int32
			c := serve(t, func(w http.ResponseWriter, r *http.Request) {
				data, _ := io.ReadAll(r.Body)
				if strings.HasPrefix(name, "uploads") && string(data) != "12345" {
					t.Errorf("body is %q", data)
				}
				if calls.Add(1) < 3 {
					answer(w, tc.status, `{"error":{"code":"unavailable","message":"x"},"request_id":"r1"}`)
					return
				}
				answer(w, 200, `{}`)
			})
			err := tc.call(t.Context(), c)
			if (err != nil) != tc.wantErr || calls.Load() != tc.wantCalls {
				t.Errorf("%d calls, %v; want %d", calls.Load(), err, tc.wantCalls)
			}
		})
	}
}

func TestRetryDelay(t *testing.T) {
	p := RetryPolicy{}.withDefaults()
	for n, most := range map[int]time.Duration{1: p.Base, 3: 4 * p.Base, 10: p.Max, 100: p.Max} {
		for range 100 {
			if d := p.delay(n, ErrUnavailable); d < most/2 || d > most {
				t.Fatalf("delay %d is %s, want between %s and %s", n, d, most/2, most)
			}
		}
	}
	for asked, most := range map[time.Duration]time.Duration{time.Minute: 66 * time.Second, time.Hour: 132 * time.Second} {
		if d := p.delay(1, &Error{RetryAfter: asked}); d < min(asked, p.MaxRetryAfter) || d > most {
			t.Errorf("asked for %s, waits %s", asked, d)
		}
	}
	now := time.Date(2026, 7, 23, 12, 0, 0, 0, time.UTC)
	for header, want := range map[string]time.Duration{"7": 7 * time.Second, "-1": 0, "soon": 0, "": 0, "Thu, 23 Jul 2026 12:00:30 GMT": 30 * time.Second, "Thu, 23 Jul 2026 11:00:00 GMT": 0} {
		if got := retryAfter(header, now); got != want {
			t.Errorf("Retry-After %q is %s, want %s", header, got, want)
		}
	}
}

func TestRetriesEndWithTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	policy := RetryPolicy{Attempts: -1, Base: time.Hour, Max: time.Hour, OnRetry: func(error, time.Duration) { cancel() }}
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) { answer(w, 503, "") }, func(o *Options) { o.Retry = policy })
	if _, err := c.GetJob(ctx, "a"); !errors.Is(err, ErrUnavailable) {
		t.Errorf("error is %v", err)
	}
}

func TestRequestTimeout(t *testing.T) {
	release := make(chan struct{})
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}, func(o *Options) { o.RequestTimeout, o.Retry = 20*time.Millisecond, NoRetry })
	defer close(release)
	if _, err := c.GetJob(t.Context(), "a"); !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "no answer within 20ms") {
		t.Errorf("error is %v", err)
	}
}

// flaky serves content with ranges, and cuts each response after cut bytes.
func flaky(content string, cut int, ranges bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"`+digestOf(content)+`"`)
		var first int
		_, _ = fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &first)
		if !ranges {
			first = 0
		}
		if first >= len(content) && first > 0 {
			w.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
			return
		}
		rest := content[first:]
		w.Header().Set("Content-Length", fmt.Sprint(len(rest)))
		if first > 0 {
			w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", first, len(content)-1, len(content)))
			w.WriteHeader(http.StatusPartialContent)
		}
		if len(rest) > cut {
			_, _ = io.WriteString(w, rest[:cut])
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}
		_, _ = io.WriteString(w, rest)
	}
}

func TestDownloadResumesWhereItBroke(t *testing.T) {
	content := strings.Repeat("0123456789", 10_000)
	var got bytes.Buffer
	var last int64
	c := serve(t, flaky(content, 9_000, true))
	n, err := c.DownloadTo(t.Context(), Download{URI: "file", SHA256: digestOf(content), Progress: func(received, total int64) {
		if received < last || total != int64(len(content)) {
			t.Errorf("progress %d of %d after %d", received, total, last)
		}
		last = received
	}}, &got)
	if err != nil || got.String() != content || n != int64(len(content)) || last != n {
		t.Errorf("%d bytes, %v", n, err)
	}
}

func TestDownloadFromAServerWithoutRanges(t *testing.T) {
	content := strings.Repeat("0123456789", 1000)
	var calls atomic.Int32
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if calls.Add(1) == 1 {
			flaky(content, 5000, false)(w, r)
			return
		}
		flaky(content, len(content), false)(w, r)
	})
	var got bytes.Buffer
	if _, err := c.DownloadTo(t.Context(), Download{URI: "file", SHA256: digestOf(content)}, &got); err != nil || got.String() != content {
		t.Errorf("%d bytes, %v", got.Len(), err)
	}
}

func TestDownloadFaults(t *testing.T) {
	content := "content"
	tests := map[string]struct {
		download Download
		handler  http.HandlerFunc
		want     error
	}{
		"another file": {Download{URI: "f", SHA256: digestOf("other")}, flaky(content, 100, true), ErrChecksum},
		"too large":    {Download{URI: "f", SHA256: digestOf(content), MaxBytes: 3}, flaky(content, 100, true), ErrTooLarge},
		"too large, no length": {Download{URI: "f", SHA256: digestOf(content), MaxBytes: 3}, func(w http.ResponseWriter, _ *http.Request) {
			w.(http.Flusher).Flush()
			_, _ = io.WriteString(w, content)
		}, ErrTooLarge},
		"not found":            {Download{URI: "f", SHA256: digestOf(content)}, http.NotFound, ErrNotFound},
		"no progress":          {Download{URI: "f", SHA256: digestOf(content)}, flaky(content, 0, true), ErrUnavailable},
		"no checksum anywhere": {Download{URI: "f"}, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, content) }, ErrChecksum},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "f")
			if _, err := serve(t, tc.handler).DownloadFile(t.Context(), tc.download, path); !errors.Is(err, tc.want) {
				t.Errorf("error is %v, want %v", err, tc.want)
			}
			if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("a file appeared: %v", err)
			}
			useless := errors.Is(tc.want, ErrChecksum) || errors.Is(tc.want, ErrTooLarge)
			if _, err := os.Stat(path + ".part"); useless != errors.Is(err, os.ErrNotExist) {
				t.Errorf("the part: %v", err)
			}
		})
	}
}

func TestDownloadFileResumesAPart(t *testing.T) {
	content := "0123456789"
	for name, part := range map[string]string{"none": "", "half": "01234", "whole": content} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "f")
			if part != "" {
				if err := os.WriteFile(path+".part", []byte(part), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			var asked string
			c := serve(t, func(w http.ResponseWriter, r *http.Request) {
				asked = r.Header.Get("Range")
				flaky(content, 100, true)(w, r)
			})
			n, err := c.DownloadFile(t.Context(), Download{URI: "f", SHA256: digestOf(content)}, path)
			got, readErr := os.ReadFile(path)
			if err != nil || readErr != nil || string(got) != content || n != 10 {
				t.Errorf("%q, %d, %v, %v", got, n, err, readErr)
			}
			if want := fmt.Sprintf("bytes=%d-", len(part)); part != "" && asked != want {
				t.Errorf("asked for %q, want %q", asked, want)
			}
		})
	}
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path+".part", []byte("of another file, and longer"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := serve(t, flaky(content, 100, true))
	if _, err := c.DownloadFile(t.Context(), Download{URI: "f", SHA256: digestOf(content)}, path); !errors.Is(err, ErrChecksum) {
		t.Errorf("a part of another file: %v", err)
	}
	if _, err := c.DownloadFile(t.Context(), Download{URI: "f", SHA256: digestOf(content)}, path); err != nil {
		t.Errorf("after that: %v", err)
	}
}

func TestStalledStreamsAreGivenUp(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "10")
		_, _ = io.WriteString(w, "01234")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}, func(o *Options) { o.IdleTimeout, o.Retry = 30*time.Millisecond, NoRetry })
	_, err := c.DownloadTo(t.Context(), Download{URI: "f", SHA256: digestOf("x")}, io.Discard)
	if !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "no byte moved for 30ms") {
		t.Errorf("error is %v", err)
	}
}

func TestUpload(t *testing.T) {
	content := strings.Repeat("x", 3<<20)
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			if r.URL.Query().Get("sha256") == digestOf("known") {
				answer(w, 200, `{"items":[{"metadata":{"name":"there"}}]}`)
				return
			}
			answer(w, 200, `{"items":[]}`)
			return
		}
		if r.Header.Get("Expect") != "100-continue" || r.ContentLength != int64(len(content)) || r.URL.Query().Get("filename") != "a b.tsv" {
			t.Errorf("upload is %s, %v", r.URL, r.Header)
		}
		if n, err := io.Copy(io.Discard, r.Body); err != nil || n != int64(len(content)) {
			answer(w, 400, "") // the file that shrank
			return
		}
		answer(w, 201, `{"metadata":{"name":"new"}}`)
	})
	var sent int64
	u := Upload{Filename: "a b.tsv", Body: strings.NewReader(content), Size: int64(len(content)), SHA256: digestOf(content), Progress: func(n, _ int64) { sent = n }}
	a, err := c.UploadArtifact(t.Context(), u)
	if err != nil || a.Metadata.Name != "new" || sent != int64(len(content)) {
		t.Errorf("%+v, %d, %v", a, sent, err)
	}
	u.SHA256 = digestOf("known")
	if a, err = c.UploadArtifact(t.Context(), u); err != nil || a.Metadata.Name != "there" {
		t.Errorf("known: %+v, %v", a, err)
	}
	short := Upload{Filename: "a b.tsv", Body: strings.NewReader("short"), Size: int64(len(content))}
	if _, err := c.UploadArtifact(t.Context(), short); err == nil || !strings.Contains(err.Error(), "became shorter") {
		t.Errorf("a file that shrank: %v", err)
	}
}

func TestWatchEndsWithAnError(t *testing.T) {
	lines := map[string]string{
		"":        `{"type":"ADDED","object":{"metadata":{"name":"a"}}}` + "\n" + `{"type":"HEARTBEAT"}` + "\n" + `{"type":"SYNCED"}` + "\n",
		"error":   `{"type":"ERROR","error":{"code":"unavailable","message":"gone"}}` + "\n",
		"garbage": "<html>\n",
	}
	for name, body := range lines {
		t.Run(name, func(t *testing.T) {
			c := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) })
			var types []string
			var last error
			for e, err := range c.WatchJobs(t.Context(), wire.ListJobsParams{}) {
				if last = err; err == nil {
					types = append(types, string(e.Type))
				}
			}
			if !errors.Is(last, ErrUnavailable) {
				t.Errorf("the watch ended with %v", last)
			}
			if name == "" && strings.Join(types, " ") != "ADDED SYNCED" {
				t.Errorf("events are %v", types)
			}
		})
	}
}

func TestLogThatIsCutDoesNotEnd(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Task-Attempt", "2")
		_, _ = io.WriteString(w, "half")
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	})
	s, err := c.TaskLog(t.Context(), "a-0", 0, 0, true)
	if err != nil || s.Attempt != 2 {
		t.Fatalf("%+v, %v", s, err)
	}
	if data, err := io.ReadAll(s); string(data) != "half" || err == nil {
		t.Errorf("%q, %v", data, err)
	}
}

func TestAllPages(t *testing.T) {
	pages := map[string]v1.List[int]{
		"":  {Items: []int{1, 2}, Metadata: v1.ListMeta{Continue: "a"}},
		"a": {Items: []int{3}, Metadata: v1.ListMeta{Continue: "b"}},
		"b": {Metadata: v1.ListMeta{Continue: "b"}}, // a server that does not get on
	}
	var got []int
	var last error
	for n, err := range All(func(next *string) (v1.List[int], error) {
		if next == nil {
			return pages[""], nil
		}
		return pages[*next], nil
	}) {
		if last = err; err == nil {
			got = append(got, n)
		}
	}
	if diff := cmp.Diff([]int{1, 2, 3}, got); diff != "" || last == nil {
		t.Errorf("items (-want +got):\n%s, error %v", diff, last)
	}
}
