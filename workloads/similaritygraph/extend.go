package similaritygraph

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/workloads"
	"scimesh.dev/scimesh/workloads/blocks"
	"scimesh.dev/scimesh/workloads/extsort"
	"scimesh.dev/scimesh/workloads/shards"
)

// Reasons of errors that are seen once all blocks are there.
const (
	// ReasonEmptyID says that a molecule has no id.
	ReasonEmptyID = "EmptyID"
	// ReasonDuplicateID says that two molecules have the same id.
	ReasonDuplicateID = "DuplicateID"
)

// idMemory is how much memory ids take while they are sorted.
const idMemory = 32 << 20

// graphNotes are what the reducer has to know of the blocks.
type graphNotes struct {
	// Molecules are the numbers of molecules of the blocks.
	Molecules []int64 `json:"molecules"`
}

// first returns the number of the first molecule of a block.
func (n graphNotes) first(block int) (sum int64) {
	for _, m := range n.Molecules[:block] {
		sum += m
	}
	return sum
}

// pairs yields the pairs of blocks in the order of their tasks.
func (n graphNotes) pairs(yield func(pair) bool) {
	leftFirst := int64(0)
	for left := range n.Molecules {
		rightFirst := leftFirst
		for right := left; right < len(n.Molecules); right++ {
			if !yield(pair{Left: left, Right: right, LeftFirst: leftFirst, RightFirst: rightFirst}) {
				return
			}
			rightFirst += n.Molecules[right]
		}
		leftFirst += n.Molecules[left]
	}
}

// Extend checks the ids of all molecules and plans a task for each pair of blocks.
func (w *Workload) Extend(ctx context.Context, req workloads.ExtendRequest) (_ workloads.Extension, err error) {
	c, err := newIDCheck(ctx, req)
	if err != nil {
		return workloads.Extension{}, err
	}
	defer func() { err = errors.Join(err, c.close()) }()

	var notes graphNotes
	var files []workloads.File
	for partial, err := range req.Partials {
		if err != nil {
			return workloads.Extension{}, err
		}
		if int(partial.ChunkIndex) != len(files) {
			return workloads.Extension{}, fmt.Errorf("block of chunk %d where chunk %d was expected", partial.ChunkIndex, len(files))
		}
		l, err := readBlock(ctx, partial, c.rows, req.RowsRead < 0, c.record)
		if err != nil {
			return workloads.Extension{}, err
		}
		notes.Molecules = append(notes.Molecules, l.Scored)
		files = append(files, partial.File)
	}
	if len(files) != req.Tasks {
		return workloads.Extension{}, fmt.Errorf("%d blocks of %d tasks", len(files), req.Tasks)
	}
	if err := c.unique(ctx); err != nil {
		return workloads.Extension{}, err
	}
	extension := workloads.Extension{Notes: encode(notes)}
	for p := range notes.pairs {
		task := workloads.TaskPlan{Input: files[p.Left], Parameters: encode(map[string]pair{"pair": p}), Notes: encode(p)}
		if p.Right != p.Left {
			task.Inputs = []workloads.File{files[p.Right]}
		}
		extension.Tasks = append(extension.Tasks, task)
	}
	n := notes.first(len(notes.Molecules))
	extension.Summary = fmt.Sprintf("%d molecules in %d blocks, %d pairs of blocks: %d pairs of molecules",
		n, len(files), len(extension.Tasks), pairsOf(n, false))
	return extension, nil
}

// readBlock reads the table of a block and calls take with each record and the
// row of the input in which it stood. What is wrong with the block is a PartialError.
func readBlock(ctx context.Context, partial workloads.Partial, rows *shards.RowMap, unread bool, take func(r blocks.Record, row int64) error) (v1.Ledger, error) {
	if err := rows.Begin(partial.ChunkIndex, partial.Notes, unread); err != nil {
		return v1.Ledger{}, err
	}
	file, err := partial.Open(ctx)
	if err != nil {
		return v1.Ledger{}, broken(ctx, partial, err)
	}
	defer file.Close()
	in := &shards.ContextReader{Ctx: ctx, R: file}
	b, err := blocks.Scan(in)
	for err == nil {
		var r blocks.Record
		if r, err = b.Next(); err != nil {
			break
		}
		row, err := rows.Row(r.Row)
		if err != nil {
			return v1.Ledger{}, err
		}
		if err := take(r, row); err != nil {
			return v1.Ledger{}, err
		}
	}
	if !errors.Is(err, io.EOF) || in.Err != nil {
		return v1.Ledger{}, badPartial(ctx, partial, in, err)
	}
	l := b.Ledger()
	return l, rows.End(partial.ChunkIndex, l.RowsRead)
}

// badPartial tells what is wrong with the bytes of a partial result from a fault in reading them.
func badPartial(ctx context.Context, partial workloads.Partial, in *shards.ContextReader, err error) error {
	if in.Err != nil {
		return broken(ctx, partial, in.Err)
	}
	return broken(ctx, partial, workloads.Errorf(workloads.ReasonPartialCorrupt, "%v", err))
}

// broken blames a partial result, unless the work itself was ended.
func broken(ctx context.Context, partial workloads.Partial, err error) error {
	if ended := ctx.Err(); ended != nil {
		return ended
	}
	return &workloads.PartialError{ChunkIndex: partial.ChunkIndex, Err: err}
}

// idAt is an id and the row of the input that has it.
type idAt struct {
	id  string
	row int64
}

// idCheck looks for ids that are empty or not unique.
type idCheck struct {
	rows   *shards.RowMap
	sorter extsort.Sorter[idAt]
}

func newIDCheck(ctx context.Context, req workloads.ExtendRequest) (*idCheck, error) {
	rows, err := shards.NewRowMap(ctx, req.PlanRejects)
	if err != nil {
		return nil, err
	}
	c := &idCheck{rows: rows}
	c.sorter.Dir, c.sorter.Limit = req.TempDir, idMemory
	c.sorter.Size = func(a idAt) int { return len(a.id) + 40 }
	c.sorter.Compare = func(a, b idAt) int { return cmp.Or(strings.Compare(a.id, b.id), cmp.Compare(a.row, b.row)) }
	c.sorter.Codec = extsort.Codec[idAt]{
		Append: func(dst []byte, a idAt) []byte { return append(binary.AppendUvarint(dst, uint64(a.row)), a.id...) },
		Decode: func(b []byte) (idAt, error) {
			row, n := binary.Uvarint(b)
			if n <= 0 {
				return idAt{}, errors.New("temporary file of ids is damaged")
			}
			return idAt{string(b[n:]), int64(row)}, nil
		},
	}
	return c, nil
}

func (c *idCheck) close() error {
	c.rows.Close()
	return c.sorter.Close()
}

func (c *idCheck) record(r blocks.Record, row int64) error {
	switch {
	case r.Reject != "":
		return nil
	case len(r.ID) == 0:
		return workloads.Errorf(ReasonEmptyID, "row %d has no id; ids name the molecules of the graph", row)
	}
	return c.sorter.Add(idAt{string(r.ID), row})
}

func (c *idCheck) unique(ctx context.Context) error {
	var last idAt
	return c.sorter.Each(ctx, func(a idAt) error {
		if a.id == last.id {
			return workloads.Errorf(ReasonDuplicateID, "id %q is that of rows %d and %d; ids name the molecules of the graph", v1.Quote(a.id), last.row, a.row)
		}
		last = a
		return nil
	})
}

// decodeNotes reads the notes of Extend.
func decodeNotes(raw json.RawMessage) (n graphNotes, err error) {
	if err := json.Unmarshal(raw, &n); err != nil || len(n.Molecules) == 0 {
		return n, workloads.Errorf(workloads.ReasonLedgerMismatch, "the plan has no blocks")
	}
	return n, nil
}
