//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"scimesh.dev/scimesh/api"
	"scimesh.dev/scimesh/hack/internal/platform"
)

var update = flag.Bool("update", false, "write api/requests.http from this run")

// session calls every endpoint once and writes down what was said.
type session struct {
	t      *testing.T
	p      *platform.Platform
	suite  *coordinatorSuite
	titles []string // method, path of the document, and status, in order
	text   strings.Builder
	clean  *cleaner
}

// cleaner replaces what differs from run to run.
type cleaner struct {
	fixed *strings.Replacer
	ids   map[string]string
}

var (
	anyUUID  = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	anyTime  = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z`)
	volatile = regexp.MustCompile(`"(lease_seconds|resourceVersion)": ?("?)[0-9.]+`)
)

func (c *cleaner) apply(text string) string {
	text = c.fixed.Replace(text)
	text = anyTime.ReplaceAllString(text, "2026-07-23T12:05:00.000000Z")
	text = volatile.ReplaceAllString(text, `"$1": ${2}60`)
	return anyUUID.ReplaceAllStringFunc(text, func(id string) string {
		if _, ok := c.ids[id]; !ok {
			c.ids[id] = fmt.Sprintf("01938f3e-0000-7000-8000-%012d", len(c.ids)+1)
		}
		return c.ids[id]
	})
}

// shown is how many lines of a body are written down.
const shown = 40

// call sends a request, wants the status, and notes both sides. path is that
// of the document; values replace its parameters in order.
func (s *session) call(c *client, method, path string, values []string, query, body string, status int, headers ...string) []byte {
	s.t.Helper()
	target := path
	for _, value := range values {
		begin, end := strings.IndexByte(target, '{'), strings.IndexByte(target, '}')
		target = target[:begin] + value + target[end+1:]
	}
	if query != "" {
		target += "?" + query
	}
	a, err := c.send(s.t.Context(), method, target, strings.NewReader(body), headers...)
	if err != nil {
		s.t.Fatal(err)
	}
	if a.status != status {
		s.t.Fatalf("%s %s: status %d, want %d: %s", method, target, a.status, status, a.body)
	}
	title := fmt.Sprintf("%s %s %d", method, path, status)
	s.titles = append(s.titles, title)

	var b strings.Builder
	fmt.Fprintf(&b, "### %s\n%s {{url}}%s\n", title, method, target)
	if c.token != "" {
		fmt.Fprintf(&b, "Authorization: Bearer %s\n", c.token)
	}
	for i := 0; i < len(headers); i += 2 {
		fmt.Fprintf(&b, "%s: %s\n", headers[i], headers[i+1])
	}
	if body != "" {
		fmt.Fprintf(&b, "\n%s\n", pretty([]byte(body)))
	}
	fmt.Fprintf(&b, "\n# %d %s\n", a.status, http.StatusText(a.status))
	for _, name := range []string{"Content-Type", "Location", "Content-Range", "Etag", "X-Operation"} {
		if value := a.header.Get(name); value != "" {
			fmt.Fprintf(&b, "# %s: %s\n", name, value)
		}
	}
	if len(a.body) > 0 {
		lines := strings.Split(strings.TrimSuffix(strings.ReplaceAll(pretty(a.body), "\r", ""), "\n"), "\n")
		if len(lines) > shown {
			lines = append(lines[:shown], "…")
		}
		fmt.Fprintf(&b, "#\n# %s\n", strings.Join(lines, "\n# "))
	}
	s.text.WriteString(s.clean.apply(b.String()) + "\n")
	return a.body
}

// pretty indents JSON; other text stays as it is.
func pretty(text []byte) string {
	var out bytes.Buffer
	if json.Indent(&out, bytes.TrimSpace(text), "", "  ") != nil {
		return string(text)
	}
	return out.String()
}

func field(t *testing.T, body []byte, name string) string {
	t.Helper()
	var f map[string]any
	if err := json.Unmarshal(body, &f); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(f[name])
}

const jsonBody = "application/json"

func jobText(name, input string) string {
	return `{"apiVersion": "scimesh.dev/v1", "kind": "Job", "metadata": {"name": "` + name + `"}, "spec": {"workload": "similarity-search"` +
		input + `, "parameters": {"query_smiles": "CCO", "top_k": 5}}}`
}

// run is the session: what an operator, a submitter and a worker say.
func (s *session) run() {
	op, wk, none := s.suite.operator, s.suite.worker, s.suite.operator.with("")
	for _, path := range []string{"/healthz", "/health", "/readyz", "/version", "/metrics", "/openapi.yaml"} {
		s.call(none, "GET", path, nil, "", "", 200)
	}
	s.call(op, "GET", "/workloads", nil, "", "", 200)
	s.call(op, "GET", "/workloads/{name}", []string{workload}, "", "", 200)
	s.call(op, "GET", "/controllers", nil, "", "", 200)

	input := s.call(op, "POST", "/artifacts", nil, "filename=molecules.tsv", shard, 201, "Content-Type", "text/tab-separated-values")
	var stored struct{ Metadata struct{ UID string } }
	if err := json.Unmarshal(input, &stored); err != nil {
		s.t.Fatal(err)
	}
	digest := fmt.Sprintf("%x", sum([]byte(shard)))
	s.call(op, "GET", "/artifacts", nil, "kind=input&sha256="+digest, "", 200)
	s.call(op, "GET", "/artifacts/{artifact_id}", []string{stored.Metadata.UID}, "", "", 200)
	s.call(op, "GET", "/artifacts/{artifact_id}/download", []string{stored.Metadata.UID}, "", "", 206, "Range", "bytes=0-8")
	s.call(op, "POST", "/jobs", nil, "", `{"kind": "Job", "spec": {"colour": "red"}}`, 400, "Content-Type", jsonBody)
	s.call(op, "POST", "/jobs", nil, "", jobText("neighbours", `, "input": {"sha256": "`+digest+`"}`), 201, "Content-Type", jsonBody)
	s.call(op, "GET", "/jobs/{name}", []string{"neighbours"}, "", "", 200)
	s.call(op, "PUT", "/jobs/{name}", []string{"later"}, "", strings.Replace(jobText("later", `, "input": {"sha256": "`+digest+`"}`), `"similarity-search"`, `"similarity-search", "suspend": true`, 1), 201, "Content-Type", jsonBody)
	s.upload(op)
	s.call(op, "GET", "/jobs", nil, "limit=2", "", 200)
	s.call(op, "GET", "/jobs/{name}/why", []string{"neighbours"}, "", "", 200)
	s.call(op, "POST", "/jobs/{name}/cancel", []string{"later"}, "", "", 202)
	s.call(op, "DELETE", "/jobs/{name}", []string{"later"}, "", "", 202)

	s.work(wk)
	s.call(op, "GET", "/jobs/{name}/tasks", []string{"neighbours"}, "", "", 200)
	s.call(op, "GET", "/jobs/{name}/events", []string{"neighbours"}, "", "", 200)
	s.await("neighbours")
	s.call(op, "GET", "/jobs/{name}/result", []string{"neighbours"}, "", "", 200)
	s.call(op, "GET", "/jobs/{name}/rejects", []string{"neighbours"}, "", "", 200)
	s.call(op, "GET", "/tasks", nil, "job=neighbours", "", 200)
	s.call(op, "GET", "/tasks/{task}", []string{"neighbours-0"}, "", "", 200)
	s.call(op, "GET", "/tasks/{task}/logs", []string{"neighbours-0"}, "", "", 200)
	s.call(op, "GET", "/events", nil, "job=neighbours", "", 200)
	s.call(op, "GET", "/workers", nil, "", "", 200)
}

// upload submits a Job together with its input.
func (s *session) upload(op *client) {
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	if err := w.SetBoundary("boundary"); err != nil {
		s.t.Fatal(err)
	}
	for _, part := range []struct{ name, file, kind, text string }{
		{"job", "job.json", jsonBody, jobText("uploaded", "")}, {"input", "more.tsv", "text/tab-separated-values", shard + "M4\tCCC\n"},
	} {
		p, err := w.CreatePart(textproto.MIMEHeader{
			"Content-Disposition": {fmt.Sprintf("form-data; name=%q; filename=%q", part.name, part.file)}, "Content-Type": {part.kind},
		})
		if err != nil {
			s.t.Fatal(err)
		}
		if _, err := p.Write([]byte(part.text)); err != nil {
			s.t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		s.t.Fatal(err)
	}
	s.call(op, "POST", "/jobs/upload", nil, "", body.String(), 201, "Content-Type", w.FormDataContentType())
	s.call(op, "POST", "/jobs/{name}/cancel", []string{"uploaded"}, "", "", 202)
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	_, _ = s.p.Scimesh(ctx, "wait", "job/uploaded") // its status says that the Job was cancelled
}

// work is what a worker says.
func (s *session) work(wk *client) {
	t := s.t
	me := `{"name": "lab-worker-01", "capabilities": ["similarity-search"], "engine": "example/1", "cpu_count": 8, "memory_mb": 16384}`
	worker := field(t, s.call(wk, "POST", "/workers/register", nil, "", me, 200, "Content-Type", jsonBody), "worker_id")
	s.call(s.suite.operator, "GET", "/workers/{worker_id}", []string{worker}, "", "", 200)
	lease := func(attempt int, more string) string {
		return fmt.Sprintf(`{"worker_id": "%s", "attempt": %d%s}`, worker, attempt, more)
	}
	claim := func(status int) []byte {
		return s.call(wk, "POST", "/tasks/claim", nil, "", `{"worker_id": "`+worker+`", "capabilities": ["similarity-search"], "max_concurrency": 1, "wait_seconds": 20}`, status, "Content-Type", jsonBody)
	}
	var task string
	attempt := 0
	next := func() {
		var got struct {
			Task    string `json:"task_id"`
			Attempt int
		}
		if err := json.Unmarshal(claim(200), &got); err != nil {
			t.Fatal(err)
		}
		task, attempt = got.Task, got.Attempt
	}
	post := func(path, body string, status int) {
		s.call(wk, "POST", path, []string{task}, "", body, status, "Content-Type", jsonBody)
	}
	next()
	post("/tasks/{task_id}/failure", lease(attempt, `, "error_code": "ValueError", "error_message": "input checksum mismatch"`), 200)
	next()
	post("/tasks/{task_id}/release", lease(attempt, ""), 200)
	next()
	post("/tasks/{task_id}/heartbeat", lease(attempt, `, "progress": 0.25`), 200)
	post("/tasks/{task_id}/heartbeat", lease(attempt+1, ""), 409)
	identity := []string{"X-Worker-ID", worker, "X-Task-Attempt", fmt.Sprint(attempt)}
	s.call(wk, "GET", "/tasks/{task_id}/input", []string{task}, "", "", 200, identity...)
	s.call(wk, "PUT", "/tasks/{task_id}/logs/{seq}", []string{task, "0"}, "", "2026-07-23T12:05:00.000Z 3 rows read\n", 204, append(identity, "Content-Type", "text/plain", "X-Log-Final", "true")...)
	partial := "record,row,chembl_id,canonical_smiles,common,union,detail\r\nhit,,M2,CCN,3,9,\r\nreject,3,M3,,,,InvalidSMILES\r\n" +
		"count,3,,,,,read\r\ncount,1,,,,,scored\r\ncount,1,,,,,excluded:QueryMolecule\r\ncount,1,,,,,rejected:InvalidSMILES\r\nend,,,,,,\r\n"
	uploaded := s.call(wk, "PUT", "/tasks/{task_id}/artifacts/{filename}", []string{task, "partial.csv"}, "", partial, 201, append(identity, "Content-Type", "text/csv")...)
	post("/tasks/{task_id}/result", lease(attempt, fmt.Sprintf(
		`, "result": {"artifact_id": "%s", "uri": "%s", "sha256": "%s", "content_type": "text/csv"}, "metrics": {"elapsed_seconds": 12.4, "processed_rows": 3}`,
		field(t, uploaded, "artifact_id"), field(t, uploaded, "uri"), field(t, uploaded, "sha256"))), 200)
	s.call(wk, "POST", "/tasks/claim", nil, "", `{"worker_id": "`+worker+`", "capabilities": ["similarity-search"]}`, 204, "Content-Type", jsonBody)
}

// await waits until a Job has completed.
func (s *session) await(job string) {
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	if _, err := s.p.Scimesh(ctx, "wait", "job/"+job); err != nil {
		s.t.Fatal(err)
	}
}

const requestsHead = `# Every endpoint of openapi.yaml with a real request and its answer, written by a run of
# go test ./hack/conformance -run Requests -update
# Ids, times and tokens are replaced; long bodies end in …
@url = http://127.0.0.1:8080
@operatorToken = operator-token
@workerToken = worker-token

`

// api/requests.http holds every endpoint, and each says today what it says there.
func TestRequestsAreThoseOfARun(t *testing.T) {
	p := startPlatform(t, build(t))
	s := &session{t: t, p: p, suite: newCoordinatorSuite(p.URL(), p.OperatorToken(), p.WorkerToken()), clean: &cleaner{
		ids: map[string]string{},
		fixed: strings.NewReplacer(
			p.URL(), "http://127.0.0.1:8080", p.OperatorToken(), "{{operatorToken}}", p.WorkerToken(), "{{workerToken}}"),
	}}
	s.run()
	file := filepath.Join("..", "..", "api", "requests.http")
	if *update {
		if err := os.WriteFile(file, []byte(requestsHead+s.text.String()), 0o644); err != nil { //nolint:gosec // a text of the repository
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var titles []string
	for _, m := range regexp.MustCompile(`(?m)^### (.+)$`).FindAllSubmatch(want, -1) {
		titles = append(titles, string(m[1]))
	}
	if !slices.Equal(titles, s.titles) {
		t.Errorf("this run called\n%s\nthe file holds\n%s\n(-update writes it anew)", strings.Join(s.titles, "\n"), strings.Join(titles, "\n"))
	}
	doc, err := openapi3.NewLoader().LoadFromData(api.OpenAPI)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range slices.Sorted(maps.Keys(doc.Paths.Map())) {
		for method := range doc.Paths.Value(path).Operations() {
			if !slices.ContainsFunc(titles, func(title string) bool { return strings.HasPrefix(title, method+" "+path+" ") }) {
				t.Errorf("%s %s is missing", method, path)
			}
		}
	}
}
