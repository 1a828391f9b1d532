package similaritysearch

import (
	"context"
	"encoding/json"
	"strconv"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/workloads"
	"scimesh.dev/scimesh/workloads/csvfile"
)

// rejectsMerger writes rejects.csv: the rejects of the planner and those of the
// shards, by ascending row of the input. The planner's rejects are missing from
// the shards, so a row of a shard stands in the input after all of them that
// come before it.
type rejectsMerger struct {
	ctx     context.Context // lives as long as Reduce
	files   workloads.Files
	out     output
	line    []byte
	rows    int64 // written
	planned *planRejects
	ledger  *v1.Ledger // to which the planner's rejects are added

	next    int64 // the first input row of the next shard
	span    taskNotes
	missing int64 // planner's rejects seen in the span so far
}

func newRejectsMerger(ctx context.Context, files workloads.Files, planned *planRejects, l *v1.Ledger) *rejectsMerger {
	return &rejectsMerger{ctx: ctx, files: files, planned: planned, ledger: l, next: 1}
}

// begin starts the next shard. If the planner could not read the input, a shard
// is a span of its own, of as many rows as the worker finds.
func (m *rejectsMerger) begin(chunk int32, notes json.RawMessage, unread bool) error {
	m.span, m.missing = taskNotes{FirstRow: m.next, Span: -1}, 0
	if unread {
		return nil
	}
	if err := json.Unmarshal(notes, &m.span); err != nil || m.span.FirstRow != m.next || m.span.Span < m.span.Rows {
		return workloads.Errorf(workloads.ReasonLedgerMismatch,
			"task %d does not begin where the one before it ends, at row %d", chunk, m.next)
	}
	return nil
}

// shardReject writes the reject of a shard's row, after the planner's rejects before it.
func (m *rejectsMerger) shardReject(row int64, id []byte, reason string) error {
	at := m.span.FirstRow + row - 1 + m.missing
	for ; m.planned.upTo(at); at++ {
		if err := m.plannerReject(); err != nil {
			return err
		}
	}
	return m.write(at, id, reason)
}

// end finishes a shard of which the worker read that many rows.
func (m *rejectsMerger) end(chunk int32, read int64) error {
	if m.span.Span < 0 {
		m.next += read
		return nil
	}
	m.next += m.span.Span
	for m.planned.upTo(m.next - 1) {
		if err := m.plannerReject(); err != nil {
			return err
		}
	}
	if read != m.span.Rows || read+m.missing != m.span.Span {
		return workloads.Errorf(workloads.ReasonLedgerMismatch,
			"task %d accounts for %d rows; its shard has %d, and %d of %d input rows were rejected before",
			chunk, read, m.span.Rows, m.missing, m.span.Span)
	}
	return nil
}

func (m *rejectsMerger) plannerReject() error {
	r := m.planned.current
	if err := m.write(r.row, r.id, r.reason); err != nil {
		return err
	}
	m.missing++
	m.ledger.RowsRead++
	m.ledger.Rejected[r.reason]++
	return m.planned.advance()
}

func (m *rejectsMerger) write(row int64, id []byte, reason string) error {
	m.line = m.line[:0]
	if !m.out.open() {
		if err := m.out.create(m.ctx, m.files, "rejects.csv", csvType); err != nil {
			return err
		}
		m.line = csvfile.AppendRecord(m.line, "row", "chembl_id", "reason")
	}
	m.line = csvfile.AppendRecord(m.line, strconv.FormatInt(row, 10), string(id), reason)
	m.rows++
	return m.out.add(m.line, "", nil, "")
}

// commit returns the file, nil if there were no rejects.
func (m *rejectsMerger) commit() (*workloads.File, error) {
	if !m.out.open() {
		return nil, nil
	}
	file, err := m.out.commit()
	if err != nil {
		return nil, err
	}
	return &file, nil
}

func (m *rejectsMerger) abort() { m.out.abort() }
