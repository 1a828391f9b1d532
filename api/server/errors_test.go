package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/api/wire"
	"scimesh.dev/scimesh/artifacts"
	"scimesh.dev/scimesh/store"
	"scimesh.dev/scimesh/workloads"
)

func errorAs[T error](err error, target *T) bool { return errors.As(err, target) }

func TestClassify(t *testing.T) {
	tests := map[string]struct {
		err     error
		status  int
		code    wire.ErrorCode
		message string
	}{
		"lease lost":        {fmt.Errorf("x: %w", store.ErrLeaseLost), 409, wire.CodeLeaseLost, "the lease on this task is not held by this worker and attempt"},
		"immutable fields":  {fmt.Errorf("x: %w", &store.ImmutableError{Fields: []string{"spec.workload", "spec.input"}}), 409, wire.CodeConflict, "spec.workload: field is immutable; spec.input: field is immutable"},
		"field":             {fmt.Errorf("x: %w", &store.FieldError{Field: "spec.input.sha256", Message: "no uploaded input has this SHA-256"}), 400, wire.CodeInvalidRequest, "spec.input.sha256: no uploaded input has this SHA-256"},
		"conflict":          {fmt.Errorf("%w: no", store.ErrConflict), 409, wire.CodeConflict, "conflict: no"},
		"unavailable":       {fmt.Errorf("x: %w", store.ErrUnavailable), 503, wire.CodeUnavailable, "the database cannot be reached now"},
		"checksum":          {artifacts.ErrDigestMismatch, 400, wire.CodeInvalidRequest, "the bytes received do not have the SHA-256 announced"},
		"disk full":         {artifacts.ErrNoSpace, 507, wire.CodeInsufficientStorage, "no space left in the artifact store"},
		"too large":         {&http.MaxBytesError{Limit: 5}, 413, wire.CodeTooLarge, "the body exceeds 5 bytes"},
		"slow body":         {fmt.Errorf("read: %w", os.ErrDeadlineExceeded), 408, wire.CodeTimeout, "the body did not arrive in time"},
		"deadline":          {context.DeadlineExceeded, 503, wire.CodeUnavailable, "the request took too long"},
		"database's text":   {errors.New(`ERROR: relation "jobs" does not exist (SQLSTATE 42P01)`), 500, wire.CodeInternal, "internal error"},
		"path of a machine": {&os.PathError{Op: "open", Path: "/srv/blobs/x", Err: os.ErrPermission}, 500, wire.CodeInternal, "internal error"},
		"corrupt blob":      {artifacts.ErrCorrupt, 500, wire.CodeInternal, "internal error"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			e := classify(tc.err)
			if e.status != tc.status || e.code != tc.code || e.message != tc.message {
				t.Errorf("got %d %s %q", e.status, e.code, e.message)
			}
			if e.status == http.StatusServiceUnavailable && e.retryAfter == 0 {
				t.Error("no Retry-After")
			}
		})
	}
}

func TestEveryCodeHasItsStatus(t *testing.T) {
	for code, status := range statusOf {
		if !code.Valid() || status < 400 {
			t.Errorf("%s has status %d", code, status)
		}
	}
}

func TestInvalidRequests(t *testing.T) {
	h := newHarness(t)
	_, l := h.running("a")
	lease := fmt.Sprintf(`"worker_id":%q,"attempt":1`, l.Worker)
	task := "/tasks/" + l.Task.String()
	job := func(edit string) string {
		base := `{"apiVersion":"scimesh.dev/v1","kind":"Job","metadata":{"name":"x"},"spec":{"workload":"similarity-search","input":{"sha256":"` + digestOf(inputTSV) + `"},"parameters":{"query_smiles":"CCO"}}}`
		old, replacement, _ := strings.Cut(edit, "=>")
		if !strings.Contains(base, old) {
			t.Fatalf("%s is not in the job", old)
		}
		return strings.Replace(base, old, replacement, 1)
	}
	tests := map[string]struct {
		method, path, body string
		want               []string // fields; nil if the body as a whole is at fault
	}{
		"not JSON":                        {"POST", "/tasks/claim", `{"worker_id":`, []string{""}},
		"empty":                           {"POST", "/tasks/claim", ``, nil},
		"white space":                     {"POST", "/tasks/claim", "  \n", nil},
		"trailing JSON":                   {"POST", task + "/heartbeat", `{` + lease + `} {}`, []string{""}},
		"null":                            {"POST", task + "/heartbeat", `null`, []string{"worker_id", "attempt"}},
		"an array":                        {"POST", task + "/heartbeat", `[]`, []string{""}},
		"not UTF-8":                       {"POST", task + "/heartbeat", "{\"\xff\":1}", nil},
		"unknown field":                   {"POST", task + "/heartbeat", `{` + lease + `,"progres":0.5}`, []string{"progres"}},
		"unknown nested field":            {"POST", task + "/result", `{` + lease + `,"result":{"artefact_id":"x"}}`, []string{"result.artefact_id"}},
		"a field twice":                   {"POST", task + "/heartbeat", `{` + lease + `,"attempt":1}`, []string{"attempt"}},
		"wrong case":                      {"POST", task + "/heartbeat", `{` + lease + `,"Progress":0.5}`, []string{"Progress"}},
		"wrong types":                     {"POST", task + "/heartbeat", `{"worker_id":"x","attempt":"1"}`, []string{"attempt", "worker_id"}},
		"attempt 0":                       {"POST", task + "/heartbeat", fmt.Sprintf(`{"worker_id":%q,"attempt":0}`, l.Worker), []string{"attempt"}},
		"progress 2":                      {"POST", task + "/heartbeat", `{` + lease + `,"progress":2}`, []string{"progress"}},
		"register nothing":                {"POST", "/workers/register", `{}`, []string{"name", "capabilities", "cpu_count", "memory_mb"}},
		"register badly":                  {"POST", "/workers/register", `{"name":"a\nb","capabilities":[""],"cpu_count":-1,"memory_mb":0,"engine":"\u0000"}`, []string{"name", "capabilities[0]", "engine", "cpu_count", "memory_mb"}},
		"claim for too long":              {"POST", "/tasks/claim", fmt.Sprintf(`{"worker_id":%q,"capabilities":["a"],"wait_seconds":31,"cached_inputs":["x"]}`, l.Worker), []string{"wait_seconds", "cached_inputs[0]"}},
		"claim of nothing":                {"POST", "/tasks/claim", fmt.Sprintf(`{"worker_id":%q,"capabilities":[]}`, l.Worker), []string{"capabilities"}},
		"failure with a sentence as code": {"POST", task + "/failure", `{` + lease + `,"error_code":"no good","error_message":"x"}`, []string{"error_code"}},
		"failure too long":                {"POST", task + "/failure", `{` + lease + `,"error_code":"E","error_message":"` + strings.Repeat("x", 4097) + `"}`, []string{"error_message"}},
		"metrics that are a list":         {"POST", task + "/result", `{` + lease + `,"result":{},"metrics":[1]}`, []string{"result.artifact_id", "result.sha256", "metrics"}},
		"metrics with a zero character":   {"POST", task + "/result", `{` + lease + `,"result":{},"metrics":{"a":"\u0000"}}`, []string{"result.artifact_id", "result.sha256", "metrics"}},
		"metrics too large":               {"POST", task + "/result", `{` + lease + `,"result":{},"metrics":{"a":"` + strings.Repeat("x", 17<<10) + `"}}`, []string{"result.artifact_id", "result.sha256", "metrics"}},
		"a task id that is none":          {"POST", "/tasks/nonsense/heartbeat", `{` + lease + `}`, []string{"task_id"}},

		"unknown workload":           {"POST", "/jobs", job(`similarity-search=>similarity-serach`), []string{"spec.workload"}},
		"unknown parameter":          {"POST", "/jobs", job(`query_smiles=>query_smile`), []string{"spec.parameters.query_smile"}},
		"unknown fields everywhere":  {"POST", "/jobs", job(`"spec":{=>"spce":1,"spec":{"maxAtempts":2,`), []string{"spce", "spec.maxAtempts"}},
		"a thousand million tries":   {"POST", "/jobs", job(`"spec":{=>"spec":{"maxAttempts":1000000000,`), []string{"spec.maxAttempts"}},
		"a checksum too short":       {"POST", "/jobs", job(digestOf(inputTSV) + `=>abc`), []string{"spec.input.sha256"}},
		"an input not uploaded":      {"POST", "/jobs", job(digestOf(inputTSV) + `=>` + digestOf("nothing")), []string{"spec.input.sha256"}},
		"a path":                     {"POST", "/jobs", job(`"sha256"=>"path"`), []string{"spec.input.path"}},
		"a file URI":                 {"POST", "/jobs", job(`"sha256":"` + digestOf(inputTSV) + `"=>"chunks":[{"uri":"file:///etc/passwd","sha256":"x"}]`), []string{"spec.input.chunks[0].uri", "spec.input.chunks[0].sha256"}},
		"a link-local URI":           {"POST", "/jobs", job(`"sha256":"` + digestOf(inputTSV) + `"=>"chunks":[{"uri":"http://169.254.169.254/","sha256":"` + digestOf("") + `"}]`), []string{"spec.input.chunks[0].uri"}},
		"another name than the path": {"PUT", "/jobs/y", job(`"x"=>"z"`), []string{"metadata.name"}},
		"a dry run of half":          {"PUT", "/jobs/x?dryRun=Some", job(`"x"=>"x"`), []string{"dryRun"}},

		"limit 0":             {"GET", "/jobs?limit=0", "", []string{"limit"}},
		"limit too large":     {"GET", "/jobs?limit=1001", "", []string{"limit"}},
		"limit of letters":    {"GET", "/jobs?limit=ten", "", []string{"limit"}},
		"unknown phase":       {"GET", "/jobs?phase=done", "", []string{"phase"}},
		"malformed selector":  {"GET", "/jobs?labelSelector=a%20in", "", []string{"labelSelector"}},
		"foreign continue":    {"GET", "/jobs?continue=%21%21", "", []string{"continue"}},
		"malformed query":     {"GET", "/jobs?a=%zz", "", nil},
		"zero byte in a name": {"GET", "/jobs/a%00b", "", nil},
		"not UTF-8 in a name": {"GET", "/jobs/%ff", "", nil},
		"event continue":      {"GET", "/events?continue=x", "", []string{"continue"}},
		"digest of artifacts": {"GET", "/artifacts?sha256=ABC", "", []string{"sha256"}},
		"unknown kind":        {"GET", "/artifacts?kind=shards", "", []string{"kind"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			contentType := "application/json"
			if tc.method == "GET" {
				contentType = ""
			}
			status, body, _ := h.do(operatorToken, tc.method, tc.path, contentType, tc.body)
			if status != http.StatusBadRequest {
				t.Fatalf("answered with %d %s", status, body)
			}
			e := decodeError(t, body)
			var fields []string
			for _, d := range e.Error.Details {
				fields = append(fields, d.Field)
			}
			if diff := cmp.Diff(tc.want, fields); diff != "" {
				t.Errorf("fields (-want +got):\n%s\n%s", diff, body)
			}
		})
	}
}

func decodeError(t *testing.T, body string) wire.ErrorResponse {
	t.Helper()
	var e wire.ErrorResponse
	if err := v1.UnmarshalStrict([]byte(body), &e); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	return e
}

func TestUnknownParameterSuggestsTheRightOne(t *testing.T) {
	h := newHarness(t)
	h.upload(inputTSV)
	y := strings.NewReplacer("NAME", "a", "SHA256", digestOf(inputTSV), "top_k", "topk").Replace(jobYAML)
	status, body, _ := h.do(operatorToken, "POST", "/jobs", "application/yaml", y)
	if want := "spec.parameters.topk: unknown field; did you mean top_k?"; status != 400 || !strings.Contains(body, want) {
		t.Errorf("%d %s, want %s", status, body, want)
	}
}

func TestAuthorization(t *testing.T) {
	h := newHarness(t)
	tests := map[string]struct {
		header, method, path string
		want                 int
	}{
		"no token":                   {"", "GET", "/jobs", 401},
		"an unknown token":           {"Bearer nonsense", "GET", "/jobs", 401},
		"a prefix of the token":      {"Bearer " + operatorToken[:8], "GET", "/jobs", 401},
		"the token and more":         {"Bearer " + operatorToken + "x", "GET", "/jobs", 401},
		"another scheme":             {"Basic " + operatorToken, "GET", "/jobs", 401},
		"a worker's token for jobs":  {"Bearer " + workerToken, "GET", "/jobs", 403},
		"a worker's token for tasks": {"Bearer " + workerToken, "POST", "/tasks/claim", 415},
		"the operator's token":       {"Bearer " + operatorToken, "GET", "/jobs", 200},
		"lower case scheme":          {"bearer " + operatorToken, "GET", "/jobs", 200},
		"the operator for workers":   {"Bearer " + operatorToken, "POST", "/tasks/claim", 415},
		"health needs none":          {"", "GET", "/healthz", 200},
		"metrics need none":          {"", "GET", "/metrics", 200},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			status, body, header := h.do("", tc.method, tc.path, "", "", "Authorization", tc.header)
			if status != tc.want {
				t.Errorf("answered with %d %s, want %d", status, body, tc.want)
			}
			if status == 401 && header.Get("WWW-Authenticate") == "" {
				t.Error("no WWW-Authenticate")
			}
		})
	}
}

func TestOneTokenServesBoth(t *testing.T) {
	h := newHarness(t, func(c *Config) { c.WorkerToken = "" })
	for _, path := range []string{"/jobs", "/workers"} {
		if status, body, _ := h.do(operatorToken, "GET", path, "", ""); status != 200 {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	if status, _, _ := h.do(workerToken, "GET", "/jobs", "", ""); status != 401 {
		t.Errorf("a token that was not configured gets %d", status)
	}
}

func TestRoutingErrors(t *testing.T) {
	h := newHarness(t)
	tests := map[string]struct {
		method, path, contentType string
		want                      int
		code                      wire.ErrorCode
	}{
		"unknown path":          {"GET", "/nothing", "", 404, wire.CodeNotFound},
		"unknown version":       {"GET", "/v2/jobs", "", 404, wire.CodeNotFound},
		"method":                {"PATCH", "/jobs", "", 405, wire.CodeMethodNotAllowed},
		"method under v1":       {"DELETE", "/v1/tasks/claim", "", 405, wire.CodeMethodNotAllowed},
		"unknown job":           {"GET", "/jobs/nothing", "", 404, wire.CodeNotFound},
		"unknown task":          {"GET", "/tasks/nothing-0", "", 404, wire.CodeNotFound},
		"unknown artifact":      {"GET", "/artifacts/01938f3e-5a5f-7c9d-8d3e-1f2a3b4c5d6e/download", "", 404, wire.CodeNotFound},
		"unknown worker":        {"GET", "/workers/01938f3e-5a5f-7c9d-8d3e-1f2a3b4c5d6e", "", 404, wire.CodeNotFound},
		"unknown workload":      {"GET", "/workloads/nothing", "", 404, wire.CodeNotFound},
		"cancel of an unknown":  {"POST", "/jobs/nothing/cancel", "", 404, wire.CodeNotFound},
		"delete of an unknown":  {"DELETE", "/jobs/nothing", "", 404, wire.CodeNotFound},
		"a form instead":        {"POST", "/tasks/claim", "application/x-www-form-urlencoded", 415, wire.CodeUnsupportedMediaType},
		"another character set": {"POST", "/tasks/claim", "application/json; charset=latin1", 415, wire.CodeUnsupportedMediaType},
		"no type":               {"POST", "/jobs", "", 415, wire.CodeUnsupportedMediaType},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			status, body, _ := h.do(operatorToken, tc.method, tc.path, tc.contentType, "")
			if e := decodeError(t, body); status != tc.want || e.Error.Code != tc.code || e.RequestID == "" {
				t.Errorf("answered with %d %s, want %d %s", status, body, tc.want, tc.code)
			}
		})
	}
}

func TestRequestIDs(t *testing.T) {
	h := newHarness(t)
	for given, kept := range map[string]bool{"abc-123:x.y_z": true, "": false, "a b": false, strings.Repeat("a", 129): false, "<script>": false} {
		_, body, header := h.do(operatorToken, "GET", "/jobs/nothing", "", "", "X-Request-ID", given)
		id := header.Get("X-Request-ID")
		if (id == given) != kept || decodeError(t, body).RequestID != id || !strings.Contains(h.logs.String(), `"request_id":"`+id+`"`) {
			t.Errorf("request id %q became %q: %s", given, id, body)
		}
	}
}

// brokenStore panics or fails with a text that must stay inside.
type brokenStore struct {
	Store
	err error
}

func (b brokenStore) GetJob(context.Context, string) (store.Job, error) {
	if b.err == nil {
		panic("secret of the database")
	}
	return store.Job{}, b.err
}

func TestInternalErrorsTellNothing(t *testing.T) {
	for name, err := range map[string]error{"panic": nil, "error": errors.New("secret of the database")} {
		t.Run(name, func(t *testing.T) {
			logs := &syncBuffer{}
			s, newErr := New(Config{OperatorToken: operatorToken}, Deps{Store: brokenStore{err: err}, Workloads: workloads.NewRegistry(), Logger: zap.New(jsonCore(logs))})
			if newErr != nil {
				t.Fatal(newErr)
			}
			w := httptest.NewRecorder()
			r := httptest.NewRequest("GET", "/jobs/a", nil)
			r.Header.Set("Authorization", "Bearer "+operatorToken)
			s.ServeHTTP(w, r)
			if w.Code != 500 || strings.Contains(w.Body.String(), "secret") || decodeError(t, w.Body.String()).Error.Code != wire.CodeInternal {
				t.Errorf("answered with %d %s", w.Code, w.Body)
			}
			if !strings.Contains(logs.String(), "secret of the database") {
				t.Errorf("the log does not tell the cause: %s", logs)
			}
		})
	}
}
