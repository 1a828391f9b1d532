package web_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"scimesh.dev/scimesh/api/server"
	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/artifacts"
	"scimesh.dev/scimesh/artifacts/filesystem"
	"scimesh.dev/scimesh/store"
	"scimesh.dev/scimesh/store/storetest"
	"scimesh.dev/scimesh/web"
	"scimesh.dev/scimesh/workloads"
	"scimesh.dev/scimesh/workloads/similaritysearch"
)

const (
	operatorToken = "operator-token-8f3a"
	workerToken   = "worker-token-51c7"
)

// harness is a dashboard beside an API, with a real database and real files.
type harness struct {
	t     *testing.T
	store *store.Store
	blobs *filesystem.Store
	dash  *web.Dashboard
	url   string
	// database is the connection string of the database.
	database string
}

func newHarness(t *testing.T, options ...func(*web.Config)) *harness {
	t.Helper()
	h := &harness{t: t, database: storetest.NewDatabase(t)}
	h.store = storetest.Open(t, h.database)
	var err error
	if h.blobs, err = filesystem.New(t.TempDir(), filesystem.Options{}); err != nil {
		t.Fatal(err)
	}
	registry := workloads.NewRegistry(similaritysearch.New())
	api, err := server.New(server.Config{OperatorToken: operatorToken, WorkerToken: workerToken},
		server.Deps{Store: h.store, Artifacts: h.blobs, Workloads: registry})
	if err != nil {
		t.Fatal(err)
	}
	cfg := web.Config{OperatorToken: operatorToken, PulseInterval: 20 * time.Millisecond, Version: "v0.0.0-test"}
	for _, option := range options {
		option(&cfg)
	}
	h.dash, err = web.New(cfg, web.Deps{
		Store: h.store, Artifacts: h.blobs, Workloads: registry, API: api, Logger: zap.NewNop(),
		Controllers: func() []v1.ControllerStatus { return []v1.ControllerStatus{{Name: "planner"}, {Name: "leasereaper"}} },
	})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(h.dash.Mount(api))
	h.url = srv.URL
	t.Cleanup(srv.Close)
	t.Cleanup(h.dash.Drain)
	return h
}

// blob stores the bytes of a file.
func (h *harness) blob(content string) artifacts.Blob {
	h.t.Helper()
	b, err := artifacts.Put(h.t.Context(), h.blobs, strings.NewReader(content), artifacts.PutOptions{})
	if err != nil {
		h.t.Fatal(err)
	}
	return b
}

// person is somebody with a browser's manners: cookies, and no redirect is followed unseen.
type person struct {
	h      *harness
	client *http.Client
}

func (h *harness) stranger() *person {
	jar, err := cookiejar.New(nil)
	if err != nil {
		h.t.Fatal(err)
	}
	return &person{h: h, client: &http.Client{Jar: jar, Timeout: time.Minute,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// operator is a person who is signed in.
func (h *harness) operator() *person {
	h.t.Helper()
	p := h.stranger()
	if r := p.post("/ui/login", url.Values{"token": {operatorToken}}); r.status != http.StatusSeeOther {
		h.t.Fatalf("sign-in: %d %s", r.status, r.body)
	}
	return p
}

// answer is a response that was read.
type answer struct {
	status int
	header http.Header
	body   string
}

func (p *person) get(path string, header ...string) answer {
	p.h.t.Helper()
	return p.do(http.MethodGet, path, nil, header...)
}

func (p *person) post(path string, form url.Values, header ...string) answer {
	p.h.t.Helper()
	return p.do(http.MethodPost, path, strings.NewReader(form.Encode()), append([]string{"Content-Type", "application/x-www-form-urlencoded"}, header...)...)
}

func (p *person) do(method, path string, body io.Reader, header ...string) answer {
	p.h.t.Helper()
	req, err := http.NewRequestWithContext(context.Background(), method, p.h.url+path, body)
	if err != nil {
		p.h.t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Host" {
			req.Host = header[i+1]
			continue
		}
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := p.client.Do(req)
	if err != nil {
		p.h.t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		p.h.t.Fatal(err)
	}
	return answer{resp.StatusCode, resp.Header, string(raw)}
}

// page gets a page that must be there and hold the texts.
func (p *person) page(path string, want ...string) string {
	p.h.t.Helper()
	a := p.get(path)
	if a.status != http.StatusOK {
		p.h.t.Fatalf("GET %s: %d\n%s", path, a.status, a.body)
	}
	for _, text := range want {
		if !strings.Contains(a.body, text) {
			p.h.t.Errorf("GET %s lacks %q", path, text)
		}
	}
	return a.body
}

// completed makes a Job that was computed: its result is the CSV.
func (h *harness) completed(name, csv string, options ...func(*store.CreateJobParams)) store.Job {
	h.t.Helper()
	j := storetest.MakeRunningJob(h.t, h.store, name, 1, options...)
	w := storetest.MakeWorker(h.t, h.store, "worker-of-"+name)
	storetest.Complete(h.t, h.store, storetest.Claim(h.t, h.store, w), "partial of "+name)
	_, token, err := h.store.AcquireJobStep(h.t.Context(), store.AcquireStepParams{
		Job: j.ID, From: []v1.JobPhase{v1.JobRunning}, To: v1.JobReducing, Owner: store.NewID(), TTL: time.Minute,
	})
	if err != nil {
		h.t.Fatal(err)
	}
	b := h.blob(csv)
	rows := int64(strings.Count(csv, "\n") - 1)
	err = h.store.FinishReduce(h.t.Context(), token, store.FinishReduceParams{
		Result: store.FileRef{Filename: "result.csv", ContentType: "text/csv", SHA256: b.SHA256, SizeBytes: b.SizeBytes},
		Rows:   rows, Ledger: v1.Ledger{RowsRead: 1, Scored: 1},
		Conditions: []v1.Condition{{Type: v1.JobConditionReduced, Status: v1.ConditionTrue, Reason: v1.ReasonReduced}},
	})
	if err != nil {
		h.t.Fatal(err)
	}
	if j, err = h.store.GetJobByID(h.t.Context(), j.ID); err != nil {
		h.t.Fatal(err)
	}
	return j
}

// jsonOf encodes a value that always can be.
func jsonOf(t *testing.T, v any) json.RawMessage {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// handlerTransport sends requests to a handler.
type handlerTransport struct{ handler http.Handler }

func (t handlerTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	r.RequestURI, r.RemoteAddr = r.URL.RequestURI(), "127.0.0.1:1234"
	t.handler.ServeHTTP(w, r)
	resp := w.Result()
	resp.Request = r
	return resp, nil
}

// idOf is the id of the job of that name.
func idOf(name string, jobs ...store.Job) uuid.UUID {
	for _, j := range jobs {
		if j.Name == name {
			return j.ID
		}
	}
	return uuid.Nil
}
