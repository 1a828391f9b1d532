package blocks

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/chem"
	"scimesh.dev/scimesh/chem/tanimoto"
	"scimesh.dev/scimesh/workloads/shards"
	"scimesh.dev/scimesh/workloads/table"
)

// Maker turns a shard into a block.
type Maker struct {
	// Threads is how many goroutines compute fingerprints.
	Threads int
	// Layout is what is known of the form of the shard.
	Layout v1.InputLayout
	// Progress, if not nil, is told the finished share, between 0 and 1.
	Progress func(share float64)
}

const (
	words = Bits / 64
	// piece is how many rows a goroutine takes at a time: few enough to notice a
	// cancelled context in time.
	piece = 256
)

// row is a row of the shard; its texts are in the arena.
type row struct {
	number                  int64
	start, endID, endSMILES int
	reject                  string
}

// shard is a whole shard in memory: its rows, and a fingerprint for each.
type shard struct {
	rows  []row
	arena []byte
	bits  []uint64
	// fingerprints says that the shard has them, and no SMILES.
	fingerprints bool
}

func (s *shard) id(r *row) []byte     { return s.arena[r.start:r.endID] }
func (s *shard) smiles(r *row) []byte { return s.arena[r.endID:r.endSMILES] }

// Make reads a shard and writes its block. The shard is in memory as a whole,
// with 256 bytes beside each row and about 90 more for the index. It returns the
// ledger of the shard.
func (m Maker) Make(ctx context.Context, in io.Reader, out io.Writer) (v1.Ledger, error) {
	s, err := m.read(ctx, in)
	if err != nil {
		return v1.Ledger{}, err
	}
	if err := m.fingerprint(ctx, s); err != nil {
		return v1.Ledger{}, err
	}
	x, err := tanimoto.Build(s.compact(), Bits)
	if err != nil {
		return v1.Ledger{}, err
	}
	s.bits = nil
	if err := ctx.Err(); err != nil {
		return v1.Ledger{}, err
	}
	ledger, err := s.write(out, x)
	if err != nil {
		return v1.Ledger{}, fmt.Errorf("write block: %w", err)
	}
	return ledger, nil
}

func (m Maker) read(ctx context.Context, in io.Reader) (*shard, error) {
	t, err := table.NewReader(&shards.ContextReader{Ctx: ctx, R: in}, table.OptionsFor(m.Layout))
	if err != nil {
		return nil, err
	}
	defer t.Close()
	if err := shards.CheckType(t.Layout().Fingerprints, Type); err != nil {
		return nil, err
	}
	s := &shard{fingerprints: t.Layout().Fingerprints != nil}
	for {
		in, err := t.Next()
		if errors.Is(err, io.EOF) {
			return s, nil
		}
		if err != nil {
			return nil, err
		}
		r := row{number: in.Number, start: len(s.arena), reject: in.Reject}
		s.arena = append(s.arena, in.ID...)
		r.endID = len(s.arena)
		s.arena = append(s.arena, in.SMILES...)
		r.endSMILES = len(s.arena)
		s.rows = append(s.rows, r)
		if s.fingerprints {
			at := len(s.bits)
			s.bits = append(s.bits, make([]uint64, words)...)
			copy(s.bits[at:], in.Fingerprint)
		}
	}
}

// fingerprint computes the fingerprints of all rows that are not rejected, and
// rejects those that the engine refuses.
func (m Maker) fingerprint(ctx context.Context, s *shard) error {
	if s.fingerprints {
		return nil
	}
	s.bits = make([]uint64, len(s.rows)*words)
	var next, done atomic.Int64
	var wg sync.WaitGroup
	for range max(1, m.Threads) {
		wg.Go(func() {
			e := chem.New(chem.Options{})
			for ctx.Err() == nil {
				to := int(next.Add(piece))
				if to-piece >= len(s.rows) {
					return
				}
				s.compute(e, to-piece, min(to, len(s.rows)))
				n := done.Add(piece)
				if m.Progress != nil {
					m.Progress(min(1, float64(n)/float64(len(s.rows))))
				}
			}
		})
	}
	wg.Wait()
	return ctx.Err()
}

func (s *shard) compute(e *chem.Engine, from, to int) {
	for i := from; i < to; i++ {
		r := &s.rows[i]
		if r.reject != "" {
			continue
		}
		if err := e.Fingerprint(s.bits[i*words:(i+1)*words], s.smiles(r)); err != nil {
			r.reject = shards.RejectReason(err)
		}
	}
}

// compact moves the fingerprints of molecules together.
func (s *shard) compact() []uint64 {
	n := 0
	for i := range s.rows {
		if s.rows[i].reject == "" {
			copy(s.bits[n*words:], s.bits[i*words:(i+1)*words])
			n++
		}
	}
	return s.bits[:n*words]
}
