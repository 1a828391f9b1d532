package shards

import (
	"context"
	"io"
	"strconv"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/workloads"
	"scimesh.dev/scimesh/workloads/csvfile"
)

// CSVType is the content type of results and rejects.
const CSVType = "text/csv; charset=utf-8"

// RejectsMerger writes rejects.csv: the rejects of the planner and those of the
// shards, by ascending row of the input. It adds the planner's to the ledger.
type RejectsMerger struct {
	*RowMap
	ctx    context.Context // lives as long as the reduction
	files  workloads.Files
	out    Output
	line   []byte
	rows   int64 // written
	ledger *v1.Ledger
}

// NewRejectsMerger reads the planner's rejects; open is nil if there are none.
func NewRejectsMerger(ctx context.Context, files workloads.Files, open func(context.Context) (io.ReadCloser, error), l *v1.Ledger) (*RejectsMerger, error) {
	rows, err := NewRowMap(ctx, open)
	if err != nil {
		return nil, err
	}
	m := &RejectsMerger{RowMap: rows, ctx: ctx, files: files, ledger: l}
	rows.passed = m.plannerReject
	return m, nil
}

// Reject writes the reject of a shard's row, after the planner's rejects before it.
func (m *RejectsMerger) Reject(row int64, id []byte, reason string) error {
	at, err := m.Row(row)
	if err != nil {
		return err
	}
	return m.write(at, id, reason)
}

// RejectAt writes the reject of a row of the input that Row has returned last.
func (m *RejectsMerger) RejectAt(row int64, id []byte, reason string) error {
	return m.write(row, id, reason)
}

// Rows is how many rejects were written.
func (m *RejectsMerger) Rows() int64 { return m.rows }

func (m *RejectsMerger) plannerReject(r planReject) error {
	m.ledger.RowsRead++
	m.ledger.Rejected[r.reason]++
	return m.write(r.row, r.id, r.reason)
}

func (m *RejectsMerger) write(row int64, id []byte, reason string) error {
	m.line = m.line[:0]
	if !m.out.Open() {
		if err := m.out.Create(m.ctx, m.files, "rejects.csv", CSVType); err != nil {
			return err
		}
		m.line = csvfile.AppendRecord(m.line, "row", "chembl_id", "reason")
	}
	m.line = csvfile.AppendRecord(m.line, strconv.FormatInt(row, 10), string(id), reason)
	m.rows++
	return m.out.Add(m.line, "", nil, "")
}

// Commit returns the file, nil if there were no rejects.
func (m *RejectsMerger) Commit() (*workloads.File, error) {
	if !m.out.Open() {
		return nil, nil
	}
	file, err := m.out.Commit()
	if err != nil {
		return nil, err
	}
	return &file, nil
}

// Abort closes what is read and drops what is not committed.
func (m *RejectsMerger) Abort() {
	m.Close()
	m.out.Abort()
}
