package web

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"
	"sigs.k8s.io/yaml"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/store"
)

type jobView struct {
	Job    store.Job
	Stages []stage
	Why    []v1.WhyEntry
	// Left is the time until the tasks are done, at the speed so far; 0 if it is not known.
	Left  time.Duration
	Rate  float64 // tasks a second so far
	Strip *strip

	Tasks  []store.Task
	Tabs   []tab
	Pager  pager
	Phase  string
	Events []store.Event

	InputName string
	Manifest  string
	// Shown says that the result has a page of its own.
	Shown bool
}

// maxJobEvents is how many events the page of a Job shows.
const maxJobEvents = 50

// job shows one Job.
func (d *Dashboard) job(w http.ResponseWriter, r *http.Request) error {
	j, err := d.findJob(r.Context(), r.PathValue("name"))
	if err != nil {
		return err
	}
	view := jobView{Job: j, Shown: j.Phase == v1.JobCompleted && j.Result != nil}
	want := regionsOf(r)
	if want.Has("status") || want.Has("why") {
		view.Stages = stagesOf(j)
		view.Rate, view.Left = speed(j)
		if err := d.loadWhy(r.Context(), &view); err != nil {
			return err
		}
	}
	if want.Has("strip") {
		if view.Strip, err = d.loadStrip(r.Context(), j); err != nil {
			return err
		}
	}
	if want.Has("tasks") {
		if err := d.loadTasks(r, &view); err != nil {
			return err
		}
	}
	if want.Has("events") {
		if view.Events, err = d.store.RecentEvents(r.Context(), store.EventFilter{Job: j.ID}, false, maxJobEvents); err != nil {
			return err
		}
	}
	if want.Has("facts") {
		view.InputName = d.inputName(r.Context(), j)
	}
	if want.All() {
		view.Manifest = string(manifestOf(j))
	}
	return d.render(w, r, "job", page{Title: j.Name, Section: "jobs", Topic: j.ID.String(), Data: view})
}

// findJob reads a Job. A damaged one is shown as far as it can be read.
func (d *Dashboard) findJob(ctx context.Context, name string) (store.Job, error) {
	j, err := d.store.GetJob(ctx, name)
	if err != nil && j.Damage == "" {
		return j, missing(err, "job", name)
	}
	return j, nil
}

// loadWhy explains why the Job, or tasks of it, wait.
func (d *Dashboard) loadWhy(ctx context.Context, view *jobView) error {
	if view.Job.Phase.Final() {
		return nil
	}
	snapshot := v1.WhySnapshot{Job: view.Job.Resource()}
	if view.Job.Damage == "" {
		w, err := d.store.Why(ctx, view.Job.ID)
		if err != nil {
			return err
		}
		snapshot = v1.WhySnapshot{
			Job: w.Job.Resource(), Ready: w.Ready, Waiting: w.Waiting, NextRetryAt: w.NextRetryAt, JobsAhead: w.JobsAhead,
			Workers: v1.WhyWorkers(w.Workers),
		}
	}
	view.Why = v1.Why(snapshot)
	return nil
}

// speed is the tasks a second since the planning, and the time left at that speed.
func speed(j store.Job) (rate float64, left time.Duration) {
	planned := v1.FindCondition(j.Conditions, v1.JobConditionPlanned)
	if planned == nil || j.Tasks.Completed == 0 {
		return 0, 0
	}
	end := j.ReadAt
	if !j.CompletedAt.IsZero() {
		end = j.CompletedAt
	}
	elapsed := end.Sub(planned.LastTransitionTime.Time).Seconds()
	if elapsed <= 0 {
		return 0, 0
	}
	rate = float64(j.Tasks.Completed) / elapsed
	if j.Phase == v1.JobRunning {
		left = time.Duration(float64(j.Tasks.Total-j.Tasks.Completed) / rate * float64(time.Second))
	}
	return rate, left
}

var taskPhases = []v1.TaskPhase{v1.TaskPending, v1.TaskLeased, v1.TaskRunning, v1.TaskCompleted, v1.TaskFailed, v1.TaskCancelled}

// loadTasks reads the page of tasks that the address asks for: by number, or
// with "from" the one that begins with a chunk.
func (d *Dashboard) loadTasks(r *http.Request, view *jobView) error {
	q := r.URL.Query()
	number, phases := pageNumber(q), []v1.TaskPhase(nil)
	if p := v1.TaskPhase(q.Get("tasks")); slices.Contains(taskPhases, p) {
		phases, view.Phase = []v1.TaskPhase{p}, string(p)
	}
	counts := taskCounts(view.Job.Tasks)
	total := view.Job.Tasks.Total
	if phases != nil {
		total = counts[phases[0]]
	}
	var err error
	if view.Tasks, err = d.store.PageTasks(r.Context(), view.Job.ID, phases, (number-1)*pageSize, pageSize); err != nil {
		return err
	}
	at := func(phase string, n int) string {
		q := url.Values{}
		if phase != "" {
			q.Set("tasks", phase)
		}
		if n > 1 {
			q.Set("page", strconv.Itoa(n))
		}
		address := Prefix + "/jobs/" + view.Job.Name
		if len(q) > 0 {
			address += "?" + q.Encode()
		}
		return address + "#tasks"
	}
	view.Pager = newPager(number, len(view.Tasks), total, func(n int) string { return at(view.Phase, n) })
	view.Tabs = []tab{{Label: "all", N: view.Job.Tasks.Total, Address: at("", 1), Current: phases == nil}}
	for _, p := range taskPhases {
		if n := counts[p]; n > 0 || view.Phase == string(p) {
			view.Tabs = append(view.Tabs, tab{Label: string(p), N: n, Address: at(string(p), 1), Current: view.Phase == string(p)})
		}
	}
	return nil
}

func taskCounts(c v1.TaskCounts) map[v1.TaskPhase]int64 {
	return map[v1.TaskPhase]int64{
		v1.TaskPending: c.Pending, v1.TaskLeased: c.Leased, v1.TaskRunning: c.Running,
		v1.TaskCompleted: c.Completed, v1.TaskFailed: c.Failed, v1.TaskCancelled: c.Cancelled,
	}
}

// inputName is the name under which the input was uploaded.
func (d *Dashboard) inputName(ctx context.Context, j store.Job) string {
	if j.Input == nil {
		return ""
	}
	a, err := d.store.GetArtifact(ctx, j.Input.Artifact)
	if err != nil {
		return "" // the page shows the rest
	}
	return a.Filename
}

// manifestOf is a Job as it was applied, in YAML.
func manifestOf(j store.Job) []byte {
	job := v1.Job{
		TypeMeta: v1.TypeMeta{APIVersion: v1.APIVersion, Kind: v1.KindJob},
		Metadata: v1.ObjectMeta{Name: j.Name, Labels: j.Labels, Annotations: j.Annotations}, Spec: j.Spec,
	}
	return jobYAML(job)
}

// jobYAML prints a Job without what the coordinator adds.
func jobYAML(j v1.Job) []byte {
	raw, err := json.Marshal(struct {
		v1.TypeMeta `json:",inline"`
		Metadata    v1.ObjectMeta `json:"metadata"`
		Spec        v1.JobSpec    `json:"spec"`
	}{j.TypeMeta, j.Metadata, j.Spec})
	if err == nil {
		raw, err = yaml.JSONToYAML(raw)
	}
	if err != nil {
		return fmt.Appendf(nil, "# cannot be shown: %v\n", err)
	}
	return raw
}

// manifest downloads a Job as it was applied.
func (d *Dashboard) manifest(w http.ResponseWriter, r *http.Request) error {
	j, err := d.findJob(r.Context(), r.PathValue("name"))
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/yaml")
	w.Header().Set("Content-Disposition", `attachment; filename="`+j.Name+`.yaml"`) // a name is a DNS label
	_, _ = w.Write(manifestOf(j))                                                   // a client that left gets nothing
	return nil
}

// idOf reads an id of an address.
func idOf(raw string) (uuid.UUID, bool) {
	id, err := uuid.Parse(raw)
	return id, err == nil
}
