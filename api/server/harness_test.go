package server

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/legacy"
	"github.com/google/uuid"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"scimesh.dev/scimesh/api"
	"scimesh.dev/scimesh/api/client"
	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/api/wire"
	"scimesh.dev/scimesh/artifacts"
	"scimesh.dev/scimesh/artifacts/filesystem"
	"scimesh.dev/scimesh/artifacts/inrow"
	"scimesh.dev/scimesh/store"
	"scimesh.dev/scimesh/store/storetest"
	"scimesh.dev/scimesh/workloads"
	"scimesh.dev/scimesh/workloads/similaritysearch"
)

const (
	operatorToken = "operator-token-8f3a"
	workerToken   = "worker-token-51c7"
	inputTSV      = "chembl_id\tcanonical_smiles\nC1\tCCO\nC2\tCCN\nC3\tc1ccccc1\n"
	jobYAML       = `
apiVersion: scimesh.dev/v1
kind: Job
metadata: {name: NAME, labels: {target: EGFR}}
spec:
  workload: similarity-search
  input: {sha256: SHA256}
  parameters: {query_smiles: CCO, top_k: 2}
`
)

// harness is a coordinator's API on a real port, with a real database and real files.
type harness struct {
	t       *testing.T
	url     string
	server  *Server
	store   *store.Store
	blobs   *filesystem.Store
	blobDir string
	logs    *syncBuffer
	// operator and worker speak with one token each; what they get is
	// compared with openapi.yaml.
	operator, worker *client.Client
	http             *http.Client
}

// newHarness starts a coordinator's API. Options change its configuration.
func newHarness(t *testing.T, options ...func(*Config)) *harness {
	t.Helper()
	h := &harness{t: t, blobDir: t.TempDir(), logs: &syncBuffer{}}
	h.store = storetest.New(t)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = h.store.Run(ctx) }()
	t.Cleanup(func() { stop(); <-done })

	var err error
	if h.blobs, err = filesystem.New(h.blobDir, filesystem.Options{}); err != nil {
		t.Fatal(err)
	}
	cfg := Config{
		OperatorToken: operatorToken, WorkerToken: workerToken, PollInterval: 20 * time.Millisecond,
		Version: wire.Version{Version: "v0.0.0-test", Go: "go1.26", Schema: 1},
	}
	for _, option := range options {
		option(&cfg)
	}
	h.server, err = New(cfg, Deps{
		Store: h.store, Artifacts: inrow.Store{Store: h.blobs, Rows: h.store}, Workloads: workloads.NewRegistry(similaritysearch.New()),
		Controllers: func() []v1.ControllerStatus { return []v1.ControllerStatus{{Name: "planner"}} },
		Logger:      zap.New(jsonCore(h.logs)),
	})
	if err != nil {
		t.Fatal(err)
	}
	h.serve()
	conform := newConformance(t)
	h.http = &http.Client{Transport: conform}
	h.operator = h.client(operatorToken, conform)
	h.worker = h.client(workerToken, conform)
	return h
}

func (h *harness) serve() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		h.t.Fatal(err)
	}
	h.url = "http://" + listener.Addr().String()
	srv := h.server.HTTPServer("")
	go func() { _ = srv.Serve(listener) }()
	h.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := srv.Shutdown(ctx); err != nil {
			h.t.Errorf("shutdown: %v", err)
		}
	})
}

func (h *harness) client(token string, rt http.RoundTripper) *client.Client {
	c, err := client.New(h.url, token, client.Options{Transport: rt, Retry: client.NoRetry})
	if err != nil {
		h.t.Fatal(err)
	}
	return c
}

// conformance compares every response with openapi.yaml.
type conformance struct {
	t      *testing.T
	router routers.Router
}

func newConformance(t *testing.T) *conformance {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromData(api.OpenAPI)
	if err != nil {
		t.Fatal(err)
	}
	router, err := legacy.NewRouter(doc)
	if err != nil {
		t.Fatal(err)
	}
	return &conformance{t: t, router: router}
}

// RoundTrip sends a request and checks its response. Streams are checked as
// to their head alone.
func (c *conformance) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if resp.Header.Get("X-Request-ID") == "" {
		c.t.Errorf("%s %s: the response has no X-Request-ID", req.Method, req.URL.Path)
	}
	find := req.Clone(context.Background())
	find.URL.Host, find.URL.Scheme, find.Host = "", "", ""
	find.URL.Path = strings.TrimPrefix(find.URL.Path, apiPrefix)
	route, params, err := c.router.FindRoute(find)
	if err != nil {
		if resp.StatusCode != http.StatusNotFound && resp.StatusCode != http.StatusMethodNotAllowed && resp.StatusCode != http.StatusTemporaryRedirect {
			c.t.Errorf("%s %s: not in openapi.yaml, but answered with %d", req.Method, req.URL.Path, resp.StatusCode)
		}
		return resp, nil
	}
	isJSON := resp.Header.Get("Content-Type") == "application/json"
	var body []byte
	if isJSON {
		if body, err = io.ReadAll(resp.Body); err != nil {
			return nil, err
		}
		_ = resp.Body.Close()
		resp.Body = io.NopCloser(bytes.NewReader(body))
	}
	err = openapi3filter.ValidateResponse(context.Background(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: req, PathParams: params, Route: route},
		Status:                 resp.StatusCode, Header: resp.Header, Body: io.NopCloser(bytes.NewReader(body)),
		Options: &openapi3filter.Options{IncludeResponseStatus: true, ExcludeResponseBody: !isJSON},
	})
	if err != nil {
		c.t.Errorf("%s %s answered with %d, which openapi.yaml does not admit: %v\n%s", req.Method, req.URL.Path, resp.StatusCode, err, body)
	}
	return resp, nil
}

// do sends a request of any kind with a token, "" for none.
func (h *harness) do(token, method, path, contentType, body string, headers ...string) (int, string, http.Header) {
	h.t.Helper()
	req, err := http.NewRequest(method, h.url+path, strings.NewReader(body))
	if err != nil {
		h.t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := h.http.Do(req)
	if err != nil {
		h.t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		h.t.Fatal(err)
	}
	return resp.StatusCode, string(data), resp.Header
}

// upload stores the test's input and returns its digest.
func (h *harness) upload(content string) string {
	h.t.Helper()
	a, err := h.operator.UploadArtifact(h.t.Context(), client.Upload{Filename: "input.tsv", Body: strings.NewReader(content), Size: int64(len(content))})
	if err != nil {
		h.t.Fatal(err)
	}
	return a.Spec.SHA256
}

// job creates a Job that is not yet planned.
func (h *harness) job(name string) v1.Job {
	h.t.Helper()
	j, err := v1.DecodeJob([]byte(strings.NewReplacer("NAME", name, "SHA256", h.upload(inputTSV)).Replace(jobYAML)))
	if err != nil {
		h.t.Fatal(err)
	}
	j, op, err := h.operator.ApplyJob(h.t.Context(), j, false)
	if err != nil || op != v1.OperationCreated {
		h.t.Fatalf("apply: %v, %v", op, err)
	}
	return j
}

func (h *harness) put(content string) store.FileRef {
	h.t.Helper()
	b, err := artifacts.Put(h.t.Context(), h.blobs, strings.NewReader(content), artifacts.PutOptions{})
	if err != nil {
		h.t.Fatal(err)
	}
	return store.FileRef{Filename: "file.tsv", ContentType: "text/tab-separated-values", SHA256: b.SHA256, SizeBytes: b.SizeBytes}
}

// plan cuts a Job into one task for each shard, as the planner would.
func (h *harness) plan(j v1.Job, shards ...string) {
	h.t.Helper()
	_, token, err := h.store.AcquireJobStep(h.t.Context(), store.AcquireStepParams{
		Job: j.Metadata.UID, From: []v1.JobPhase{v1.JobCreated}, To: v1.JobPlanning, Owner: uuid.New(), TTL: time.Minute,
	})
	if err != nil {
		h.t.Fatal(err)
	}
	p := store.FinishPlanningParams{Shared: json.RawMessage(`{"query_smiles":"CCO","top_k":2}`), RowsRead: 3}
	for _, s := range shards {
		ref := h.put(s)
		p.Tasks = append(p.Tasks, store.PlannedTask{Input: &ref, SHA256: ref.SHA256})
	}
	if err := h.store.FinishPlanning(h.t.Context(), token, p); err != nil {
		h.t.Fatal(err)
	}
}

// reduce ends a Job whose tasks have completed, as the reducer would.
func (h *harness) reduce(j v1.Job, result string) {
	h.t.Helper()
	_, token, err := h.store.AcquireJobStep(h.t.Context(), store.AcquireStepParams{
		Job: j.Metadata.UID, From: []v1.JobPhase{v1.JobRunning}, To: v1.JobReducing, Owner: uuid.New(), TTL: time.Minute,
	})
	if err != nil {
		h.t.Fatal(err)
	}
	ref := h.put(result)
	ref.Filename, ref.ContentType = "result.csv", "text/csv"
	err = h.store.FinishReduce(h.t.Context(), token, store.FinishReduceParams{Result: ref, Rows: 2, Ledger: v1.Ledger{RowsRead: 3, Scored: 3}})
	if err != nil {
		h.t.Fatal(err)
	}
}

// register registers a worker.
func (h *harness) register(name string) uuid.UUID {
	h.t.Helper()
	r, err := h.worker.RegisterWorker(h.t.Context(), wire.RegisterRequest{
		Name: name, Capabilities: []string{"similarity-search"}, CPUCount: 2, MemoryMB: 1024,
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return r.WorkerID
}

// claim claims a task that must be there.
func (h *harness) claim(worker uuid.UUID) (*wire.ClaimedTask, client.Lease) {
	h.t.Helper()
	t, err := h.worker.ClaimTask(h.t.Context(), wire.ClaimRequest{WorkerID: worker, Capabilities: []string{"similarity-search"}, MaxConcurrency: 1, WaitSeconds: 10})
	if err != nil {
		h.t.Fatal(err)
	}
	if t == nil {
		h.t.Fatal("there is no task to claim")
	}
	return t, client.Lease{Task: t.TaskID, Worker: worker, Attempt: t.Attempt}
}

// running is a Job with one task, claimed by a worker.
func (h *harness) running(name string) (*wire.ClaimedTask, client.Lease) {
	h.t.Helper()
	j := h.job(name)
	h.plan(j, "shard of "+name)
	t, l := h.claim(h.register("worker of " + name))
	return t, l
}

// uploadResult uploads a partial result.
func (h *harness) uploadResult(l client.Lease, content string) (wire.UploadedArtifact, error) {
	return h.worker.UploadTaskArtifact(h.t.Context(), l, client.Upload{
		Filename: "partial.csv", ContentType: "text/csv", Body: strings.NewReader(content), Size: int64(len(content)), SHA256: digestOf(content),
	})
}

func manifestOf(a wire.UploadedArtifact) wire.ResultManifest {
	return wire.ResultManifest{ArtifactID: a.ArtifactID, URI: a.URI, SHA256: a.SHA256, ContentType: "text/csv"}
}

func digestOf(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

// wantError checks the category and the code of an error of the client.
func wantError(t *testing.T, err error, status int, code wire.ErrorCode) {
	t.Helper()
	_ = wantDetails(t, err, status, code)
}

// wantDetails is wantError for one whose details matter.
func wantDetails(t *testing.T, err error, status int, code wire.ErrorCode) *client.Error {
	t.Helper()
	e, ok := errors.AsType[*client.Error](err)
	if !ok {
		t.Fatalf("error is %v, want %d %s", err, status, code)
	}
	if e.Status != status || e.Code != code || e.RequestID == "" || e.Message == "" {
		t.Fatalf("error is %d %s %q (request %q), want %d %s", e.Status, e.Code, e.Message, e.RequestID, status, code)
	}
	return e
}

// syncBuffer is a buffer that many may write to.
type syncBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *syncBuffer) Sync() error { return nil }

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// jsonCore logs everything as JSON.
func jsonCore(w zapcore.WriteSyncer) zapcore.Core {
	return zapcore.NewCore(zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig()), w, zapcore.DebugLevel)
}
