package similaritysearch

import (
	"fmt"
	"slices"

	"scimesh.dev/scimesh/chem/fps"
	"scimesh.dev/scimesh/workloads"
	"scimesh.dev/scimesh/workloads/shards"
	"scimesh.dev/scimesh/workloads/table"
)

// Reasons of errors that only the planner can see.
const (
	// ReasonQueryNotFound says that no row of the input has the id query_id.
	ReasonQueryNotFound = "QueryNotFound"
	// ReasonQueryInvalid says that no row of that id has a usable SMILES.
	ReasonQueryInvalid = "QueryInvalid"
	// ReasonFingerprintTypeMismatch says that the fingerprints of the input are not
	// of the type that the Job compares.
	ReasonFingerprintTypeMismatch = shards.ReasonFingerprintTypeMismatch
)

// finder looks for the query molecule: the first row of the id query_id whose
// SMILES is valid, or that has a fingerprint.
type finder struct {
	workload *Workload
	id       *string // nil if the query was given as SMILES
	kind     fps.Type
	found    *query
	// problem says what is wrong with the first row of that id.
	problem string
}

func newFinder(w *Workload, kind fps.Type, id *string) *finder {
	return &finder{workload: w, kind: kind, id: id}
}

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
	if row.Fingerprint != nil {
		f.found = &query{id: f.id, bits: slices.Clone(row.Fingerprint)}
		return
	}
	q, err := f.workload.newQuery(f.kind, f.id, string(row.SMILES))
	if err != nil {
		f.note(row, "its SMILES: "+err.Error())
		return
	}
	f.found = q
}

func (f *finder) note(row table.Row, problem string) {
	if f.problem == "" {
		f.problem = fmt.Sprintf("row %d has this id but cannot be used: %s", row.Number, problem)
	}
}

// result puts the query into the parameters once the input has been read.
func (f *finder) result(p *parameters) error {
	switch {
	case f.id == nil:
		return nil
	case f.found == nil && f.problem != "":
		return workloads.Errorf(ReasonQueryInvalid, "query_id %q: %s", *f.id, f.problem)
	case f.found == nil:
		return workloads.Errorf(ReasonQueryNotFound, "query_id %q: no row of the input has this id", *f.id)
	case f.found.smiles == nil:
		p.QueryFingerprint = string(fps.AppendHex(nil, f.found.bits, f.kind.Bits))
	default:
		smiles := string(f.found.smiles)
		p.QuerySMILES = &smiles
	}
	return nil
}
