package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"scimesh.dev/scimesh/cmd/scimesh/internal/clientconfig"
)

// TestNoAnswer is about coordinators that are not there, or do not want us.
func TestNoAnswer(t *testing.T) {
	refusal := func(status int, body string) *httptest.Server {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if strings.HasPrefix(body, "{") {
				w.Header().Set("Content-Type", "application/json")
			}
			w.Header().Set("X-Request-ID", "r-1")
			w.WriteHeader(status)
			fmt.Fprint(w, body)
		}))
		t.Cleanup(s.Close)
		return s
	}
	coded := func(code, message string) string {
		body, err := json.Marshal(map[string]any{"error": map[string]string{"code": code, "message": message}, "request_id": "r-1"})
		if err != nil {
			t.Fatal(err)
		}
		return string(body)
	}
	gone := httptest.NewServer(nil)
	gone.Close()
	for name, tc := range map[string]struct {
		url   string
		token string
		want  string
	}{
		"nobody listens": {gone.URL, testToken, "no answer from the coordinator at " + gone.URL + ": .*connection refused\nIs it running\\? .*"},
		"no token":       {refusal(401, coded("unauthorized", "a valid bearer token is needed")).URL, "", "get job x: a valid bearer token is needed\nThe coordinator at .* wants a token, and there is none: .*"},
		"a wrong token":  {refusal(401, coded("unauthorized", "a valid bearer token is needed")).URL, testToken, "get job x: a valid bearer token is needed\nThe coordinator at .* does not know this token"},
		"a worker's":     {refusal(403, coded("forbidden", "this endpoint needs the operator's token")).URL, testToken, "get job x: this endpoint needs the operator's token\nThe token opens the workers' endpoints alone"},
		"overloaded":     {refusal(503, coded("unavailable", "the database cannot be reached now")).URL, testToken, `get job x: the database cannot be reached now \(request r-1\)`},
		"another server": {refusal(404, "<html>not here</html>").URL, testToken, `get job x: Not Found \(HTTP 404\)` + "\nIs a SciMesh coordinator at .*\\?"},
		"escapes":        {refusal(400, coded("invalid_request", "\x1b[31mred")).URL, testToken, `get job x: \\u001b\[31mred`},
		"no URL":         {"ftp://x", testToken, "coordinator URL: must be http:// or https:// and a host"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCaller(t, tc.url)
			c.env["SCIMESH_TOKEN"] = tc.token
			if got := c.fails("get", "job/x"); !matches("error: "+tc.want, got) {
				t.Errorf("printed\n%s\nwant\n%s", got, tc.want)
			}
		})
	}
	t.Run("interrupted", func(t *testing.T) {
		c := newCaller(t, gone.URL)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		c.ctx = ctx
		if got := c.fails("get", "job/x"); got != "error: interrupted\n" {
			t.Error(got)
		}
	})
	t.Run("explain without a coordinator", func(t *testing.T) {
		c := newCaller(t, gone.URL)
		r := c.run("explain", "similarity-search.top_k")
		if r.code != ExitOK || !strings.Contains(r.out, "<integer> 1 to 1000000, default 20") || !strings.Contains(r.err, "No coordinator answers") {
			t.Errorf("%+v", r)
		}
		c.fails("explain", "unknown")
	})
}

// TestContexts is about which coordinator is asked, with which token.
func TestContexts(t *testing.T) {
	coordinator := func(name string) *httptest.Server {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"name":%q,"metadata":{"name":%q},"items":[]}`, name, name+" "+r.Header.Get("Authorization"))
		}))
		t.Cleanup(s.Close)
		return s
	}
	one, two := coordinator("one"), coordinator("two")
	c := newCaller(t, "")
	dir := t.TempDir()
	c.env = map[string]string{"SCIMESH_CONFIG": filepath.Join(dir, "config.yaml")}
	config := clientconfig.Config{CurrentContext: "one", Contexts: []clientconfig.Context{
		{Name: "one", Server: one.URL, TokenFile: write(t, dir, "one", "token-of-one\n")},
		{Name: "two", Server: two.URL, TokenFile: write(t, dir, "two", "token-of-two\n")},
		{Name: "lost", Server: two.URL, TokenFile: filepath.Join(dir, "lost")},
	}}
	if got := c.run("config", "get-contexts"); got.code != ExitOK || !strings.HasPrefix(got.err, "No contexts in ") {
		t.Errorf("%+v", got)
	}
	c.fails("config", "current-context")
	if err := config.Save(c.env["SCIMESH_CONFIG"]); err != nil {
		t.Fatal(err)
	}
	asked := func(args ...string) string {
		t.Helper()
		return c.ok(append(args, "get", "job/x", "-o", "jsonpath={.metadata.name}")...)
	}
	for want, got := range map[string]string{
		"one Bearer token-of-one": asked(),
		"two Bearer token-of-two": asked("--context", "two"),
		"two ":                    asked("--server", two.URL), // the token of one goes to one alone
	} {
		if got != want {
			t.Errorf("asked %q, want %q", got, want)
		}
	}
	c.env["SCIMESH_COORDINATOR_URL"], c.env["SCIMESH_TOKEN"] = two.URL+"/", "mine"
	if got := asked(); got != "two Bearer mine" {
		t.Errorf("by the environment: %q", got)
	}
	delete(c.env, "SCIMESH_COORDINATOR_URL")
	delete(c.env, "SCIMESH_TOKEN")

	if got := c.fails("--context", "three", "get", "jobs"); got != "error: no context \"three\" in the client configuration\n" {
		t.Error(got)
	}
	if got := c.fails("--context", "lost", "get", "jobs"); !strings.HasPrefix(got, "error: token of context \"lost\": ") {
		t.Error(got)
	}
	c.ok("config", "use-context", "two")
	if got := c.ok("config", "current-context"); got != "two\n" {
		t.Error(got)
	}
	if got := c.ok("config", "get-contexts"); !strings.Contains(got, "\n*         two ") || !strings.Contains(got, "\n          one ") {
		t.Error(got)
	}
	c.fails("config", "use-context", "four")
}

// TestCompletion asks as a shell does.
func TestCompletion(t *testing.T) {
	c := newFixture(t)
	for line, want := range map[string]string{
		"__complete get ":                "jobs\ntasks\nworkers\nartifacts\nworkloads\ncontrollers\nevents\n:4\n",
		"__complete get workers ":        "lab-1\nlab-2\nlab-3\ntwin\n:4\n",
		"__complete get job/d":           "job/gefitinib\njob/done\njob/broken\njob/waiting\njob/stopping\njob/going\n:4\n",
		"__complete wait job/done ":      "job/gefitinib\njob/broken\njob/waiting\njob/stopping\njob/going\n:4\n",
		"__complete describe task/":      "task/gefitinib-0\ntask/gefitinib-1\ntask/gefitinib-2\ntask/gefitinib-3\n:4\n",
		"__complete get tasks --job ":    "gefitinib\ndone\nbroken\nwaiting\nstopping\ngoing\n:4\n",
		"__complete get jobs --phase ":   "created\nplanning\nrunning\nreducing\ncompleted\nfailed\ncancelled\n:4\n",
		"__complete explain ":            "job\nsimilarity-graph\nsimilarity-search\n:4\n",
		"__complete completion ":         "bash\nzsh\nfish\npowershell\n:4\n",
		"__complete get events ":         ":4\n",
		"__complete config use-context ": ":4\n",
		"__complete get jobs -o ":        "wide\nname\njson\nyaml\njsonpath=\n:6\n",
	} {
		args := strings.Split(line, " ")
		if got := c.ok(args...); got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", line, got, want)
		}
	}
	gone := newCaller(t, "http://127.0.0.1:1")
	start := time.Now()
	if got := gone.ok("__complete", "wait", ""); got != ":4\n" || time.Since(start) > 2*completionTimeout {
		t.Errorf("without a coordinator: %q after %s", got, time.Since(start))
	}
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if got := c.ok("completion", shell); !strings.Contains(got, "scimesh") {
			t.Errorf("completion %s: %q", shell, got)
		}
	}
}
