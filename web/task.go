package web

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"scimesh.dev/scimesh/store"
)

// shownLog is how much of an attempt's log a page shows.
const shownLog = 64 << 10

type taskView struct {
	Task     store.Task
	Attempts []attemptView // newest first
	Total    int64
	// Previous and Next lead to the neighbours.
	Previous, Next string
}

type attemptView struct {
	store.Attempt
	Log string
	// Cut is true if the log begins before what is shown.
	Cut bool
}

// task shows one task with all its attempts.
func (d *Dashboard) task(w http.ResponseWriter, r *http.Request) error {
	name, raw := r.PathValue("name"), r.PathValue("index")
	index, err := strconv.ParseInt(raw, 10, 32)
	if err != nil || index < 0 {
		return notFound("task", raw)
	}
	j, err := d.findJob(r.Context(), name)
	if err != nil {
		return err
	}
	id, err := d.store.FindTask(r.Context(), j.ID, int32(index))
	if err != nil {
		return missing(err, "task", name+"-"+raw)
	}
	view := taskView{Total: j.Tasks.Total}
	if view.Task, err = d.store.GetTask(r.Context(), id); err != nil {
		return missing(err, "task", name+"-"+raw)
	}
	for _, a := range slices.Backward(view.Task.Attempts) {
		shown, err := d.attempt(r.Context(), view.Task, a)
		if err != nil {
			return err
		}
		view.Attempts = append(view.Attempts, shown)
	}
	if base := Prefix + "/jobs/" + j.Name + "/tasks/"; index > 0 {
		view.Previous = base + strconv.FormatInt(index-1, 10)
	}
	if index+1 < j.Tasks.Total {
		view.Next = Prefix + "/jobs/" + j.Name + "/tasks/" + strconv.FormatInt(index+1, 10)
	}
	return d.render(w, r, "task", page{Title: "Task " + raw + " of " + j.Name, Section: "jobs", Topic: j.ID.String(), Data: view})
}

// attempt reads the end of an attempt's log.
func (d *Dashboard) attempt(ctx context.Context, t store.Task, a store.Attempt) (attemptView, error) {
	view := attemptView{Attempt: a}
	from := max(0, a.LogBytes-shownLog)
	view.Cut = from > 0
	if a.LogBytes == 0 {
		return view, nil
	}
	chunk, err := d.store.ReadLog(ctx, t.ID, a.Attempt, from, shownLog)
	if err != nil {
		return view, err
	}
	view.Log = printable(chunk.Body)
	return view, nil
}

// printable is a log as it can be shown: valid UTF-8 without control
// characters but tabs and line ends.
func printable(body []byte) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || r >= ' ' && r != 0x7f {
			return r
		}
		return -1
	}, strings.ToValidUTF8(string(body), "�"))
}
