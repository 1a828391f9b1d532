package web_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"scimesh.dev/scimesh/store"
	"scimesh.dev/scimesh/store/storetest"
	"scimesh.dev/scimesh/web"
)

// pages are the addresses that show something of a job named j with a worker.
func (h *harness) pages(job, worker, artifact string) []string {
	return []string{
		"/ui/", "/ui/jobs", "/ui/jobs?q=" + url.QueryEscape(hostile), "/ui/jobs?labels=a%3Db", "/ui/cancel", "/ui/jobs/" + job, "/ui/jobs/" + job + "/tasks/0",
		"/ui/workers", "/ui/workers/" + worker, "/ui/controllers", "/ui/artifacts", "/ui/artifacts/" + artifact,
		"/ui/workloads", "/ui/workloads/similarity-search", "/ui/new", "/ui/new?from=" + job,
	}
}

const hostile = `"><img src=x onerror=alert(1)><script>alert(1)</script>'`

func TestOnlyTheOperatorsTokenSignsIn(t *testing.T) {
	h := newHarness(t)
	for _, token := range []string{"", workerToken, operatorToken + "x", "OPERATOR-TOKEN-8F3A"} {
		p := h.stranger()
		if r := p.post("/ui/login", url.Values{"token": {token}}); r.status != http.StatusUnauthorized || r.header.Get("Set-Cookie") != "" {
			t.Errorf("token %q: %d, cookie %q, want 401 without one", token, r.status, r.header.Get("Set-Cookie"))
		}
		if r := p.get("/ui/jobs"); r.status != http.StatusSeeOther {
			t.Errorf("token %q then opens the jobs: %d", token, r.status)
		}
	}
	p := h.stranger()
	if r := p.get("/ui/jobs", "Authorization", "Bearer "+workerToken); r.status != http.StatusSeeOther {
		t.Errorf("a worker's token in a header opens the jobs: %d", r.status)
	}
	r := p.post("/ui/login", url.Values{"token": {operatorToken}, "next": {"/ui/jobs?phase=failed"}})
	if r.status != http.StatusSeeOther || r.header.Get("Location") != "/ui/jobs?phase=failed" {
		t.Errorf("the operator's token: %d to %q", r.status, r.header.Get("Location"))
	}
	cookie := r.header.Get("Set-Cookie")
	for _, want := range []string{"HttpOnly", "SameSite=Strict", "Path=/ui"} {
		if !strings.Contains(cookie, want) {
			t.Errorf("cookie %q lacks %s", cookie, want)
		}
	}
	if strings.Contains(cookie, operatorToken) {
		t.Error("the cookie holds the token")
	}
	p.page("/ui/jobs", "Sign out")
}

func TestNothingIsShownToStrangers(t *testing.T) {
	h := newHarness(t)
	j := storetest.MakeRunningJob(t, h.store, "j", 1, func(p *store.CreateJobParams) { p.Labels = map[string]string{"k": "secret"} })
	w := storetest.MakeWorker(t, h.store, "secret-worker")
	p := h.stranger()
	paths := append(h.pages(j.Name, w.ID.String(), j.Input.Artifact.String()),
		"/ui/jobs.csv", "/ui/live?topic=all", "/ui/jobs/j/manifest.yaml", "/ui/api/artifacts/"+j.Input.Artifact.String()+"/download", "/ui/nowhere")
	for _, path := range paths {
		r := p.get(path)
		if r.status != http.StatusSeeOther && r.status != http.StatusUnauthorized || strings.Contains(r.body, "secret") {
			t.Errorf("GET %s: %d %s", path, r.status, r.body)
		}
	}
	for _, path := range []string{"/ui/jobs/j/cancel", "/ui/cancel", "/ui/new", "/ui/logout", "/ui/api/artifacts"} {
		if r := p.post(path, url.Values{"job": {"j"}}); r.status != http.StatusUnauthorized {
			t.Errorf("POST %s: %d", path, r.status)
		}
	}
	if j, err := h.store.GetJob(t.Context(), "j"); err != nil || !j.CancelRequestedAt.IsZero() {
		t.Errorf("a stranger cancelled it: %v, %v", j.CancelRequestedAt, err)
	}
}

func TestSessionsCanBeRevoked(t *testing.T) {
	h := newHarness(t)
	one, two := h.operator(), h.operator()
	if r := one.post("/ui/logout", nil); r.status != http.StatusSeeOther {
		t.Fatalf("sign out: %d", r.status)
	}
	if one.get("/ui/jobs").status == http.StatusOK || two.get("/ui/jobs").status != http.StatusOK {
		t.Error("signing out ended another session, or not this one")
	}
	three := h.operator()
	three.post("/ui/logout", url.Values{"everywhere": {"1"}})
	if two.get("/ui/jobs").status == http.StatusOK {
		t.Error("signing out everywhere left a session")
	}
	// A new operator token ends what was begun under the old one.
	four := h.operator()
	other, err := web.New(web.Config{OperatorToken: "another-token-77"}, web.Deps{Store: h.store, Artifacts: h.blobs})
	if err != nil {
		t.Fatal(err)
	}
	h.dash.Drain()
	four.client.Transport = handlerTransport{other}
	if r := four.get("/ui/jobs"); r.status != http.StatusSeeOther {
		t.Errorf("a session outlives its token: %d", r.status)
	}
}

func TestSignInsAreLimited(t *testing.T) {
	h := newHarness(t)
	p := h.stranger()
	limited := 0
	for range 15 {
		r := p.post("/ui/login", url.Values{"token": {"guess"}})
		if r.status == http.StatusTooManyRequests {
			limited++
			if r.header.Get("Retry-After") == "" {
				t.Error("429 without Retry-After")
			}
		}
	}
	if limited != 5 {
		t.Errorf("%d of 15 wrong guesses were turned away, want 5", limited)
	}
	if r := p.post("/ui/login", url.Values{"token": {operatorToken}}); r.status != http.StatusTooManyRequests {
		t.Errorf("the right token during the limit: %d, want 429", r.status)
	}
}

func TestRequestsOfOtherOriginsAndHostsAreRefused(t *testing.T) {
	h := newHarness(t, func(c *web.Config) { c.PublicURL = "https://scimesh.example.org" })
	storetest.MakeRunningJob(t, h.store, "j", 1)
	p := h.operator()
	for name, header := range map[string][]string{
		"another origin":            {"Origin", "https://evil.example"},
		"an opaque origin":          {"Origin", "null"},
		"another site":              {"Sec-Fetch-Site", "cross-site"},
		"another host of the site":  {"Sec-Fetch-Site", "same-site"},
		"another port of this host": {"Origin", "http://127.0.0.1:1"},
	} {
		if r := p.post("/ui/jobs/j/cancel", nil, header...); r.status != http.StatusForbidden {
			t.Errorf("%s: %d, want 403", name, r.status)
		}
	}
	for host, want := range map[string]int{
		"evil.example": http.StatusMisdirectedRequest, "127.0.0.1.evil.example": http.StatusMisdirectedRequest, "": http.StatusOK,
		"scimesh.example.org": http.StatusOK, "SCIMESH.example.org.:443": http.StatusOK, "localhost:8080": http.StatusOK, "[::1]:8080": http.StatusOK,
	} {
		if r := p.get("/ui/login", "Host", host); r.status != want {
			t.Errorf("host %q: %d, want %d", host, r.status, want)
		}
	}
	if j, err := h.store.GetJob(t.Context(), "j"); err != nil || !j.CancelRequestedAt.IsZero() {
		t.Errorf("a foreign page cancelled the job: %v %v", j.CancelRequestedAt, err)
	}
	if r := p.post("/ui/jobs/j/cancel", nil, "Origin", h.url); r.status != http.StatusSeeOther {
		t.Errorf("this very origin: %d", r.status)
	}
}

func TestTheNextPageIsOurs(t *testing.T) {
	h := newHarness(t)
	for _, next := range []string{"https://evil.example/", "//evil.example/ui/", `/ui/\evil.example`, "/jobs", "javascript:alert(1)", "/ui/api/x", "/ui"} {
		r := h.stranger().post("/ui/login", url.Values{"token": {operatorToken}, "next": {next}})
		if got := r.header.Get("Location"); got != "/ui/" {
			t.Errorf("next %q leads to %q", next, got)
		}
	}
}

var (
	inline   = regexp.MustCompile(`(?i)\son[a-z]+\s*=|<style|\sstyle\s*=|javascript:|<script(?:[^>]*)>[^<]`)
	foreign  = regexp.MustCompile(`(?i)(?:src|href|action)="(?:https?:)?//`)
	unsafeIn = []string{"unsafe-inline", "unsafe-eval", "*"}
)

// Whatever users and workers write, a page holds no code of theirs, and the
// policy would not run it.
func TestHostileTextsAreInert(t *testing.T) {
	h := newHarness(t)
	csv := "rank,chembl_id,canonical_smiles,similarity\r\n1,\"" + strings.ReplaceAll(hostile, `"`, `""`) + "\",\"C" + strings.ReplaceAll(hostile, `"`, `""`) + "\",0.500000\r\n"
	j := h.completed("j", csv, func(p *store.CreateJobParams) {
		p.Labels = map[string]string{"k": hostile}
		p.Annotations = map[string]string{"note": hostile}
		p.Spec.Parameters = jsonOf(t, map[string]any{"query_smiles": hostile, "query_id": hostile, "top_k": 5})
	})
	w := storetest.MakeWorker(t, h.store, hostile, func(p *store.RegisterWorkerParams) {
		p.Engine, p.Capabilities = hostile, []string{hostile, storetest.Workload}
	})
	file := storetest.File(hostile+".tsv", "x")
	file.ContentType = "text/html"
	a, err := h.store.CreateArtifact(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	storetest.MakeRunningJob(t, h.store, "failing", 1, func(p *store.CreateJobParams) { p.Spec.MaxAttempts = 1 })
	task := storetest.Claim(t, h.store, w)
	if err := h.store.AppendLog(t.Context(), store.AppendLogParams{Lease: task.Lease, Body: []byte(hostile)}); err != nil {
		t.Fatal(err)
	}
	if _, err := h.store.FailTask(t.Context(), store.FailTaskParams{Lease: task.Lease, Code: "Broken", Message: hostile}); err != nil {
		t.Fatal(err)
	}
	p := h.operator()
	for _, path := range append(h.pages("failing", w.ID.String(), a.ID.String()), "/ui/jobs/j", "/ui/jobs/j/result", "/ui/new?from=j") {
		r := p.get(path)
		if r.status != http.StatusOK {
			t.Errorf("GET %s: %d", path, r.status)
		}
		if strings.Contains(r.body, "<img src=x") || strings.Contains(r.body, "<script>alert") {
			t.Errorf("GET %s holds hostile markup", path)
		}
		checkPolicy(t, path, r)
	}
	if body := p.page("/ui/jobs/failing/tasks/0"); strings.Count(body, "onerror=alert(1)&gt;") < 2 {
		t.Error("log and error of the task are not shown as they are")
	}
	if r := p.get("/ui/api/artifacts/" + j.Result.Artifact.String() + "/download"); r.status != http.StatusOK || r.body != csv ||
		!strings.HasPrefix(r.header.Get("Content-Disposition"), "attachment") || !strings.Contains(r.header.Get("Content-Security-Policy"), "sandbox") {
		t.Errorf("download: %d %v", r.status, r.header)
	}
}

func checkPolicy(t *testing.T, path string, r answer) {
	t.Helper()
	policy := r.header.Get("Content-Security-Policy")
	for _, bad := range unsafeIn {
		if policy == "" || strings.Contains(policy, bad) {
			t.Errorf("GET %s: policy %q", path, policy)
		}
	}
	// Texts cannot hold a tag any more, so what looks like an attribute here is one.
	markup := regexp.MustCompile(`<[a-zA-Z][^>]*>[^<]?`).FindAllString(r.body, -1)
	for _, tag := range markup {
		attributes := regexp.MustCompile(`"[^"]*"`).ReplaceAllString(tag, `""`)
		if inline.MatchString(attributes) || foreign.MatchString(tag) {
			t.Errorf("GET %s holds inline code or a foreign address: %s", path, tag)
		}
	}
}

func TestExportsHoldNoFormula(t *testing.T) {
	h := newHarness(t)
	for i, value := range []string{`=HYPERLINK("http://x")`, "+1", "-1", "@SUM(A1)", "\tx", "plain"} {
		storetest.MakeJob(t, h.store, "j"+string(rune('0'+i)), func(p *store.CreateJobParams) { p.Labels = map[string]string{value: "v"} })
	}
	r := h.operator().get("/ui/jobs.csv")
	for line := range strings.Lines(r.body) {
		for cell := range strings.SplitSeq(strings.ReplaceAll(line, `"`, ""), ",") {
			if cell != "" && strings.ContainsAny(cell[:1], "=+-@\t") {
				t.Errorf("cell %q begins a formula", cell)
			}
		}
	}
	if n := strings.Count(r.body, "'"); n != 5 || !strings.Contains(r.body, "plain=v") {
		t.Errorf("%d cells are quoted, want 5:\n%s", n, r.body)
	}
}
