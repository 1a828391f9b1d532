package web

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"

	"scimesh.dev/scimesh/store"
)

type cancelView struct {
	Filter jobFilter
	// Names are the jobs picked one by one; else the filter selects.
	Names []string
	N     int64
}

// cancelPage asks before many jobs are cancelled, and says how many.
func (d *Dashboard) cancelPage(w http.ResponseWriter, r *http.Request) error {
	f := parseJobFilter(r.URL.Query())
	view := cancelView{Filter: f, Names: f.Names, N: int64(len(f.Names))}
	if len(f.Names) == 0 {
		search, err := f.search()
		if err != nil {
			return err
		}
		list, err := d.store.PageJobs(r.Context(), search, 0, 1)
		if err != nil {
			return err
		}
		for phase, n := range list.ByPhase {
			if !phase.Final() && (len(f.Phases) == 0 || slices.Contains(f.Phases, phase)) {
				view.N += n
			}
		}
	}
	return d.render(w, r, "cancel", page{Title: "Cancel jobs", Section: "jobs", Data: view})
}

// cancelAll cancels the jobs that the form names or selects.
func (d *Dashboard) cancelAll(w http.ResponseWriter, r *http.Request) error {
	if err := parseForm(w, r); err != nil {
		return err
	}
	f := parseJobFilter(r.PostForm)
	f.Page = 1
	if len(f.Names) > 0 {
		if err := d.cancelNamed(r.Context(), f.Names); err != nil {
			return err
		}
	} else {
		search, err := f.search()
		if err != nil {
			return err
		}
		if _, err := d.store.RequestCancelAll(r.Context(), search); err != nil {
			return err
		}
	}
	http.Redirect(w, r, f.At(Prefix+"/jobs"), http.StatusSeeOther)
	return nil
}

// cancelNamed cancels jobs by name. Those that are gone or have ended are left alone.
func (d *Dashboard) cancelNamed(ctx context.Context, names []string) error {
	for _, name := range names {
		if _, err := d.store.RequestCancel(ctx, name); err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
	}
	return nil
}

// cancelJob cancels one job.
func (d *Dashboard) cancelJob(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("name")
	if _, err := d.store.RequestCancel(r.Context(), name); err != nil {
		return missing(err, "job", name)
	}
	http.Redirect(w, r, Prefix+"/jobs/"+url.PathEscape(name), http.StatusSeeOther)
	return nil
}
