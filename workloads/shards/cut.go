package shards

import (
	"context"
	"encoding/json"
	"fmt"

	"scimesh.dev/scimesh/chem/fps"
	"scimesh.dev/scimesh/workloads"
	"scimesh.dev/scimesh/workloads/table"
)

// TSVType is the content type of a shard.
const TSVType = "text/tab-separated-values; charset=utf-8"

// DefaultRows is the size of a shard if the Job does not say, MaxTasks bounds
// the tasks of a Job, which a plan holds in memory.
const (
	DefaultRows = 100_000
	MaxTasks    = 100_000
)

// EmptyObject is the JSON of no parameters and of no notes.
var EmptyObject = json.RawMessage(`{}`)

// Notes are what the reducer has to know of a shard: it holds Rows of the Span
// input rows from FirstRow on; the others are in the planner's rejects.
type Notes struct {
	FirstRow int64 `json:"first_row"`
	Rows     int64 `json:"rows"`
	Span     int64 `json:"span"`
}

// Cutter writes the rows of an input into shards, and those that cannot be used
// into a list of rejects.
type Cutter struct {
	ctx     context.Context // lives as long as the planning
	files   workloads.Files
	rows    int64 // input rows of a shard's span
	shard   Output
	notes   Notes // of the shard being written; Span is 0 if there is none
	tasks   []workloads.TaskPlan
	rejects Output
	read    int64
	bits    int    // of fingerprints; 0 if rows have SMILES
	header  []byte // of a shard of fingerprints
	line    []byte
}

// NewCutter returns a Cutter that makes shards of that many input rows, or of
// DefaultRows if it is 0. The context must live as long as the Cutter.
func NewCutter(ctx context.Context, files workloads.Files, rows int64) *Cutter {
	if rows <= 0 {
		rows = DefaultRows
	}
	return &Cutter{ctx: ctx, files: files, rows: rows}
}

// FPSType is the content type of a shard of fingerprints.
const FPSType = "text/plain; charset=utf-8"

// CutFingerprints makes shards of rows that have fingerprints of that type instead
// of SMILES; they are FPS files.
func (s *Cutter) CutFingerprints(t fps.Type) {
	s.bits = t.Bits
	s.header = fps.Header{Bits: t.Bits, Type: t.String()}.Append(nil)
}

// add writes a row into the shard.
func (s *Cutter) add(row table.Row) error {
	switch {
	case (s.bits > 0) != (row.Fingerprint != nil):
		return workloads.Errorf(workloads.ReasonInputInvalid, "the input holds fingerprints; this workload reads SMILES")
	case s.bits > 0:
		s.line = fps.AppendRecord(s.line[:0], row.Fingerprint, s.bits, row.ID)
		return s.shard.Add(s.line, "", nil, "")
	}
	return s.shard.Add(row.ID, "\t", row.SMILES, "\n")
}

// Add takes the next row of the input.
func (s *Cutter) Add(row table.Row) error {
	if s.notes.Span == 0 {
		if err := s.open(row.Number); err != nil {
			return err
		}
	}
	s.read++
	s.notes.Span++
	var err error
	if row.Reject != "" {
		err = s.reject(row)
	} else {
		s.notes.Rows++
		err = s.add(row)
	}
	if err == nil && s.notes.Span == s.rows {
		err = s.close()
	}
	return err
}

// Shards is how many shards there are so far.
func (s *Cutter) Shards() int {
	if s.notes.Span > 0 {
		return len(s.tasks) + 1
	}
	return len(s.tasks)
}

func (s *Cutter) open(firstRow int64) error {
	if len(s.tasks) == MaxTasks {
		return workloads.Errorf(workloads.ReasonInvalidParameters,
			"sharding.rows of %d makes more than %d tasks of this input", s.rows, MaxTasks)
	}
	s.notes = Notes{FirstRow: firstRow}
	if s.bits > 0 {
		name := fmt.Sprintf("shard-%05d.fps", len(s.tasks))
		if err := s.shard.Create(s.ctx, s.files, name, FPSType); err != nil {
			return err
		}
		return s.shard.Add(s.header, "", nil, "")
	}
	name := fmt.Sprintf("shard-%05d.tsv", len(s.tasks))
	if err := s.shard.Create(s.ctx, s.files, name, TSVType); err != nil {
		return err
	}
	return s.shard.Add(nil, table.IDColumn+"\t"+table.SMILESColumn+"\n", nil, "")
}

func (s *Cutter) close() error {
	file, err := s.shard.Commit()
	if err != nil {
		return err
	}
	notes, err := json.Marshal(s.notes)
	if err != nil {
		return err
	}
	s.tasks = append(s.tasks, workloads.TaskPlan{Input: file, Parameters: EmptyObject, Notes: notes})
	s.notes = Notes{}
	return nil
}

// reject adds a line row, id, reason to the list of rejects.
func (s *Cutter) reject(row table.Row) error {
	if !s.rejects.Open() {
		if err := s.rejects.Create(s.ctx, s.files, "planner-rejects.tsv", TSVType); err != nil {
			return err
		}
	}
	return s.rejects.Add(fmt.Append(nil, row.Number), "\t", ValidText(row.ID), "\t"+row.Reject+"\n")
}

// Cut is an input cut into shards.
type Cut struct {
	// Tasks have the shards and their Notes, and no parameters.
	Tasks []workloads.TaskPlan
	// RowsRead counts the rows, those that were rejected among them.
	RowsRead int64
	// Rejects lists the rows that reached no shard, nil if there are none.
	Rejects *workloads.File
}

// Finish closes the last shard.
func (s *Cutter) Finish() (Cut, error) {
	if s.notes.Span > 0 {
		if err := s.close(); err != nil {
			return Cut{}, err
		}
	}
	cut := Cut{Tasks: s.tasks, RowsRead: s.read}
	if s.rejects.Open() {
		file, err := s.rejects.Commit()
		if err != nil {
			return Cut{}, err
		}
		cut.Rejects = &file
	}
	return cut, nil
}

// Abort drops files that are not finished.
func (s *Cutter) Abort() {
	s.shard.Abort()
	s.rejects.Abort()
}
