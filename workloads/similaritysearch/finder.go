package similaritysearch

import (
	"fmt"

	"scimesh.dev/scimesh/workloads"
	"scimesh.dev/scimesh/workloads/table"
)

// Reasons of errors that only the planner can see.
const (
	// ReasonQueryNotFound says that no row of the input has the id query_id.
	ReasonQueryNotFound = "QueryNotFound"
	// ReasonQueryInvalid says that no row of that id has a usable SMILES.
	ReasonQueryInvalid = "QueryInvalid"
)

// finder looks for the query molecule: the first row of the id query_id whose
// SMILES is valid.
type finder struct {
	workload *Workload
	id       *string // nil if the query was given as SMILES
	found    *string
	// problem says what is wrong with the first row of that id.
	problem string
}

func newFinder(w *Workload, id *string) *finder { return &finder{workload: w, id: id} }

// done reports that no further row matters.
func (f *finder) done() bool { return f.id == nil || f.found != nil }

func (f *finder) see(row table.Row) {
	if f.done() || string(row.ID) != *f.id {
		return
	}
	if row.Reject != "" {
		f.note(row, row.Reject)
		return
	}
	smiles := string(row.SMILES)
	if _, err := f.workload.newQuery(f.id, smiles); err != nil {
		f.note(row, "its SMILES: "+err.Error())
		return
	}
	f.found = &smiles
}

func (f *finder) note(row table.Row, problem string) {
	if f.problem == "" {
		f.problem = fmt.Sprintf("row %d has this id but cannot be used: %s", row.Number, problem)
	}
}

// result returns the query's SMILES once the input has been read.
func (f *finder) result() (*string, error) {
	switch {
	case f.found != nil:
		return f.found, nil
	case f.problem != "":
		return nil, workloads.Errorf(ReasonQueryInvalid, "query_id %q: %s", *f.id, f.problem)
	}
	return nil, workloads.Errorf(ReasonQueryNotFound, "query_id %q: no row of the input has this id", *f.id)
}
