package cli

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"scimesh.dev/scimesh/api/client"
)

var update = flag.Bool("update", false, "rewrite the golden files")

const testToken = "operator-token-0123456789"

// caller runs command lines as a user's shell would, against one coordinator.
type caller struct {
	t     *testing.T
	host  host
	env   map[string]string
	stdin string
	ctx   context.Context
}

// newCaller returns a caller whose environment names the coordinator at url.
func newCaller(t *testing.T, url string) *caller {
	t.Helper()
	c := &caller{t: t, ctx: t.Context(), env: map[string]string{
		"SCIMESH_CONFIG":          filepath.Join(t.TempDir(), "config.yaml"),
		"SCIMESH_COORDINATOR_URL": url,
		"SCIMESH_TOKEN":           testToken,
	}}
	c.host = host{
		getenv:  func(name string) string { return c.env[name] },
		now:     time.Now,
		columns: func(io.Writer) int { return 0 },
		poll:    20 * time.Millisecond,
		retry:   client.RetryPolicy{Attempts: 3, Base: time.Millisecond, Max: 10 * time.Millisecond},
	}
	return c
}

// result is how a command line ended.
type result struct {
	code     int
	out, err string
}

// run runs one command line to its end.
func (c *caller) run(args ...string) result {
	c.t.Helper()
	var out, err syncBuffer
	streams := Streams{In: strings.NewReader(c.stdin), Out: &out, Err: &err}
	code := execute(c.ctx, newRoot(streams, c.host), args, streams)
	r := result{code, out.String(), err.String()}
	if strings.Contains(r.out+r.err, testToken) {
		c.t.Errorf("scimesh %s: the token is in the output", strings.Join(args, " "))
	}
	return r
}

// ok is run for a command line that must succeed; it returns what was printed.
func (c *caller) ok(args ...string) string {
	c.t.Helper()
	r := c.run(args...)
	if r.code != ExitOK {
		c.t.Fatalf("scimesh %s: exit code %d\n%s%s", strings.Join(args, " "), r.code, r.out, r.err)
	}
	return r.out
}

// fails is run for a command line that must fail; it returns what was complained of.
func (c *caller) fails(args ...string) string {
	c.t.Helper()
	r := c.run(args...)
	if r.code != ExitError {
		c.t.Fatalf("scimesh %s: exit code %d, want %d\n%s%s", strings.Join(args, " "), r.code, ExitError, r.out, r.err)
	}
	return r.err
}

// started is a command line that runs.
type started struct {
	t      *testing.T
	args   []string
	out    syncBuffer
	err    syncBuffer
	cancel context.CancelFunc
	code   chan int
}

// start runs a command line beside the test.
func (c *caller) start(args ...string) *started {
	s := &started{t: c.t, args: args, code: make(chan int, 1)}
	var ctx context.Context
	ctx, s.cancel = context.WithCancel(c.ctx)
	c.t.Cleanup(s.cancel)
	streams := Streams{In: strings.NewReader(c.stdin), Out: &s.out, Err: &s.err}
	go func() { s.code <- execute(ctx, newRoot(streams, c.host), args, streams) }()
	return s
}

// wait returns how it ended.
func (s *started) wait() result {
	s.t.Helper()
	var code int
	select {
	case code = <-s.code:
	case <-time.After(time.Minute):
		s.t.Fatalf("scimesh %s does not end\n%s%s", strings.Join(s.args, " "), s.out.String(), s.err.String())
	}
	return result{code, s.out.String(), s.err.String()}
}

// sees waits until the output, or the complaints, hold a text.
func (s *started) sees(text string) {
	s.t.Helper()
	if !eventually(func() bool { return strings.Contains(s.out.String()+s.err.String(), text) }) {
		s.t.Fatalf("scimesh %s: never printed %q\n%s%s", strings.Join(s.args, " "), text, s.out.String(), s.err.String())
	}
}

// eventually reports whether a condition came to hold.
func eventually(holds func() bool) bool {
	deadline := time.Now().Add(30 * time.Second)
	for !holds() {
		if time.Now().After(deadline) {
			return false
		}
		<-time.After(5 * time.Millisecond)
	}
	return true
}

// syncBuffer is written by a command and read by its test.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// golden compares got with testdata/NAME.golden.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(got), 0o600)); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// write writes a file below a folder and returns its path.
func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
	return path
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// matches reports whether an expression matches the whole of a text, but for white space at its end.
func matches(expression, text string) bool {
	return regexp.MustCompile("^(?:" + expression + ")$").MatchString(strings.TrimSpace(text))
}
