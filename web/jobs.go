package web

import (
	"net/http"
	"slices"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/store"
)

type jobsView struct {
	Filter    jobFilter
	Jobs      []store.Job
	Tabs      []tab
	Workloads []string
	Pager     pager
	// Cancellable are the jobs of the filter that have not ended.
	Cancellable int64
	// Empty is true if there is no job at all.
	Empty bool
}

// tab is one of several views of a table.
type tab struct {
	Label   string
	N       int64
	Address string
	Current bool
}

// jobs lists jobs, a page at a time.
func (d *Dashboard) jobs(w http.ResponseWriter, r *http.Request) error {
	f := parseJobFilter(r.URL.Query())
	search, err := f.search()
	if err != nil {
		return err
	}
	list, err := d.store.PageJobs(r.Context(), search, (f.Page-1)*pageSize, pageSize)
	if err != nil {
		return err
	}
	view := jobsView{
		Filter: f, Jobs: list.Items, Tabs: jobTabs(f, list), Workloads: d.workloads.Names(),
		Pager: newPager(f.Page, len(list.Items), list.Total, func(n int) string { return f.onPage(n).At(Prefix + "/jobs") }),
		Empty: list.Total == 0 && !f.Any(),
	}
	for phase, n := range list.ByPhase {
		if !phase.Final() && (len(f.Phases) == 0 || slices.Contains(f.Phases, phase)) {
			view.Cancellable += n
		}
	}
	return d.render(w, r, "jobs", page{Title: "Jobs", Section: "jobs", Topic: "all", Data: view})
}

// jobTabs lead to the jobs of each phase, with their numbers.
func jobTabs(f jobFilter, list store.JobPage) []tab {
	all := tab{Label: "all", Address: f.with().At(Prefix + "/jobs"), Current: len(f.Phases) == 0}
	tabs := []tab{all}
	for _, phase := range jobPhases {
		n := list.ByPhase[phase]
		tabs[0].N += n
		current := len(f.Phases) == 1 && f.Phases[0] == phase
		if n > 0 || current || phase == v1.JobRunning || phase == v1.JobFailed {
			tabs = append(tabs, tab{Label: string(phase), N: n, Address: f.with(phase).At(Prefix + "/jobs"), Current: current})
		}
	}
	return tabs
}
