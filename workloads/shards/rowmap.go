package shards

import (
	"context"
	"encoding/json"
	"io"

	"scimesh.dev/scimesh/workloads"
)

// RowMap finds the rows of the input in which the rows of shards stood. It is
// asked for ascending rows of one shard after the other.
type RowMap struct {
	planned *planRejects
	passed  func(planReject) error // called with each planner's reject, may be nil

	next    int64 // the first input row of the next shard
	span    Notes
	missing int64 // planner's rejects seen in the span so far
}

// NewRowMap reads the planner's rejects; open is nil if there are none.
func NewRowMap(ctx context.Context, open func(context.Context) (io.ReadCloser, error)) (*RowMap, error) {
	planned, err := openPlanRejects(ctx, open)
	if err != nil {
		return nil, err
	}
	return &RowMap{planned: planned, next: 1}, nil
}

// Close closes the planner's rejects.
func (m *RowMap) Close() { m.planned.close() }

// Begin starts the next shard. If the planner could not read the input, a shard
// is a span of its own, of as many rows as the worker finds.
func (m *RowMap) Begin(chunk int32, notes json.RawMessage, unread bool) error {
	m.span, m.missing = Notes{FirstRow: m.next, Span: -1}, 0
	if unread {
		return nil
	}
	if err := json.Unmarshal(notes, &m.span); err != nil || m.span.FirstRow != m.next || m.span.Span < m.span.Rows {
		return workloads.Errorf(workloads.ReasonLedgerMismatch,
			"task %d does not begin where the one before it ends, at row %d", chunk, m.next)
	}
	return nil
}

// Row returns the row of the input for a row of the shard; both count from 1.
func (m *RowMap) Row(row int64) (int64, error) {
	at := m.span.FirstRow + row - 1 + m.missing
	for ; m.planned.upTo(at); at++ {
		if err := m.pass(); err != nil {
			return 0, err
		}
	}
	return at, nil
}

// End finishes a shard of which the worker read that many rows.
func (m *RowMap) End(chunk int32, read int64) error {
	if m.span.Span < 0 {
		m.next += read
		return nil
	}
	m.next += m.span.Span
	for m.planned.upTo(m.next - 1) {
		if err := m.pass(); err != nil {
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

// More reports whether planner's rejects are left, which no shard had room for.
func (m *RowMap) More() bool { return m.planned.more }

func (m *RowMap) pass() error {
	m.missing++
	if m.passed != nil {
		if err := m.passed(m.planned.current); err != nil {
			return err
		}
	}
	return m.planned.advance()
}
