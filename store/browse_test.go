package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"k8s.io/apimachinery/pkg/labels"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/store"
	"scimesh.dev/scimesh/store/storetest"
)

func withLabels(l map[string]string) func(*store.CreateJobParams) {
	return func(p *store.CreateJobParams) { p.Labels = l }
}

func TestPagesOfJobsAgreeWithTheirCounts(t *testing.T) {
	s := storetest.New(t)
	for i := range 7 {
		storetest.MakeJob(t, s, fmt.Sprintf("egfr-%d", i), withLabels(map[string]string{"target": "EGFR"}))
	}
	storetest.MakeRunningJob(t, s, "braf-1", 2, withLabels(map[string]string{"target": "BRAF"}))
	if _, err := s.RequestCancel(t.Context(), "egfr-0"); err != nil {
		t.Fatal(err)
	}
	names := func(p store.JobPage) (out []string) {
		for _, j := range p.Items {
			out = append(out, j.Name)
		}
		return out
	}
	selector := func(text string) labels.Selector {
		l, err := v1.ParseSelector(text)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	both := map[v1.JobPhase]int64{v1.JobCreated: 7, v1.JobRunning: 1}
	for name, tc := range map[string]struct {
		search        store.JobSearch
		offset, limit int
		want          []string
		wantTotal     int64
		wantPhases    map[v1.JobPhase]int64
	}{
		"first page":     {limit: 3, want: []string{"braf-1", "egfr-6", "egfr-5"}, wantTotal: 8, wantPhases: both},
		"last page":      {offset: 6, limit: 3, want: []string{"egfr-1", "egfr-0"}, wantTotal: 8, wantPhases: both},
		"past the end":   {offset: 9, limit: 3, wantTotal: 8, wantPhases: both},
		"phase":          {search: store.JobSearch{JobFilter: store.JobFilter{Phases: []v1.JobPhase{v1.JobRunning}}}, limit: 3, want: []string{"braf-1"}, wantTotal: 1, wantPhases: both},
		"text in a name": {search: store.JobSearch{Text: "Gfr-3"}, limit: 3, want: []string{"egfr-3"}, wantTotal: 1, wantPhases: map[v1.JobPhase]int64{v1.JobCreated: 1}},
		"text in a label": {search: store.JobSearch{Text: "target=br"}, limit: 3, want: []string{"braf-1"}, wantTotal: 1,
			wantPhases: map[v1.JobPhase]int64{v1.JobRunning: 1}},
		"wildcards are plain": {search: store.JobSearch{Text: "%"}, limit: 3, wantPhases: map[v1.JobPhase]int64{}},
		"labels": {search: store.JobSearch{JobFilter: store.JobFilter{Labels: selector("target in (BRAF, KRAS)")}}, limit: 3, want: []string{"braf-1"}, wantTotal: 1,
			wantPhases: map[v1.JobPhase]int64{v1.JobRunning: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := s.PageJobs(t.Context(), tc.search, tc.offset, tc.limit)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, names(p)); diff != "" || p.Total != tc.wantTotal {
				t.Errorf("total %d, want %d; jobs (-want +got):\n%s", p.Total, tc.wantTotal, diff)
			}
			if diff := cmp.Diff(tc.wantPhases, p.ByPhase); diff != "" {
				t.Errorf("by phase (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCancelAllTakesWhatTheSearchSelects(t *testing.T) {
	s := storetest.New(t)
	for i := range 3 {
		storetest.MakeJob(t, s, fmt.Sprintf("a-%d", i))
	}
	storetest.MakeJob(t, s, "b-1")
	for i, want := range []int{3, 0} { // the second time they are under way
		if n, err := s.RequestCancelAll(t.Context(), store.JobSearch{Text: "a-"}); n != want || err != nil {
			t.Errorf("call %d: %d, %v, want %d", i, n, err, want)
		}
	}
	for name, want := range map[string]bool{"a-0": true, "a-1": true, "a-2": true, "b-1": false} {
		j, err := s.GetJob(t.Context(), name)
		if err != nil || j.CancelRequestedAt.IsZero() == want {
			t.Errorf("%s: %v, %v, want requested: %t", name, j.CancelRequestedAt, err, want)
		}
		events, err := s.RecentEvents(t.Context(), store.EventFilter{Job: j.ID}, false, 1)
		if err != nil || len(events) != 1 || (events[0].Reason == "CancelRequested") != want {
			t.Errorf("%s: last event %+v, %v", name, events, err)
		}
	}
}

func TestBrowseTasks(t *testing.T) {
	s := storetest.New(t)
	j := storetest.MakeRunningJob(t, s, "j", 5)
	w := storetest.MakeWorker(t, s, "w")
	before, err := s.Pulse(t.Context(), j.ID)
	if err != nil {
		t.Fatal(err)
	}
	storetest.Complete(t, s, storetest.Claim(t, s, w), "a")
	storetest.Claim(t, s, w)
	if after, err := s.Pulse(t.Context(), j.ID); err != nil || after == before {
		t.Errorf("pulse %q, %v: unchanged by a claim", after, err)
	}
	if same, err := s.Pulse(t.Context(), store.NewID()); err != nil || same == before {
		t.Errorf("pulse of another job: %q, %v", same, err)
	}

	cells, err := s.TaskCells(t.Context(), j.ID, 2)
	want := []store.TaskCell{
		{First: 0, Tasks: v1.TaskCounts{Total: 2, Completed: 1, Leased: 1}},
		{First: 2, Tasks: v1.TaskCounts{Total: 2, Pending: 2}},
		{First: 4, Tasks: v1.TaskCounts{Total: 1, Pending: 1}},
	}
	if diff := cmp.Diff(want, cells); diff != "" || err != nil {
		t.Errorf("%v; cells (-want +got):\n%s", err, diff)
	}
	tasks, err := s.PageTasks(t.Context(), j.ID, []v1.TaskPhase{v1.TaskPending}, 1, 5)
	if err != nil || len(tasks) != 2 || tasks[0].ChunkIndex != 3 || tasks[1].ChunkIndex != 4 {
		t.Errorf("%v, pending tasks from the second on: %+v", err, tasks)
	}
	if tasks, err := s.PageTasks(t.Context(), j.ID, nil, 0, 2); err != nil || len(tasks) != 2 || tasks[0].WorkerName != "w" || tasks[1].WorkerName != "w" {
		t.Errorf("%v, the completed and the leased task: %+v", err, tasks)
	}
	done, err := s.CompletedTasks(t.Context(), time.Minute)
	if diff := cmp.Diff(map[uuid.UUID]int64{w.ID: 1}, done); diff != "" || err != nil {
		t.Errorf("%v; completed (-want +got):\n%s", err, diff)
	}
}

func TestCompletedTasksAreThoseOfTheWindow(t *testing.T) {
	now := time.Now()
	s := storetest.New(t, func(c *store.Config) { c.Now = func() time.Time { return now } })
	storetest.MakeRunningJob(t, s, "j", 2)
	w := storetest.MakeWorker(t, s, "w")
	storetest.Complete(t, s, storetest.Claim(t, s, w), "a")
	now = now.Add(50 * time.Second)
	storetest.Complete(t, s, storetest.Claim(t, s, w), "b")
	for window, want := range map[time.Duration]int64{time.Minute: 2, 30 * time.Second: 1} {
		if done, err := s.CompletedTasks(t.Context(), window); err != nil || done[w.ID] != want {
			t.Errorf("within %v: %v, %v, want %d", window, done, err, want)
		}
	}
}

func TestFailedAttemptsAreThoseOfTheWorker(t *testing.T) {
	s := storetest.New(t)
	storetest.MakeRunningJob(t, s, "j", 3)
	w, other := storetest.MakeWorker(t, s, "w"), storetest.MakeWorker(t, s, "other")
	storetest.Complete(t, s, storetest.Claim(t, s, w), "a")
	for _, worker := range []store.Worker{w, other} {
		task := storetest.Claim(t, s, worker)
		if _, err := s.FailTask(t.Context(), store.FailTaskParams{Lease: task.Lease, Code: "DiskFull", Message: "of " + worker.Name, Retryable: true}); err != nil {
			t.Fatal(err)
		}
	}
	got, err := s.FailedAttempts(t.Context(), w.ID, 10)
	if err != nil || len(got) != 1 || got[0].ErrorMessage != "of w" || got[0].JobName != "j" || got[0].Outcome != v1.AttemptFailed {
		t.Errorf("%+v, %v, want the one failure of w", got, err)
	}
}
