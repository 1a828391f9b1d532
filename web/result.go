package web

import (
	"cmp"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"go.uber.org/zap"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/store"
)

// shownRows is how many rows of a result a page shows.
const shownRows = 500

type resultView struct {
	Job     store.Job
	Columns []column
	Rows    [][]cell
	// More is how many rows follow those that are shown.
	More int64
	// QueryID and QuerySMILES are what a search looked for.
	QueryID, QuerySMILES string
	// Graph is what is said of a result that is a list of edges, Chosen the
	// neighbourhood of one of its molecules; NoChosen is one that has no edge.
	Graph    *graphStudy
	Chosen   *neighbourhood
	NoChosen string
}

// column is a column of a result.
type column struct {
	Name string
	// Kind is text, number, structure or similarity.
	Kind string
	// Sort is the address of the page sorted by the column; Sorted says how it is now.
	Sort   string
	Sorted string // ascending, descending or none
}

// cell is one value of a result.
type cell struct {
	Kind string
	Text string
	// Share is the value of a similarity in hundredths.
	Share float64
}

// result shows the final file of a Job.
func (d *Dashboard) result(w http.ResponseWriter, r *http.Request) error {
	j, err := d.findJob(r.Context(), r.PathValue("name"))
	if err != nil {
		return err
	}
	if j.Phase != v1.JobCompleted || j.Result == nil {
		return &pageError{status: http.StatusNotFound, title: "No result", message: "Job " + j.Name + " is " + string(j.Phase) + ": it has no result.",
			hint: "scimesh why job/" + j.Name}
	}
	header, rows, err := d.readCSV(r.Context(), j.Result.SHA256)
	if err != nil {
		return err
	}
	view := resultView{Job: j, More: max(0, j.Result.Rows-int64(len(rows)))}
	view.QueryID, view.QuerySMILES = queryOf(j)
	view.arrange(header, rows, r.URL.Query())
	if isGraph(header) && len(rows) > 0 {
		if err := d.loadGraph(r.Context(), &view, r.URL.Query().Get("molecule")); err != nil {
			return err
		}
	}
	return d.render(w, r, "result", page{Title: "Result of " + j.Name, Section: "jobs", Data: view})
}

// maxStudies bounds the studies of graphs at once, maxKept those that are kept.
const (
	maxStudies = 2
	maxKept    = 32
)

// loadGraph studies a graph, and the neighbourhood of a molecule of it: of the
// one with the most neighbours unless another is chosen.
func (d *Dashboard) loadGraph(ctx context.Context, view *resultView, molecule string) error {
	if !d.studies.take() {
		return &pageError{status: http.StatusServiceUnavailable, title: "Busy", message: "Other graphs are being read. Load the page again in a moment."}
	}
	defer d.studies.give()
	digest := view.Job.Result.SHA256
	kept, ok := d.studied.Load(digest)
	if !ok {
		study, err := d.study(ctx, digest)
		if err != nil {
			return err
		}
		d.keepStudy(digest, study)
		kept = study
	}
	view.Graph = kept.(*graphStudy)
	var err error
	if view.Chosen, err = d.around(ctx, digest, cmp.Or(molecule, view.Graph.Hub)); err != nil {
		return err
	}
	if view.Chosen == nil {
		view.NoChosen = molecule
		return nil
	}
	if err := view.Chosen.findStructures(ctx, d, view.Job); err != nil {
		d.log.Info("structures of a graph are not shown", zap.Stringer("job_id", view.Job.ID), zap.Error(err))
	}
	return nil
}

// keepStudy keeps what is said of a graph: its bytes never change.
func (d *Dashboard) keepStudy(digest string, study *graphStudy) {
	n := 0
	d.studied.Range(func(any, any) bool { n++; return true })
	if n >= maxKept {
		d.studied.Clear()
	}
	d.studied.Store(digest, study)
}

// readCSV reads the header and the first rows of a file.
func (d *Dashboard) readCSV(ctx context.Context, sha256 string) (header []string, rows [][]string, err error) {
	blob, err := d.blobs.Open(ctx, sha256)
	if err != nil {
		return nil, nil, err
	}
	defer blob.Close()
	in := csv.NewReader(blob)
	if header, err = in.Read(); err != nil {
		return nil, nil, err
	}
	for len(rows) < shownRows {
		row, err := in.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, nil, err
		}
		rows = append(rows, row)
	}
	return header, rows, nil
}

// queryOf is what a search looked for: what the Job says, or what its planner found.
func queryOf(j store.Job) (id, smiles string) {
	var p struct {
		QueryID     string `json:"query_id"`
		QuerySMILES string `json:"query_smiles"`
	}
	_ = json.Unmarshal(j.Spec.Parameters, &p) // parameters of another workload have no query
	if p.QuerySMILES == "" && j.Plan != nil {
		_ = json.Unmarshal(j.Plan.Shared, &p)
	}
	return p.QueryID, p.QuerySMILES
}

// arrange makes columns and cells, sorted as the address says.
func (v *resultView) arrange(header []string, rows [][]string, q url.Values) {
	sorted := slices.Index(header, q.Get("sort"))
	descending := q.Get("dir") == "desc"
	for i, name := range header {
		c := column{Name: name, Kind: columnKind(name, rows, i), Sorted: "none"}
		dir := "asc"
		if i == sorted {
			c.Sorted = "ascending"
			if descending {
				c.Sorted = "descending"
			} else {
				dir = "desc"
			}
		}
		c.Sort = Prefix + "/jobs/" + v.Job.Name + "/result?" + url.Values{"sort": {name}, "dir": {dir}}.Encode()
		v.Columns = append(v.Columns, c)
	}
	if sorted >= 0 {
		sortRows(rows, sorted, v.Columns[sorted].Kind, descending)
	}
	for _, row := range rows {
		cells := make([]cell, len(row))
		for i, text := range row {
			cells[i] = cell{Kind: v.Columns[i].Kind, Text: text}
			if cells[i].Kind == "similarity" {
				share, _ := strconv.ParseFloat(text, 64) // checked by columnKind
				cells[i].Share = share * 100
			}
		}
		v.Rows = append(v.Rows, cells)
	}
}

// columnKind tells what a column holds, by its name and its values.
func columnKind(name string, rows [][]string, i int) string {
	if name == "canonical_smiles" || name == "smiles" {
		return "structure"
	}
	for _, row := range rows {
		v, err := strconv.ParseFloat(row[i], 64)
		if err != nil {
			return "text"
		}
		if name == "similarity" && (v < 0 || v > 1) {
			return "number"
		}
	}
	if name == "similarity" {
		return "similarity"
	}
	return "number"
}

// sortRows sorts by one column, and leaves equal rows in their order.
func sortRows(rows [][]string, i int, kind string, descending bool) {
	number := func(s string) float64 { v, _ := strconv.ParseFloat(s, 64); return v }
	slices.SortStableFunc(rows, func(a, b []string) int {
		c := cmp.Compare(a[i], b[i])
		if kind == "number" || kind == "similarity" {
			c = cmp.Compare(number(a[i]), number(b[i]))
		}
		if descending {
			return -c
		}
		return c
	})
}
