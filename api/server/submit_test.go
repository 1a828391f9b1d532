package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"scimesh.dev/scimesh/api/client"
	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/api/wire"
)

func TestApply(t *testing.T) {
	h := newHarness(t)
	ctx := t.Context()
	j := h.job("a")
	apply := func(edit func(*v1.Job), dryRun bool) (v1.Job, v1.Operation, error) {
		changed := j
		changed.Metadata.Labels = map[string]string{"target": "EGFR"}
		edit(&changed)
		return h.operator.ApplyJob(ctx, changed, dryRun)
	}
	if got, op, err := apply(func(*v1.Job) {}, false); err != nil || op != v1.OperationUnchanged || got.Metadata.Generation != 1 {
		t.Errorf("the same again: %s, generation %d, %v", op, got.Metadata.Generation, err)
	}
	if got, op, err := apply(func(j *v1.Job) { j.Spec.Priority = 7 }, true); err != nil || op != v1.OperationConfigured || got.Spec.Priority != 7 {
		t.Errorf("dry run: %s, %+v, %v", op, got.Spec, err)
	}
	if got, err := h.operator.GetJob(ctx, "a"); err != nil || got.Spec.Priority != 0 {
		t.Errorf("a dry run changed the job: %+v, %v", got.Spec, err)
	}
	got, op, err := apply(func(j *v1.Job) {
		j.Spec.Priority, j.Spec.Suspend, j.Metadata.Labels = 7, true, map[string]string{"new": "label"}
	}, false)
	if err != nil || op != v1.OperationConfigured || !got.Spec.Suspend || got.Metadata.Labels["new"] != "label" || got.Metadata.Generation != 2 {
		t.Errorf("change: %s, %+v, %v", op, got, err)
	}
	_, _, err = apply(func(j *v1.Job) {
		j.Spec.MaxAttempts, j.Spec.Sharding.Rows = 9, 5
		j.Spec.Parameters = json.RawMessage(`{"query_smiles":"CCO","top_k":3}`)
	}, false)
	e := wantDetails(t, err, http.StatusConflict, wire.CodeConflict)
	if want := "spec.parameters.top_k: field is immutable; spec.sharding.rows: field is immutable; spec.maxAttempts: field is immutable"; len(e.Details) != 3 || e.Message != want {
		t.Errorf("error is %+v, want %s", e, want)
	}
}

// What is wrong with the form and what is wrong with the values is told at once.
func TestFaultsOfEveryKindAtOnce(t *testing.T) {
	h := newHarness(t)
	body := `{"apiVersion":"scimesh.dev/v1","kind":"Job","metadata":{"name":"a"},"spec":{"prioriti":1,"workload":"similarity-search",
		"maxAttempts":1000000000,"input":{"chunks":[{"uri":"file:///x","sha256":"1"}]},"parameters":{"query_smiles":"CCO","topk":1,"threshold":2}}}`
	for request, media := range map[string]string{"POST /jobs": "application/json", "PUT /jobs/b": "application/yaml"} {
		method, path, _ := strings.Cut(request, " ")
		status, answer, _ := h.do(operatorToken, method, path, media, body)
		want := []string{"spec.prioriti", "spec.maxAttempts", "spec.input.chunks[0].uri", "spec.input.chunks[0].sha256", "spec.parameters.topk", "spec.parameters.threshold"}
		if method == http.MethodPut {
			want = append(want, "metadata.name")
		}
		for _, field := range want {
			if status != http.StatusBadRequest || !strings.Contains(answer, `"field":"`+field+`"`) {
				t.Errorf("%s: %d %s lacks %s", request, status, answer, field)
			}
		}
	}
}

func TestCreate(t *testing.T) {
	h := newHarness(t)
	ctx := t.Context()
	j := h.job("a")
	_, err := h.operator.CreateJob(ctx, j, false)
	wantError(t, err, http.StatusConflict, wire.CodeConflict)
	_, err = h.operator.CreateJob(ctx, j, true)
	wantError(t, err, http.StatusConflict, wire.CodeConflict)

	j.Metadata.Name = ""
	dry, err := h.operator.CreateJob(ctx, j, true)
	if err != nil || !strings.HasPrefix(dry.Metadata.Name, "similarity-search-") {
		t.Errorf("dry run: %+v, %v", dry.Metadata, err)
	}
	created, err := h.operator.CreateJob(ctx, j, false)
	if err != nil || !strings.HasPrefix(created.Metadata.Name, "similarity-search-") || created.Metadata.Name == dry.Metadata.Name {
		t.Errorf("create: %+v, %v", created.Metadata, err)
	}
	if l, err := h.operator.ListJobs(ctx, wire.ListJobsParams{}); err != nil || len(l.Items) != 2 {
		t.Errorf("jobs: %d, %v", len(l.Items), err)
	}
}

func TestYAMLAndJSONAreTheSame(t *testing.T) {
	h := newHarness(t)
	y := strings.NewReplacer("NAME", "a", "SHA256", h.upload(inputTSV)).Replace(jobYAML)
	for _, kind := range []string{"application/yaml", "text/yaml; charset=utf-8", "application/x-yaml"} {
		if status, body, header := h.do(operatorToken, "PUT", "/jobs/a", kind, y); status >= 300 {
			t.Errorf("%s: %d %s %s", kind, status, body, header.Get("X-Operation"))
		}
	}
	j, err := v1.DecodeJob([]byte(y))
	if err != nil {
		t.Fatal(err)
	}
	if _, op, err := h.operator.ApplyJob(t.Context(), j, false); err != nil || op != v1.OperationUnchanged {
		t.Errorf("as JSON: %s, %v", op, err)
	}
}

func TestChunkJobs(t *testing.T) {
	h := newHarness(t, func(c *Config) { c.AllowedHosts = []string{"data.example.org"} })
	j, err := v1.DecodeJob([]byte(strings.Replace(strings.Replace(jobYAML, "NAME", "a", 1), "{sha256: SHA256}",
		"{chunks: [{uri: 'https://data.example.org/1.tsv', sha256: "+digestOf("1")+"}]}", 1)))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := h.operator.ApplyJob(t.Context(), j, false); err != nil {
		t.Fatal(err)
	}
	j.Spec.Input.Chunks[0].URI = "https://elsewhere.example.org/1.tsv"
	_, _, err = h.operator.ApplyJob(t.Context(), j, false)
	wantError(t, err, http.StatusBadRequest, wire.CodeInvalidRequest)
}

// form builds a multipart body of name, content pairs.
func form(t *testing.T, parts ...string) (contentType, body string) {
	t.Helper()
	var buf bytes.Buffer
	w := multipart.NewWriter(&buf)
	for i := 0; i < len(parts); i += 2 {
		part, err := w.CreateFormFile(parts[i], parts[i]+".tsv")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(part, parts[i+1]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return w.FormDataContentType(), buf.String()
}

func uploadedJobYAML(name string) string {
	return strings.Replace(strings.Replace(jobYAML, "NAME", name, 1), "input: {sha256: SHA256}", "priority: 1", 1)
}

func TestUploadJob(t *testing.T) {
	h := newHarness(t)
	tests := map[string]struct {
		parts []string
		want  int
	}{
		"job and input":       {[]string{"job", uploadedJobYAML("good"), "input", inputTSV}, 201},
		"the name is taken":   {[]string{"job", uploadedJobYAML("good"), "input", inputTSV}, 409},
		"no job":              {[]string{"input", inputTSV}, 400},
		"no input":            {[]string{"job", uploadedJobYAML("b")}, 400},
		"the other way round": {[]string{"input", inputTSV, "job", uploadedJobYAML("b")}, 400},
		"a third part":        {[]string{"job", uploadedJobYAML("b"), "input", inputTSV, "more", "x"}, 400},
		"an input in the job": {[]string{"job", strings.NewReplacer("NAME", "b", "SHA256", digestOf("x")).Replace(jobYAML), "input", inputTSV}, 400},
		"a bad job":           {[]string{"job", strings.Replace(uploadedJobYAML("b"), "top_k", "topk", 1), "input", inputTSV}, 400},
		"a job too large":     {[]string{"job", "# " + strings.Repeat("x", 2<<20), "input", inputTSV}, 413},
		"an empty input":      {[]string{"job", uploadedJobYAML("empty"), "input", ""}, 201},
	}
	for _, name := range []string{"job and input", "the name is taken", "no job", "no input", "the other way round", "a third part", "an input in the job", "a bad job", "a job too large", "an empty input"} {
		t.Run(name, func(t *testing.T) {
			kind, body := form(t, tests[name].parts...)
			if status, answer, _ := h.do(operatorToken, "POST", "/jobs/upload", kind, body); status != tests[name].want {
				t.Errorf("answered with %d %s, want %d", status, answer, tests[name].want)
			}
		})
	}
	l, err := h.operator.ListJobs(t.Context(), wire.ListJobsParams{})
	var names []string
	for _, j := range l.Items {
		names = append(names, j.Metadata.Name)
	}
	if diff := cmp.Diff([]string{"empty", "good"}, names); err != nil || diff != "" {
		t.Errorf("jobs (-want +got):\n%s %v", diff, err)
	}
	a, err := h.operator.ListArtifacts(t.Context(), wire.ListArtifactsParams{})
	if err != nil || len(a.Items) != 2 {
		t.Errorf("artifacts: %d, %v", len(a.Items), err)
	}
	h.noStaging()
}

func TestUploadIsStoredOnce(t *testing.T) {
	h := newHarness(t)
	up := func(name, digest string) (v1.Artifact, error) {
		return h.operator.UploadArtifact(t.Context(), client.Upload{Filename: name, Body: strings.NewReader(inputTSV), Size: int64(len(inputTSV)), SHA256: digest})
	}
	first, err := up("one.tsv", "")
	if err != nil || first.Spec.SHA256 != digestOf(inputTSV) || first.Spec.Filename != "one.tsv" {
		t.Fatalf("upload: %+v, %v", first, err)
	}
	for _, digest := range []string{"", digestOf(inputTSV)} {
		if again, err := up("two.tsv", digest); err != nil || again.Metadata.UID != first.Metadata.UID {
			t.Errorf("the same bytes again: %+v, %v", again, err)
		}
	}
	_, err = up("three.tsv", digestOf("something else"))
	wantError(t, err, http.StatusBadRequest, wire.CodeInvalidRequest)
	h.noStaging()
}

func TestListsInPages(t *testing.T) {
	h := newHarness(t)
	ctx := t.Context()
	var want []string
	for i := range 7 {
		name := fmt.Sprintf("job-%d", i)
		h.job(name)
		want = append([]string{name}, want...)
	}
	var got []string
	for j, err := range client.All(func(next *string) (v1.List[v1.Job], error) {
		return h.operator.ListJobs(ctx, wire.ListJobsParams{Limit: new(int32(3)), Continue: next})
	}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, j.Metadata.Name)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("jobs (-want +got):\n%s", diff)
	}
	events := 0
	for _, err := range client.All(func(next *string) (v1.List[v1.Event], error) {
		return h.operator.ListEvents(ctx, wire.ListEventsParams{Limit: new(int32(2)), Continue: next})
	}) {
		if err != nil {
			t.Fatal(err)
		}
		events++
	}
	if events < 7 {
		t.Errorf("events: %d", events)
	}
	for selector, n := range map[string]int{"target=EGFR": 7, "target in (JAK2)": 0, "!target": 0, "target,target!=JAK2": 7} {
		if l, err := h.operator.ListJobs(ctx, wire.ListJobsParams{LabelSelector: &selector}); err != nil || len(l.Items) != n {
			t.Errorf("%s: %d jobs, %v", selector, len(l.Items), err)
		}
	}
}
