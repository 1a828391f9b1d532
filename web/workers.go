package web

import (
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/google/uuid"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/store"
)

// workerWindow is how far back the rate of a worker looks.
const workerWindow = 5 * time.Minute

type workersView struct {
	Workers  []workerView
	Tabs     []tab
	Phase    string
	Next     string // address of the next page
	Fleeting bool   // a filter is set
}

type workerView struct {
	store.Worker
	// Rate is tasks a minute over workerWindow.
	Rate float64
}

// Quarantined reports whether the worker gets no task for now.
func (w workerView) Quarantined() bool { return w.QuarantinedUntil.After(w.ReadAt) }

// workers lists the workers by name.
func (d *Dashboard) workers(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	var f store.WorkerFilter
	phase := v1.WorkerPhase(q.Get("phase"))
	known := []v1.WorkerPhase{v1.WorkerBusy, v1.WorkerOnline, v1.WorkerOffline}
	if slices.Contains(known, phase) {
		f.Phases = []v1.WorkerPhase{phase}
	} else {
		phase = ""
	}
	stats, err := d.store.QueueStats(r.Context())
	if err != nil {
		return err
	}
	rates, err := d.store.CompletedTasks(r.Context(), workerWindow)
	if err != nil {
		return err
	}
	list, err := d.store.ListWorkers(r.Context(), f, store.Page{Limit: 200, Continue: q.Get("after")})
	if err != nil {
		return err
	}
	view := workersView{Phase: string(phase), Fleeting: phase != ""}
	for _, worker := range list.Items {
		view.Workers = append(view.Workers, workerView{worker, perMinute(rates[worker.ID])})
	}
	at := func(p v1.WorkerPhase, after string) string {
		values := url.Values{}
		if p != "" {
			values.Set("phase", string(p))
		}
		if after != "" {
			values.Set("after", after)
		}
		if len(values) == 0 {
			return Prefix + "/workers"
		}
		return Prefix + "/workers?" + values.Encode()
	}
	view.Tabs = []tab{{Label: "all", Address: at("", ""), Current: phase == ""}}
	for _, p := range known {
		n := stats.Workers[p]
		view.Tabs[0].N += n
		view.Tabs = append(view.Tabs, tab{Label: string(p), N: n, Address: at(p, ""), Current: p == phase})
	}
	if list.Continue != "" {
		view.Next = at(phase, list.Continue)
	}
	return d.render(w, r, "workers", page{Title: "Workers", Section: "workers", Topic: "all", Data: view})
}

func perMinute(tasks int64) float64 { return float64(tasks) / workerWindow.Minutes() }

type workerPage struct {
	Worker workerView
	Tasks  []store.Task // that it holds now
	Errors []store.WorkerAttempt
	Events []store.Event
}

// worker shows one worker.
func (d *Dashboard) worker(w http.ResponseWriter, r *http.Request) error {
	id, ok := idOf(r.PathValue("id"))
	if !ok {
		return notFound("worker", r.PathValue("id"))
	}
	worker, err := d.store.GetWorker(r.Context(), id)
	if err != nil {
		return missing(err, "worker", id.String())
	}
	rates, err := d.store.CompletedTasks(r.Context(), workerWindow)
	if err != nil {
		return err
	}
	view := workerPage{Worker: workerView{worker, perMinute(rates[id])}}
	held, err := d.store.ListTasks(r.Context(), store.TaskFilter{Worker: id}, store.Page{Limit: pageSize})
	if err != nil {
		return err
	}
	view.Tasks = held.Items
	if view.Errors, err = d.store.FailedAttempts(r.Context(), id, 20); err != nil {
		return err
	}
	if view.Events, err = d.store.RecentEvents(r.Context(), store.EventFilter{Worker: id}, false, 20); err != nil {
		return err
	}
	return d.render(w, r, "worker", page{Title: worker.Name, Section: "workers", Topic: uuid.Nil.String(), Data: view})
}
