package web

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/store"
)

// rateWindow is how far back rates look.
const rateWindow = time.Minute

// overview answers: is it healthy, what runs, how fast?
func (d *Dashboard) overview(w http.ResponseWriter, r *http.Request) error {
	view := overviewView{Controllers: d.controllerList()}
	want := regionsOf(r)
	if want.Has("numbers") || want.Has("health") {
		if err := d.loadNumbers(r.Context(), &view); err != nil {
			return err
		}
	}
	if want.Has("running") {
		open, err := d.store.PageJobs(r.Context(), store.JobSearch{JobFilter: store.JobFilter{
			Phases: []v1.JobPhase{v1.JobCreated, v1.JobPlanning, v1.JobRunning, v1.JobReducing},
		}}, 0, 10)
		if err != nil {
			return err
		}
		view.Running = open
	}
	if want.Has("warnings") {
		events, err := d.store.RecentEvents(r.Context(), store.EventFilter{}, true, 8)
		if err != nil {
			return err
		}
		view.Warnings = events
	}
	return d.render(w, r, "overview", page{Title: "Overview", Section: "overview", Topic: "all", Data: view})
}

type overviewView struct {
	Checks   []check
	Stats    store.QueueStats
	Workers  []workerCount
	Rate     float64 // tasks a second
	Running  store.JobPage
	Warnings []store.Event
	// Controllers are the reconcilers of this process.
	Controllers []v1.ControllerStatus
}

// workerCount is how many workers are in a phase.
type workerCount struct {
	Phase v1.WorkerPhase
	N     int64
}

// check is one answer to whether all is well.
type check struct {
	Name   string
	State  string // ok, warning, bad
	Detail string
}

func (d *Dashboard) loadNumbers(ctx context.Context, view *overviewView) error {
	var err error
	if view.Stats, err = d.store.QueueStats(ctx); err != nil {
		return err
	}
	done, err := d.store.CompletedTasks(ctx, rateWindow)
	if err != nil {
		return err
	}
	var tasks int64
	for _, n := range done {
		tasks += n
	}
	view.Rate = float64(tasks) / rateWindow.Seconds()
	for _, phase := range []v1.WorkerPhase{v1.WorkerBusy, v1.WorkerOnline, v1.WorkerOffline} {
		view.Workers = append(view.Workers, workerCount{phase, view.Stats.Workers[phase]})
	}
	view.Checks = d.checks(ctx, view.Stats)
	return nil
}

func (d *Dashboard) checks(ctx context.Context, stats store.QueueStats) []check {
	database := check{"Database", "ok", "answers, and holds the schema of this program"}
	if err := d.store.Ping(ctx); err != nil {
		database = check{"Database", "bad", "does not answer"}
	}
	return []check{database, d.checkStorage(ctx), checkControllers(d.controllerList()), checkWorkers(stats)}
}

// checkStorage looks whether the artifact store can be read.
func (d *Dashboard) checkStorage(ctx context.Context) check {
	for _, err := range d.blobs.List(ctx) {
		if err != nil {
			return check{"Storage", "bad", "the artifact store cannot be read"}
		}
		break // the first is enough
	}
	return check{"Storage", "ok", "the artifact store can be read"}
}

func checkControllers(list []v1.ControllerStatus) check {
	var ill []string
	for _, c := range list {
		if failing(c) {
			ill = append(ill, c.Name)
		}
	}
	if len(ill) > 0 {
		return check{"Controllers", "warning", "last run failed: " + strings.Join(ill, ", ")}
	}
	return check{"Controllers", "ok", plural(int64(len(list)), "reconciler", "reconcilers") + " without an error since the last success"}
}

// failing reports whether a reconciler's last end was an error.
func failing(c v1.ControllerStatus) bool {
	return c.LastErrorAt != nil && (c.LastSuccessAt == nil || c.LastErrorAt.After(c.LastSuccessAt.Time))
}

func checkWorkers(stats store.QueueStats) check {
	alive := stats.Workers[v1.WorkerOnline] + stats.Workers[v1.WorkerBusy]
	switch {
	case alive > 0:
		return check{"Workers", "ok", plural(alive, "worker", "workers") + " alive"}
	case stats.Tasks.Pending > 0:
		return check{"Workers", "bad", plural(stats.Tasks.Pending, "task waits", "tasks wait") + ", and no worker is alive"}
	default:
		return check{"Workers", "warning", "no worker is alive"}
	}
}

// controllerList are the reconcilers of this process by name.
func (d *Dashboard) controllerList() []v1.ControllerStatus {
	list := slices.Clone(d.reconcile())
	slices.SortFunc(list, func(a, b v1.ControllerStatus) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// controllers shows every reconciler.
func (d *Dashboard) controllers(w http.ResponseWriter, r *http.Request) error {
	return d.render(w, r, "controllers", page{Title: "Controllers", Section: "controllers", Topic: "all", Data: d.controllerList()})
}
