// Package fingerprints turns a table of molecules into a file of their fingerprints.
package fingerprints

import (
	"context"
	"errors"
	"io"
	"sync"

	"scimesh.dev/scimesh/chem"
	"scimesh.dev/scimesh/chem/fps"
	"scimesh.dev/scimesh/chem/perceive"
	"scimesh.dev/scimesh/workloads/table"
)

// Bounds of a batch: enough rows to make the hand-over between goroutines cheap.
const (
	batchRows  = 512
	batchBytes = 512 << 10
	// batchesPerThread may be on their way: one being computed, one waiting for it,
	// one waiting to be written in order.
	batchesPerThread = 3
)

// Reject is a row without a fingerprint.
type Reject struct {
	Row    int64 // of the table, from 1
	ID     []byte
	Reason string
}

// Reasons of a Reject besides those of the table.
const (
	InvalidSMILES = "InvalidSMILES" // RDKit would not accept it
	EngineLimit   = "EngineLimit"   // it would take too much work
	InvalidID     = "InvalidID"     // empty, or with a character that ends a field
)

// Options of Write.
type Options struct {
	Type    fps.Type
	Threads int // that compute; at least 1
	// Rejected is told of every row that is left out, in order.
	Rejected func(Reject) error
	// Progress, if not nil, is told how many rows have been written.
	Progress func(rows int64)
}

// Counts is what became of the rows.
type Counts struct {
	Read, Written int64
}

// Validate reports a type that no engine computes.
func Validate(t fps.Type) error {
	if t.Bits == 0 { // which chem takes for its default
		return errors.New("fingerprint size 0: must be a multiple of 64 from 64 to 8192")
	}
	return engineOptions(t).Validate()
}

// Write appends to w a line of FPS for each row of the table that has a valid
// SMILES, in the order of the table, whatever the number of threads. Memory is
// bounded by a few batches for each thread.
func Write(ctx context.Context, w io.Writer, t *table.Reader, o Options) (c Counts, err error) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()

	free := make(chan *batch, batchesPerThread*o.Threads)
	for range cap(free) {
		free <- &batch{done: make(chan struct{}, 1)}
	}
	// Both hold any batch there is, so that sending never blocks.
	toDo, inOrder := make(chan *batch, cap(free)), make(chan *batch, cap(free))
	wg.Go(func() { read(ctx, t, free, toDo, inOrder) })
	for range o.Threads {
		wg.Go(func() { compute(ctx, o.Type, toDo) })
	}
	for b := range inOrder {
		<-b.done // comes even if the context ends
		if err := errors.Join(ctx.Err(), b.err); err != nil {
			return c, err
		}
		if err := b.write(w, o, &c); err != nil {
			return c, err
		}
		if o.Progress != nil {
			o.Progress(c.Read)
		}
		free <- b
	}
	return c, ctx.Err()
}

// row is one row of a batch; its texts are in the batch's arena.
type row struct {
	number                  int64
	start, endID, endSMILES int
	reject                  string
}

// batch is some consecutive rows on their way from the reader to the writer.
type batch struct {
	rows  []row
	arena []byte
	out   []byte
	err   error
	done  chan struct{}
}

func read(ctx context.Context, t *table.Reader, free <-chan *batch, toDo, inOrder chan<- *batch) {
	defer close(toDo)
	defer close(inOrder)
	for more := true; more; {
		select {
		case <-ctx.Done():
			return
		case b := <-free:
			more = b.read(t)
			inOrder <- b
			toDo <- b
		}
	}
}

// read fills the batch. It returns false at the end of the table or after an
// error, which is in b.err.
func (b *batch) read(t *table.Reader) bool {
	b.rows, b.arena, b.out, b.err = b.rows[:0], b.arena[:0], b.out[:0], nil
	for len(b.rows) < batchRows && len(b.arena) < batchBytes {
		in, err := t.Next()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				b.err = err
			}
			return false
		}
		r := row{number: in.Number, start: len(b.arena), reject: in.Reject}
		b.arena = append(b.arena, in.ID...)
		r.endID = len(b.arena)
		b.arena = append(b.arena, in.SMILES...)
		r.endSMILES = len(b.arena)
		b.rows = append(b.rows, r)
	}
	return true
}

func compute(ctx context.Context, t fps.Type, toDo <-chan *batch) {
	e := chem.New(engineOptions(t))
	fp := make([]uint64, e.Words())
	for b := range toDo {
		if ctx.Err() == nil {
			b.compute(e, fp, t.Bits)
		}
		b.done <- struct{}{}
	}
}

// engineOptions are the options of an engine for fingerprints of that type.
func engineOptions(t fps.Type) chem.Options {
	o := chem.Options{Radius: t.Radius, Bits: t.Bits}
	if t.Radius == 0 {
		o.Radius = chem.RadiusZero
	}
	return o
}

func (b *batch) compute(e *chem.Engine, fp []uint64, bits int) {
	for i := range b.rows {
		r := &b.rows[i]
		if r.reject == "" {
			id, smiles := b.arena[r.start:r.endID], b.arena[r.endID:r.endSMILES]
			if err := e.Fingerprint(fp, smiles); err != nil {
				r.reject = reason(err)
			} else if !validID(id) {
				r.reject = InvalidID
			} else {
				b.out = fps.AppendRecord(b.out, fp, bits, id)
			}
		}
	}
}

func reason(err error) string {
	if wrong, ok := errors.AsType[*chem.SanitizeError](err); ok && wrong.Step == perceive.StepWorkLimit {
		return EngineLimit
	}
	return InvalidSMILES
}

// validID reports whether an id can stand in a line of FPS.
func validID(id []byte) bool {
	for _, c := range id {
		if c < ' ' || c == 0x7f {
			return false
		}
	}
	return len(id) > 0
}

// write writes the lines of the batch and tells of its rejects.
func (b *batch) write(w io.Writer, o Options, c *Counts) error {
	for _, r := range b.rows {
		c.Read++
		if r.reject == "" {
			c.Written++
			continue
		}
		if err := o.Rejected(Reject{r.number, b.arena[r.start:r.endID], r.reject}); err != nil {
			return err
		}
	}
	_, err := w.Write(b.out)
	return err
}
