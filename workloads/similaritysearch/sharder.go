package similaritysearch

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"scimesh.dev/scimesh/workloads"
	"scimesh.dev/scimesh/workloads/table"
)

const tsvType = "text/tab-separated-values; charset=utf-8"

// sharder writes the rows of the input into shards, and those that cannot be
// used into a list of rejects.
type sharder struct {
	ctx     context.Context // lives as long as Plan
	files   workloads.Files
	rows    int64 // input rows of a shard's span
	shard   output
	notes   taskNotes // of the shard being written; Span is 0 if there is none
	tasks   []workloads.TaskPlan
	rejects output
	read    int64
}

func newSharder(ctx context.Context, files workloads.Files, rows int64) *sharder {
	if rows <= 0 {
		rows = defaultRows
	}
	return &sharder{ctx: ctx, files: files, rows: rows}
}

// add takes the next row of the input.
func (s *sharder) add(row table.Row) error {
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
		err = s.shard.add(row.ID, "\t", row.SMILES, "\n")
	}
	if err == nil && s.notes.Span == s.rows {
		err = s.close()
	}
	return err
}

func (s *sharder) open(firstRow int64) error {
	if len(s.tasks) == maxTasks {
		return workloads.Errorf(workloads.ReasonInvalidParameters,
			"sharding.rows of %d makes more than %d tasks of this input", s.rows, maxTasks)
	}
	s.notes = taskNotes{FirstRow: firstRow}
	name := fmt.Sprintf("shard-%05d.tsv", len(s.tasks))
	if err := s.shard.create(s.ctx, s.files, name, tsvType); err != nil {
		return err
	}
	return s.shard.add(nil, table.IDColumn+"\t"+table.SMILESColumn+"\n", nil, "")
}

func (s *sharder) close() error {
	file, err := s.shard.commit()
	if err != nil {
		return err
	}
	notes, err := json.Marshal(s.notes)
	if err != nil {
		return err
	}
	s.tasks = append(s.tasks, workloads.TaskPlan{Input: file, Parameters: emptyObject, Notes: notes})
	s.notes = taskNotes{}
	return nil
}

// reject adds a line row, id, reason to the list of rejects.
func (s *sharder) reject(row table.Row) error {
	if !s.rejects.open() {
		if err := s.rejects.create(s.ctx, s.files, "planner-rejects.tsv", tsvType); err != nil {
			return err
		}
	}
	return s.rejects.add(fmt.Append(nil, row.Number), "\t", validText(row.ID), "\t"+row.Reject+"\n")
}

// plan closes the last shard and returns the whole plan.
func (s *sharder) plan(p parameters) (workloads.Plan, error) {
	if s.notes.Span > 0 {
		if err := s.close(); err != nil {
			return workloads.Plan{}, err
		}
	}
	p.MaxRows = 0
	plan := workloads.Plan{Tasks: s.tasks, Shared: p.encode(), Notes: emptyObject, RowsRead: s.read}
	if s.rejects.open() {
		file, err := s.rejects.commit()
		if err != nil {
			return workloads.Plan{}, err
		}
		plan.Rejects = &file
	}
	return plan, nil
}

func (s *sharder) abort() {
	s.shard.abort()
	s.rejects.abort()
}

// validText replaces bytes that are not UTF-8 by U+FFFD.
func validText(b []byte) []byte { return bytes.ToValidUTF8(b, []byte("\ufffd")) }

// output is a buffered file of Files that may not have been created yet.
type output struct {
	file workloads.FileWriter
	buf  *bufio.Writer
}

func (o *output) open() bool { return o.file != nil }

func (o *output) create(ctx context.Context, files workloads.Files, name, contentType string) error {
	file, err := files.Create(ctx, name, contentType)
	if err != nil {
		return err
	}
	o.file = file
	if o.buf == nil {
		o.buf = bufio.NewWriterSize(file, 64<<10)
	} else {
		o.buf.Reset(file)
	}
	return nil
}

// add writes its arguments in turn; bufio keeps the first error for later.
func (o *output) add(a []byte, b string, c []byte, d string) error {
	_, _ = o.buf.Write(a)
	_, _ = o.buf.WriteString(b)
	_, _ = o.buf.Write(c)
	_, err := o.buf.WriteString(d)
	return err
}

func (o *output) commit() (workloads.File, error) {
	defer o.abort()
	if err := o.buf.Flush(); err != nil {
		return workloads.File{}, err
	}
	return o.file.Commit()
}

// abort drops the file unless it was committed.
func (o *output) abort() {
	if o.file != nil {
		o.file.Abort()
		o.file = nil
	}
}
