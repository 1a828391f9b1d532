package web

import (
	"encoding/csv"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"scimesh.dev/scimesh/store"
)

// maxCSVJobs bounds an export.
const maxCSVJobs = 10_000

// jobsCSV exports the jobs of a filter.
func (d *Dashboard) jobsCSV(w http.ResponseWriter, r *http.Request) error {
	search, err := parseJobFilter(r.URL.Query()).search()
	if err != nil {
		return err
	}
	list, err := d.store.PageJobs(r.Context(), search, 0, maxCSVJobs)
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", "text/csv; charset=utf-8")
	h.Set("Content-Disposition", `attachment; filename="jobs.csv"`)
	out := csv.NewWriter(w)
	out.UseCRLF = true
	_ = out.Write([]string{"name", "phase", "workload", "labels", "tasks", "completed", "failed", "created", "ended", "error"})
	for _, j := range list.Items {
		_ = out.Write(jobRecord(j))
	}
	out.Flush()
	return nil // a client that left gets the rest of nothing
}

func jobRecord(j store.Job) []string {
	ended := ""
	if !j.CompletedAt.IsZero() {
		ended = machineTime(j.CompletedAt)
	}
	record := []string{
		j.Name, string(j.Phase), j.Spec.Workload, labelText(j.Labels), strconv.FormatInt(j.Tasks.Total, 10),
		strconv.FormatInt(j.Tasks.Completed, 10), strconv.FormatInt(j.Tasks.Failed, 10), machineTime(j.CreatedAt), ended, j.ErrorMessage,
	}
	for i := range record {
		record[i] = csvCell(record[i])
	}
	return record
}

// labelText prints labels in the order of their keys.
func labelText(labels map[string]string) string {
	parts := make([]string, 0, len(labels))
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		parts = append(parts, key+"="+labels[key])
	}
	return strings.Join(parts, ",")
}

// csvCell makes a text safe to open in a spreadsheet, which takes what begins
// with one of these characters for a formula and may run it.
func csvCell(s string) string {
	if s != "" && strings.ContainsRune("=+-@\t\r\n|%", rune(s[0])) {
		return "'" + s
	}
	return s
}
