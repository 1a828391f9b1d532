package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/uuid"

	v1 "scimesh.dev/scimesh/api/v1"
)

// fixtureNow is the time at which the objects of the fixture are looked at.
var fixtureNow = time.Date(2026, 7, 23, 12, 0, 0, 0, time.UTC)

func ago(d time.Duration) v1.Time     { return v1.NewTime(fixtureNow.Add(-d)) }
func agoPtr(d time.Duration) *v1.Time { return v1.NewTimePtr(fixtureNow.Add(-d)) }
func id(n int) uuid.UUID              { return uuid.MustParse(fmt.Sprintf("01938f3e-0000-7000-8000-%012d", n)) }
func digest(n int) string             { return fmt.Sprintf("%064x", n) }

func meta(name string, n int, old time.Duration) v1.ObjectMeta {
	return v1.ObjectMeta{Name: name, UID: id(n), Generation: 1, ResourceVersion: "1", CreationTimestamp: ago(old)}
}

func typeOf(kind string) v1.TypeMeta { return v1.TypeMeta{APIVersion: v1.APIVersion, Kind: kind} }

// fixtureJob is a job that runs, with what the options change.
func fixtureJob(name string, n int, change func(*v1.Job)) v1.Job {
	j := v1.Job{
		TypeMeta: typeOf(v1.KindJob), Metadata: meta(name, n, 10*time.Minute),
		Spec: v1.JobSpec{
			Workload: "similarity-search", Input: v1.JobInput{SHA256: digest(n)},
			Parameters: json.RawMessage(`{"query_id":"CHEMBL939","top_k":20,"note":"a\u001b[31mred"}`),
			Sharding:   v1.Sharding{Rows: 1000}, MaxAttempts: 3,
		},
		Status: v1.JobStatus{
			Phase: v1.JobRunning, Tasks: v1.TaskCounts{Total: 8, Pending: 3, Leased: 0, Running: 1, Completed: 4},
			Engine: "test-engine/1", StartedAt: agoPtr(9 * time.Minute),
			Input: &v1.ArtifactRef{Artifact: id(n + 100), SHA256: digest(n), SizeBytes: 123456},
			Conditions: []v1.Condition{{
				Type: v1.JobConditionPlanned, Status: v1.ConditionTrue, Reason: v1.ReasonPlanned,
				Message: "8000 input rows in 8 tasks", LastTransitionTime: ago(8 * time.Minute),
			}},
		},
	}
	if change != nil {
		change(&j)
	}
	return j
}

func fixtureJobs() []v1.Job {
	return []v1.Job{
		fixtureJob("gefitinib", 1, func(j *v1.Job) { j.Metadata.Labels = map[string]string{"target": "EGFR", "stage": "lead"} }),
		fixtureJob("done", 2, func(j *v1.Job) {
			j.Metadata.CreationTimestamp = ago(50 * time.Hour)
			j.Status.Phase, j.Status.Tasks = v1.JobCompleted, v1.TaskCounts{Total: 8, Completed: 8}
			j.Status.StartedAt, j.Status.CompletedAt = agoPtr(50*time.Hour), agoPtr(49*time.Hour)
			j.Status.Conditions[0].LastTransitionTime = ago(50*time.Hour - 10*time.Minute)
			j.Status.Result = &v1.ResultRef{ArtifactRef: v1.ArtifactRef{Artifact: id(20), SHA256: digest(20), SizeBytes: 1500}, Rows: 20}
			j.Status.Rejects = &v1.ResultRef{ArtifactRef: v1.ArtifactRef{Artifact: id(21), SHA256: digest(21), SizeBytes: 90}, Rows: 3}
			j.Status.Ledger = &v1.Ledger{RowsRead: 8000, Scored: 7996, Excluded: map[string]int64{"QueryMolecule": 1}, Rejected: map[string]int64{"InvalidSMILES": 2, "TooFewColumns": 1}}
		}),
		fixtureJob("broken", 3, func(j *v1.Job) {
			j.Status.Phase, j.Status.Tasks = v1.JobFailed, v1.TaskCounts{Total: 8, Failed: 1, Cancelled: 7}
			j.Status.CompletedAt = agoPtr(8 * time.Minute)
			j.Status.ErrorCode, j.Status.ErrorMessage = "TaskFailed", "task broken-3: out of memory \x1b]0;x\a"
		}),
		fixtureJob("waiting", 4, func(j *v1.Job) { j.Spec.Suspend = true }),
		fixtureJob("stopping", 5, func(j *v1.Job) { j.Status.CancelRequested = true }),
		fixtureJob("going", 6, func(j *v1.Job) { j.Metadata.DeletionTimestamp = agoPtr(time.Minute) }),
	}
}

func fixtureTasks() []v1.Task {
	task := func(i int, change func(*v1.TaskStatus)) v1.Task {
		t := v1.Task{
			TypeMeta: typeOf(v1.KindTask), Metadata: meta(fmt.Sprintf("gefitinib-%d", i), 30+i, 8*time.Minute),
			Spec: v1.TaskSpec{
				Job: "gefitinib", ChunkIndex: int32(i), Workload: "similarity-search", InputSHA256: digest(30 + i),
				Parameters: json.RawMessage(`{"top_k":20}`), MaxAttempts: 3,
			},
			Status: v1.TaskStatus{Phase: v1.TaskPending},
		}
		change(&t.Status)
		return t
	}
	half := 0.5
	worker := id(60)
	return []v1.Task{
		task(0, func(s *v1.TaskStatus) {
			s.Phase, s.Attempt, s.StartedAt, s.CompletedAt = v1.TaskCompleted, 1, agoPtr(7*time.Minute), agoPtr(6*time.Minute)
			s.Result = &v1.ArtifactRef{Artifact: id(22), SHA256: digest(22), SizeBytes: 700}
			s.Metrics = json.RawMessage(`{"processed_rows":1000,"elapsed_seconds":59.5}`)
		}),
		task(1, func(s *v1.TaskStatus) {
			s.Phase, s.Attempt, s.StartedAt, s.Progress = v1.TaskRunning, 2, agoPtr(30*time.Second), &half
			s.LeaseOwner, s.WorkerName, s.LeaseExpiresAt, s.LostLeases = &worker, "lab-1", agoPtr(-45*time.Second), 1
			s.Attempts = []v1.Attempt{
				{Attempt: 1, Worker: id(61), WorkerName: "lab-2", Outcome: v1.AttemptLost, StartedAt: ago(5 * time.Minute), EndedAt: agoPtr(4 * time.Minute), ErrorCode: v1.ReasonLeaseExpired, ErrorMessage: "no heartbeat"},
				{Attempt: 2, Worker: worker, WorkerName: "lab-1", Outcome: v1.AttemptActive, StartedAt: ago(30 * time.Second)},
			}
		}),
		task(2, func(s *v1.TaskStatus) {
			s.Attempt, s.Failures, s.NotBefore = 1, 1, agoPtr(-90*time.Second)
			s.ErrorCode, s.ErrorMessage = "ValueError", "row 3:\x1b[2Jbad"
			s.Attempts = []v1.Attempt{{Attempt: 1, Worker: worker, WorkerName: "lab-1", Outcome: v1.AttemptFailed, StartedAt: ago(3 * time.Minute), EndedAt: agoPtr(2 * time.Minute), ErrorCode: "ValueError", ErrorMessage: "row 3:\x1b[2Jbad"}}
		}),
		task(3, func(*v1.TaskStatus) {}),
	}
}

func fixtureWorkers() []v1.Worker {
	worker := func(name string, n int, change func(*v1.Worker)) v1.Worker {
		w := v1.Worker{
			TypeMeta: typeOf(v1.KindWorker), Metadata: meta(name, n, 26*time.Hour),
			Spec:   v1.WorkerSpec{Capabilities: []string{"similarity-graph", "similarity-search"}, Engine: "test-engine/1", CPUCount: 8, MemoryMB: 16384},
			Status: v1.WorkerStatus{Phase: v1.WorkerOnline, LastHeartbeatAt: agoPtr(3 * time.Second)},
		}
		change(&w)
		return w
	}
	return []v1.Worker{
		worker("lab-1", 60, func(w *v1.Worker) { w.Status.Phase, w.Status.ActiveTasks = v1.WorkerBusy, 1 }),
		worker("lab-2", 61, func(w *v1.Worker) {
			w.Status.Phase, w.Status.LastHeartbeatAt = v1.WorkerOffline, agoPtr(time.Hour)
		}),
		worker("lab-3", 62, func(w *v1.Worker) {
			w.Status.ConsecutiveFailures, w.Status.QuarantinedUntil = 3, agoPtr(-10*time.Minute)
			w.Status.Conditions = []v1.Condition{{
				Type: v1.WorkerConditionQuarantined, Status: v1.ConditionTrue, Reason: "TasksFailed", Message: "3 tasks in a row failed", LastTransitionTime: ago(time.Minute),
			}}
		}),
		worker("twin", 63, func(*v1.Worker) {}),
		worker("twin", 64, func(*v1.Worker) {}),
	}
}

func fixtureEvents() []v1.Event {
	event := func(n int64, change func(*v1.Event)) v1.Event {
		e := v1.Event{TypeMeta: typeOf(v1.KindEvent), ID: n, Type: v1.EventNormal, CreatedAt: ago(time.Duration(10-n) * time.Minute)}
		change(&e)
		return e
	}
	task, worker := id(32), id(60)
	return []v1.Event{
		event(1, func(e *v1.Event) { e.Job, e.Reason, e.Message = "gefitinib", "JobCreated", "the job was created" }),
		event(2, func(e *v1.Event) { e.Job, e.Reason, e.Message = "gefitinib", "JobPlanned", "planned 8 tasks" }),
		event(3, func(e *v1.Event) {
			e.Job, e.Task, e.Worker, e.Type, e.Reason, e.Message = "gefitinib", &task, &worker, v1.EventWarning, "TaskFailed", "attempt 1: ValueError: row 3:\x1b[2Jbad"
		}),
		event(4, func(e *v1.Event) { e.Worker, e.Reason, e.Message = &worker, "WorkerOnline", "lab-1 is alive" }),
	}
}

func fixtureArtifacts() []v1.Artifact {
	task := id(30)
	artifact := func(n int, spec v1.ArtifactSpec) v1.Artifact {
		spec.SHA256 = digest(n)
		return v1.Artifact{TypeMeta: typeOf(v1.KindArtifact), Metadata: meta(id(n).String(), n, time.Hour), Spec: spec}
	}
	return []v1.Artifact{
		artifact(20, v1.ArtifactSpec{Kind: v1.ArtifactFinal, Job: "done", Filename: "result.csv", ContentType: "text/csv", SizeBytes: 1500}),
		artifact(22, v1.ArtifactSpec{Kind: v1.ArtifactPartial, Job: "gefitinib", Task: &task, Attempt: 1, Filename: "../partial.csv", ContentType: "text/csv", SizeBytes: 700}),
		artifact(101, v1.ArtifactSpec{Kind: v1.ArtifactInput, Filename: "mols\x1b[0m.tsv", ContentType: "text/tab-separated-values", SizeBytes: 5 << 30}),
	}
}

// newFixture serves fixed objects as a coordinator would.
func newFixture(t *testing.T) *caller {
	t.Helper()
	mux := http.NewServeMux()
	serve := func(pattern string, answer func(r *http.Request) (any, bool)) {
		mux.HandleFunc("GET "+pattern, func(w http.ResponseWriter, r *http.Request) {
			v, ok := answer(r)
			w.Header().Set("Content-Type", "application/json")
			if !ok {
				w.WriteHeader(http.StatusNotFound)
				v = map[string]any{"error": map[string]any{"code": "not_found", "message": "there is no such thing"}, "request_id": "r1"}
			}
			if err := json.NewEncoder(w).Encode(v); err != nil {
				t.Error(err)
			}
		})
	}
	serveList(serve, "jobs", v1.KindJob, fixtureJobs(), func(j v1.Job) v1.ObjectMeta { return j.Metadata })
	serveList(serve, "tasks", v1.KindTask, fixtureTasks(), func(x v1.Task) v1.ObjectMeta { return x.Metadata })
	serveList(serve, "workers", v1.KindWorker, fixtureWorkers(), func(w v1.Worker) v1.ObjectMeta { return w.Metadata })
	serveList(serve, "artifacts", v1.KindArtifact, fixtureArtifacts(), func(a v1.Artifact) v1.ObjectMeta { return a.Metadata })
	serve("/jobs/{name}/tasks", func(r *http.Request) (any, bool) {
		if r.PathValue("name") != id(1).String() {
			return v1.NewList[v1.Task](v1.KindTask, nil, ""), true
		}
		return v1.NewList(v1.KindTask, fixtureTasks(), ""), true
	})
	serve("/jobs/{name}/why", func(*http.Request) (any, bool) {
		return v1.NewList("Why", []v1.WhyEntry{
			{Reason: v1.WhyWaitingForRetry, Tasks: 1, Until: agoPtr(-90 * time.Second), Message: "tasks failed and wait before their next attempt"},
			{Reason: v1.WhyWorkersBusy, Tasks: 2, Message: "workers that could take a task, all of them busy: 1"},
		}, ""), true
	})
	serve("/events", func(r *http.Request) (any, bool) {
		if job := r.URL.Query().Get("job"); job != "" && job != "gefitinib" && job != id(1).String() {
			return v1.NewList[v1.Event](v1.KindEvent, nil, ""), true
		}
		return v1.NewList(v1.KindEvent, fixtureEvents(), ""), true
	})
	serve("/controllers", func(*http.Request) (any, bool) {
		return v1.NewList("Controller", []v1.ControllerStatus{
			{Name: "planner", QueueDepth: 1, InFlight: 2, Reconciles: 40, LastSuccessAt: agoPtr(4 * time.Second)},
			{Name: "reducer", Retries: 3, Reconciles: 9, Errors: 2, LastSuccessAt: agoPtr(time.Hour), LastErrorAt: agoPtr(2 * time.Minute), LastError: "reduce job: disk full"},
		}, ""), true
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	c := newCaller(t, server.URL)
	c.host.now = func() time.Time { return fixtureNow }
	return c
}

// serveList serves objects in pages of two, and each of them by name and id.
func serveList[T any](serve func(string, func(*http.Request) (any, bool)), plural, kind string, items []T, metaOf func(T) v1.ObjectMeta) {
	serve("/"+plural, func(r *http.Request) (any, bool) {
		from := 0
		if _, err := fmt.Sscan(r.URL.Query().Get("continue"), &from); err != nil {
			from = 0
		}
		to, next := min(from+2, len(items)), ""
		if to < len(items) {
			next = fmt.Sprint(to)
		}
		return v1.NewList(kind, items[from:to], next), true
	})
	serve("/"+plural+"/{name}", func(r *http.Request) (any, bool) {
		for _, item := range items {
			if m := metaOf(item); m.Name == r.PathValue("name") || m.UID.String() == r.PathValue("name") {
				return item, true
			}
		}
		return nil, false
	})
}
