package web

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/store"
)

// pageSize is how many rows a table shows.
const pageSize = 50

var jobPhases = []v1.JobPhase{v1.JobCreated, v1.JobPlanning, v1.JobRunning, v1.JobReducing, v1.JobCompleted, v1.JobFailed, v1.JobCancelled}

// jobFilter is what an address of the list of jobs says.
type jobFilter struct {
	Text     string
	Labels   string
	Workload string
	Phases   []v1.JobPhase
	Page     int // from 1
	// Names are jobs that were picked one by one.
	Names []string
}

func parseJobFilter(q url.Values) jobFilter {
	f := jobFilter{Text: strings.TrimSpace(q.Get("q")), Labels: strings.TrimSpace(q.Get("labels")), Workload: q.Get("workload"), Page: pageNumber(q), Names: q["job"]}
	for _, p := range q["phase"] {
		if phase := v1.JobPhase(p); slices.Contains(jobPhases, phase) && !slices.Contains(f.Phases, phase) {
			f.Phases = append(f.Phases, phase)
		}
	}
	return f
}

// pageNumber is the page that an address asks for; the first if it is none.
func pageNumber(q url.Values) int {
	n, err := strconv.Atoi(q.Get("page"))
	if err != nil || n < 1 || n > 1_000_000 {
		return 1
	}
	return n
}

// search is the filter as the store takes it.
func (f jobFilter) search() (store.JobSearch, error) {
	s := store.JobSearch{Text: f.Text, JobFilter: store.JobFilter{Phases: f.Phases, Workload: f.Workload}}
	if f.Labels == "" {
		return s, nil
	}
	selector, err := v1.ParseSelector(f.Labels)
	s.Labels = selector
	return s, err
}

// Query is the filter as part of an address.
func (f jobFilter) Query() url.Values {
	q := url.Values{}
	for name, v := range map[string]string{"q": f.Text, "labels": f.Labels, "workload": f.Workload} {
		if v != "" {
			q.Set(name, v)
		}
	}
	for _, p := range f.Phases {
		q.Add("phase", string(p))
	}
	if f.Page > 1 {
		q.Set("page", strconv.Itoa(f.Page))
	}
	return q
}

// At is the address of the list with this filter.
func (f jobFilter) At(path string) string {
	if q := f.Query().Encode(); q != "" {
		return path + "?" + q
	}
	return path
}

// with returns the filter with other phases, on the first page.
func (f jobFilter) with(phases ...v1.JobPhase) jobFilter {
	f.Phases, f.Page = phases, 1
	return f
}

// FirstPage returns the filter on the first page.
func (f jobFilter) FirstPage() jobFilter { return f.onPage(1) }

// onPage returns the filter on another page.
func (f jobFilter) onPage(n int) jobFilter {
	f.Page = n
	return f
}

// Any reports whether the filter leaves anything out.
func (f jobFilter) Any() bool {
	return f.Text != "" || f.Labels != "" || f.Workload != "" || len(f.Phases) > 0
}

// pager says which part of a table is shown, and leads to the others.
type pager struct {
	First, Last, Total           int64
	Start, Previous, Next, Final string // addresses; empty where there is nothing
}

// newPager returns the pager of a page with n rows; at gives the address of another page.
func newPager(page, n int, total int64, at func(page int) string) pager {
	p := pager{Total: total, First: int64(page-1)*pageSize + 1, Last: int64(page-1)*pageSize + int64(n)}
	pages := int((total + pageSize - 1) / pageSize)
	if page > 1 && pages > 0 {
		p.Start, p.Previous = at(1), at(min(page-1, pages))
	}
	if page < pages {
		p.Next, p.Final = at(page+1), at(pages)
	}
	return p
}
