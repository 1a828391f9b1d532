package web_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/store"
	"scimesh.dev/scimesh/store/storetest"
)

func TestEmptyPagesSayWhatToDo(t *testing.T) {
	h := newHarness(t)
	p := h.operator()
	for path, want := range map[string]string{
		"/ui/": "scimesh apply -f job.yaml", "/ui/jobs": "scimesh apply -f job.yaml", "/ui/jobs?q=x": "No job matches",
		"/ui/workers": "scimesh worker", "/ui/workers?phase=busy": "No worker is busy", "/ui/artifacts": "scimesh apply -f job.yaml", "/ui/cancel": "No open job",
	} {
		p.page(path, want)
	}
	if r := p.get("/"); r.status != http.StatusSeeOther || r.header.Get("Location") != "/ui/" {
		t.Errorf("GET / leads to %q", r.header.Get("Location"))
	}
	for _, path := range []string{"/ui/jobs/none", "/ui/workers/none", "/ui/artifacts/none", "/ui/workloads/none", "/ui/none", "/ui/jobs/none/tasks/x", "/ui/static/none"} {
		if r := p.get(path); r.status != http.StatusNotFound || !strings.Contains(r.body, "Not found") {
			t.Errorf("GET %s: %d", path, r.status)
		}
	}
	for _, path := range []string{"/ui/jobs?labels=a%3D%3D%3Db", "/ui/jobs?q=%00", "/ui/artifacts?after=x"} {
		if r := p.get(path); r.status != http.StatusBadRequest {
			t.Errorf("GET %s: %d, want 400", path, r.status)
		}
	}
}

func TestJobPageFollowsTheJob(t *testing.T) {
	h := newHarness(t)
	p := h.operator()
	j := storetest.MakeJob(t, h.store, "j")
	p.page("/ui/jobs/j", "waiting for a planner", "WaitingForPlanner", `data-topic="`+j.ID.String()+`"`)
	storetest.Plan(t, h.store, j, 3)
	p.page("/ui/jobs/j", "0 of 3 done", "NoWorker", "3 tasks: 3 pending")
	w := storetest.MakeWorker(t, h.store, "lab-1")
	task := storetest.Claim(t, h.store, w)
	p.page("/ui/jobs/j", "3 tasks: 2 pending, 1 leased", "lab-1")
	if err := h.store.AppendLog(t.Context(), store.AppendLogParams{Lease: task.Lease, Body: []byte("line one\nline \x1b[31mtwo\n")}); err != nil {
		t.Fatal(err)
	}
	if _, err := h.store.FailTask(t.Context(), store.FailTaskParams{Lease: task.Lease, Code: "DiskFull", Message: "no space left", Retryable: true}); err != nil {
		t.Fatal(err)
	}
	p.page(fmt.Sprintf("/ui/jobs/j/tasks/%d", task.ChunkIndex), "Attempt 1", "DiskFull", "no space left", "line one\nline [31mtwo", "lab-1", "1 of 3 failures", "Next try")
	p.page("/ui/workers/"+w.ID.String(), "DiskFull", "no space left", "Failures in a row")
	body := p.page("/ui/jobs/j", "no space left", "1 failed, 0 lost")
	if strings.Contains(body, "/ui/jobs/j/result") {
		t.Error("a job that runs offers a result")
	}
	if r := p.get("/ui/jobs/j/result"); r.status != http.StatusNotFound || !strings.Contains(r.body, "it has no result") {
		t.Errorf("its result: %d", r.status)
	}
	if r := p.post("/ui/jobs/j/cancel", nil); r.status != http.StatusSeeOther {
		t.Errorf("cancel: %d", r.status)
	}
	p.page("/ui/jobs/j", "cancelling", "CancelRequested")
}

func TestOnlyTheWantedPartsAreRendered(t *testing.T) {
	h := newHarness(t)
	storetest.MakeRunningJob(t, h.store, "j", 3)
	p := h.operator()
	whole := p.page("/ui/jobs/j")
	parts := []string{"status", "why", "strip", "tasks", "facts", "events"}
	for _, part := range parts {
		body := p.get("/ui/jobs/j", "Ui-Regions", part).body
		for _, id := range parts {
			if has := strings.Contains(body, `id="`+id+`" data-live`); has != (id == part) {
				t.Errorf("asked for %s: part %s is there: %t", part, id, has)
			}
		}
		if len(body) >= len(whole) {
			t.Errorf("part %s has %d bytes, the whole page %d", part, len(body), len(whole))
		}
	}
}

func TestManyJobsAreCancelledAfterAQuestion(t *testing.T) {
	h := newHarness(t)
	for _, name := range []string{"a-1", "a-2", "b-1", "c-1"} {
		storetest.MakeJob(t, h.store, name)
	}
	p := h.operator()
	p.page("/ui/cancel?q=a-", "2 open jobs", "Cancel 2 jobs")
	p.page("/ui/cancel?job=b-1&job=gone", "Cancel 2 jobs", "gone")
	if r := p.post("/ui/cancel", url.Values{"q": {"a-"}}); r.status != http.StatusSeeOther || r.header.Get("Location") != "/ui/jobs?q=a-" {
		t.Errorf("by filter: %d to %q", r.status, r.header.Get("Location"))
	}
	if r := p.post("/ui/cancel", url.Values{"job": {"b-1", "gone"}}); r.status != http.StatusSeeOther {
		t.Errorf("by name: %d", r.status)
	}
	for name, want := range map[string]bool{"a-1": true, "a-2": true, "b-1": true, "c-1": false} {
		j, err := h.store.GetJob(t.Context(), name)
		if err != nil || j.CancelRequestedAt.IsZero() == want {
			t.Errorf("%s: %v %v, want cancelled: %t", name, j.CancelRequestedAt, err, want)
		}
	}
}

func TestResultsAreSortedByAnyColumn(t *testing.T) {
	h := newHarness(t)
	var csv strings.Builder
	csv.WriteString("rank,chembl_id,canonical_smiles,similarity\r\n")
	for i := range 600 {
		fmt.Fprintf(&csv, "%d,M%d,%s,0.%06d\r\n", i+1, i*7%600, strings.Repeat("C", i%5+1), 999999-i)
	}
	h.completed("j", csv.String(), func(p *store.CreateJobParams) { p.Spec.Parameters = []byte(`{"query_id":"Q7"}`) })
	p := h.operator()
	body := p.page("/ui/jobs/j/result", "600 rows", "the first 500 rows are shown", `data-smiles="CCO"`, "Query Q7", `data-smiles="CCCCC"`)
	if n := strings.Count(body, "<tr>"); n != 501 {
		t.Errorf("%d rows, want 500 and a header", n)
	}
	first := func(query string) string {
		body := p.page("/ui/jobs/j/result?" + query)
		_, rows, _ := strings.Cut(body, "<tbody>")
		_, cell, _ := strings.Cut(rows, `<td class="num">`)
		rank, _, _ := strings.Cut(cell, "<")
		return rank
	}
	for query, want := range map[string]string{"": "1", "sort=rank&dir=desc": "500", "sort=similarity&dir=asc": "500", "sort=similarity&dir=desc": "1", "sort=chembl_id&dir=asc": "1", "sort=nothing": "1"} {
		if got := first(query); got != want {
			t.Errorf("%q: rank %s comes first, want %s", query, got, want)
		}
	}
	p.page("/ui/jobs/j", "View result", "/ui/api/jobs/j/result")
}

func TestNewComputationIsCheckedAndStarted(t *testing.T) {
	h := newHarness(t)
	p := h.operator()
	table := "chembl_id\tcanonical_smiles\nC1\tCCO\nC2\tCCN\nC3\tc1ccccc1\n"
	up := p.do(http.MethodPost, "/ui/api/artifacts?filename=m.tsv", strings.NewReader(table), "Content-Type", "text/plain")
	if up.status != http.StatusCreated {
		t.Fatalf("upload: %d %s", up.status, up.body)
	}
	list, err := h.store.ListArtifacts(t.Context(), store.ArtifactFilter{}, store.Page{})
	if err != nil || len(list.Items) != 1 {
		t.Fatalf("%d artifacts, %v", len(list.Items), err)
	}
	input := list.Items[0].ID.String()
	form := func(changes ...string) url.Values {
		f := url.Values{"workload": {"similarity-search"}, "name": {"made"}, "labels": {"target=EGFR, stage=test"}, "artifact": {input},
			"param.query_smiles": {"CCO"}, "param.top_k": {"2"}, "sharding.rows": {"2"}, "maxAttempts": {"3"}, "priority": {"0"}, "parallelism": {"0"}, "action": {"check"}}
		for i := 0; i < len(changes); i += 2 {
			f.Set(changes[i], changes[i+1])
		}
		return f
	}
	p.page("/ui/new", "similarity-search", "Query SMILES", "m.tsv")
	for name, tc := range map[string]struct {
		changes []string
		want    []string
	}{
		"all well":           {nil, []string{"Ready to start", "2 tasks over 3 rows", "query_smiles: CCO", "sha256: " + list.Items[0].SHA256, "target: EGFR"}},
		"a wrong parameter":  {[]string{"param.top_k", "many"}, []string{`id="top_k-problems"`, "whole number", `value="many"`}},
		"a wrong SMILES":     {[]string{"param.query_smiles", "C1CC"}, []string{`id="query_smiles-problems"`}},
		"no input":           {[]string{"artifact", ""}, []string{`id="artifact-problems"`}},
		"a wrong name":       {[]string{"name", "Not A Name"}, []string{`id="name-problems"`}},
		"a wrong label":      {[]string{"labels", "=x"}, []string{`id="labels-problems"`}},
		"wrong rows":         {[]string{"sharding.rows", "-1"}, []string{`id="sharding.rows-problems"`, "<details open>"}},
		"planning will fail": {[]string{"param.query_smiles", "", "param.query_id", "NOBODY"}, []string{"planning would fail", "QueryNotFound"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := p.post("/ui/new", form(tc.changes...))
			if r.status != http.StatusOK {
				t.Errorf("status %d", r.status)
			}
			for _, want := range tc.want {
				if !strings.Contains(r.body, want) {
					t.Errorf("the page lacks %q", want)
				}
			}
		})
	}
	if _, err := h.store.GetJob(t.Context(), "made"); err == nil {
		t.Fatal("a check made the job")
	}
	if r := p.post("/ui/new", form("action", "submit")); r.status != http.StatusSeeOther || r.header.Get("Location") != "/ui/jobs/made" {
		t.Fatalf("start: %d to %q\n%s", r.status, r.header.Get("Location"), r.body)
	}
	j, err := h.store.GetJob(t.Context(), "made")
	if err != nil || j.Labels["stage"] != "test" || j.Spec.Sharding.Rows != 2 || j.Input == nil || j.Input.Artifact.String() != input {
		t.Errorf("made %+v, %v", j, err)
	}
	if r := p.post("/ui/new", form("action", "submit")); !strings.Contains(r.body, `id="name-problems"`) {
		t.Error("a name that is taken is not told at the name")
	}
	p.page("/ui/new?from=made", `value="CCO"`, "stage=test, target=EGFR", `<option value="`+input+`" selected>`)
}

func TestLiveTellsOfChanges(t *testing.T) {
	h := newHarness(t)
	j := storetest.MakeRunningJob(t, h.store, "j", 2)
	other := storetest.MakeRunningJob(t, h.store, "other", 2)
	p := h.operator()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	listen := func(topic string) <-chan string {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, h.url+"/ui/live?topic="+topic, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := p.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { resp.Body.Close() })
		events := make(chan string, 100)
		go func() {
			defer close(events)
			for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
				if event, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
					events <- event
				}
			}
		}()
		if e := <-events; e != "hello" {
			t.Fatalf("topic %s: first event %q", topic, e)
		}
		return events
	}
	all, one := listen("all"), listen(j.ID.String())
	// The watchers read the state of now first; what is changed until then is no change.
	cancelUntil := func(name string, events <-chan string) {
		t.Helper()
		for i := 0; ; i++ {
			if err := h.store.RecordEvent(t.Context(), store.Event{JobID: idOf(name, j, other), Type: v1.EventNormal, Reason: "Test", Message: fmt.Sprint(i)}); err != nil {
				t.Fatal(err)
			}
			select {
			case e, ok := <-events:
				if !ok || e != "change" {
					t.Fatalf("event %q, open: %t", e, ok)
				}
				return
			case <-time.After(100 * time.Millisecond):
			case <-ctx.Done():
				t.Fatal("no news")
			}
		}
	}
	cancelUntil("other", all)
	cancelUntil("j", one)
	h.dash.Drain()
	for range one {
	}
	for range all {
	}
	if ctx.Err() != nil {
		t.Error("draining does not end the streams")
	}
	if r := p.get("/ui/live?topic=x"); r.status != http.StatusNotFound {
		t.Errorf("no such topic: %d", r.status)
	}
}

func TestStaticFilesMayBeKept(t *testing.T) {
	h := newHarness(t)
	p := h.stranger()
	body := p.get("/ui/login").body
	_, rest, _ := strings.Cut(body, `<link rel="stylesheet" href="`)
	address, _, _ := strings.Cut(rest, `"`)
	r := p.get(address)
	if r.status != http.StatusOK || !strings.Contains(r.header.Get("Cache-Control"), "immutable") || !strings.HasPrefix(r.header.Get("Content-Type"), "text/css") {
		t.Errorf("GET %s: %d %v", address, r.status, r.header)
	}
	if r := p.get(address, "If-None-Match", r.header.Get("ETag")); r.status != http.StatusNotModified || r.body != "" {
		t.Errorf("again: %d", r.status)
	}
	if r := p.get("/ui/static/structure-worker.js"); !strings.Contains(r.header.Get("Content-Security-Policy"), "'unsafe-eval'") || strings.Contains(r.header.Get("Content-Security-Policy"), "unsafe-inline") {
		t.Errorf("the worker's policy: %q", r.header.Get("Content-Security-Policy"))
	}
}
