package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"scimesh.dev/scimesh/api/client"
	v1 "scimesh.dev/scimesh/api/v1"
)

// scripted answers the first request with the first answer, and so on; the
// last one again and again.
func scripted(t *testing.T, answers ...http.HandlerFunc) string {
	t.Helper()
	var n atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answers[min(int(n.Add(1)), len(answers))-1](w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// stream sends events and breaks off.
func stream(events ...v1.JobWatchEvent) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/x-ndjson")
		for _, e := range events {
			if err := json.NewEncoder(w).Encode(e); err != nil {
				return
			}
		}
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
}

func refuse(status int, code string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"error":{"code":%q,"message":"no"},"request_id":"r"}`, code)
	}
}

func TestFeed(t *testing.T) {
	event := func(typ v1.WatchType, n int, version string) v1.JobWatchEvent {
		j := fixtureJob(fmt.Sprintf("job-%d", n), n, func(j *v1.Job) { j.Metadata.ResourceVersion = version })
		return v1.JobWatchEvent{Type: typ, Object: &j}
	}
	added := func(n int, version string) v1.JobWatchEvent { return event(v1.WatchAdded, n, version) }
	synced := v1.JobWatchEvent{Type: v1.WatchSynced}
	fault := v1.JobWatchEvent{Type: v1.WatchError, Error: &v1.WatchFault{Code: "internal", Message: "broken"}}
	end := refuse(http.StatusUnauthorized, "unauthorized")
	for name, tc := range map[string]struct {
		answers []http.HandlerFunc
		want    string
		wantErr error
	}{
		"broken off, and told again": {
			[]http.HandlerFunc{stream(added(1, "1"), added(2, "1"), synced), stream(added(1, "1"), added(2, "2"), synced), end},
			"ADDED job-1 1, ADDED job-2 1, SYNCED, lost, back, MODIFIED job-2 2, lost", client.ErrUnauthorized,
		},
		"gone meanwhile": {
			[]http.HandlerFunc{stream(added(1, "1"), added(2, "1"), synced), refuse(503, "unavailable"), stream(added(2, "1"), synced), end},
			"ADDED job-1 1, ADDED job-2 1, SYNCED, lost, back, DELETED job-1 1, lost", client.ErrUnauthorized,
		},
		"come meanwhile, and deleted in sight": {
			[]http.HandlerFunc{stream(synced), stream(added(3, "1"), synced, event(v1.WatchDeleted, 3, "1")), end},
			"SYNCED, lost, back, ADDED job-3 1, DELETED job-3 1, lost", client.ErrUnauthorized,
		},
		"broken off before all was told": {
			[]http.HandlerFunc{stream(added(1, "1")), stream(added(1, "1"), added(2, "1"), synced), end},
			"ADDED job-1 1, lost, ADDED job-2 1, SYNCED, lost", client.ErrUnauthorized,
		},
		"ended by the coordinator": {
			[]http.HandlerFunc{stream(added(1, "1"), synced, fault), stream(added(1, "1"), synced), end},
			"ADDED job-1 1, SYNCED, lost, back, lost", client.ErrUnauthorized,
		},
		"never there": {[]http.HandlerFunc{refuse(503, "unavailable")}, "lost", client.ErrUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCaller(t, scripted(t, tc.answers...))
			s := &session{host: c.host}
			connected, err := s.connect()
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			f := &feed{session: s, client: connected, lost: func(err error) {
				if err == nil {
					got = append(got, "back")
				} else {
					got = append(got, "lost")
				}
			}}
			for e, eventErr := range f.events(t.Context()) {
				switch {
				case eventErr != nil:
					err = eventErr
				case e.Object != nil:
					got = append(got, fmt.Sprintf("%s %s %s", e.Type, e.Object.Metadata.Name, e.Object.Metadata.ResourceVersion))
				default:
					got = append(got, string(e.Type))
				}
			}
			if diff := cmp.Diff(tc.want, strings.Join(got, ", ")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if !errors.Is(err, tc.wantErr) {
				t.Errorf("ended with %v, want %v", err, tc.wantErr)
			}
		})
	}
}

// TestWaitStartsBeforeTheCoordinator waits for a job while a coordinator comes
// up: first for it to be found, then for it to be watched.
func TestWaitStartsBeforeTheCoordinator(t *testing.T) {
	job := fixtureJob("one", 1, nil)
	done := fixtureJob("one", 1, func(j *v1.Job) {
		j.Metadata.ResourceVersion, j.Status.Phase = "2", v1.JobCompleted
	})
	found := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(job)
	}
	var answers []http.HandlerFunc
	starting := refuse(http.StatusServiceUnavailable, "unavailable")
	for range 4 { // more often than a call is made
		answers = append(answers, starting)
	}
	answers = append(answers, found)
	for range 4 {
		answers = append(answers, starting)
	}
	answers = append(answers, stream(v1.JobWatchEvent{Type: v1.WatchAdded, Object: &done}, v1.JobWatchEvent{Type: v1.WatchSynced}))
	c := newCaller(t, scripted(t, answers...))
	c.host.patience = time.Minute
	r := c.run("wait", "job/one")
	if r.code != ExitOK || strings.Count(r.err, "answers again") != 2 || !strings.Contains(r.out, "job/one completed") {
		t.Errorf("%+v", r)
	}
	c = newCaller(t, scripted(t, starting))
	if r := c.run("wait", "job/one"); r.code != ExitError {
		t.Errorf("without patience: %+v", r)
	}
	c.host.patience = time.Minute
	if r := c.run("wait", "job/one", "--timeout", "50ms"); r.code != ExitTimeout {
		t.Errorf("a timeout: %+v", r)
	}
}

// TestWatchOutput prints a watch in every format.
func TestWatchOutput(t *testing.T) {
	job := fixtureJob("one", 1, nil)
	changed := fixtureJob("one", 1, func(j *v1.Job) {
		j.Metadata.ResourceVersion, j.Status.Phase = "2", v1.JobReducing
	})
	answer := stream(v1.JobWatchEvent{Type: v1.WatchAdded, Object: &job}, v1.JobWatchEvent{Type: v1.WatchSynced},
		v1.JobWatchEvent{Type: v1.WatchModified, Object: &changed}, v1.JobWatchEvent{Type: v1.WatchDeleted, Object: &changed})
	for format, want := range map[string]string{
		"":                         "NAME   WORKLOAD            PHASE     TASKS   DURATION   AGE\none    similarity-search   running   4/8     9m         10m\none    similarity-search   reducing   4/8     9m         10m\none    similarity-search   deleted    4/8     9m         10m\n",
		"name":                     "job/one\njob/one\njob/one\n",
		"jsonpath={.status.phase}": "running\nreducing\nreducing",
	} {
		c := newCaller(t, scripted(t, answer, refuse(http.StatusUnauthorized, "unauthorized")))
		c.host.now = func() time.Time { return fixtureNow }
		r := c.run("get", "jobs", "-w", "-o", format)
		if r.code != ExitError || r.out != want {
			t.Errorf("-o %q: exit code %d, got\n%s\nwant\n%s", format, r.code, r.out, want)
		}
	}
	yaml := newCaller(t, scripted(t, answer, refuse(http.StatusUnauthorized, "unauthorized"))).run("get", "jobs", "-w", "-o", "yaml").out
	if strings.Count(yaml, "---\n") != 2 || strings.Count(yaml, "kind: Job\n") != 3 {
		t.Errorf("-o yaml:\n%s", yaml)
	}
}

// TestPolling watches what the coordinator has no stream for.
func TestPolling(t *testing.T) {
	workers := func(n int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			all := fixtureWorkers()[:3]
			all[0].Status.ActiveTasks = int64(n)
			_ = json.NewEncoder(w).Encode(v1.NewList(v1.KindWorker, all, ""))
		}
	}
	away := refuse(503, "unavailable")
	c := newCaller(t, scripted(t, workers(1), workers(1), away, away, away, workers(2), refuse(http.StatusUnauthorized, "unauthorized")))
	c.host.now = func() time.Time { return fixtureNow }
	r := c.run("get", "workers", "-w", "--no-headers")
	if r.code != ExitError || strings.Count(r.out, "lab-1") != 2 || strings.Count(r.out, "\n") != 4 {
		t.Errorf("%+v", r)
	}
	if !strings.Contains(r.err, "Lost the coordinator") || !strings.Contains(r.err, "answers again") {
		t.Error(r.err)
	}
}
