package similaritysearch

import (
	"errors"
	"io"

	"scimesh.dev/scimesh/workloads/shards"
	"scimesh.dev/scimesh/workloads/table"
)

// Bounds of a batch: enough rows to make the hand-over between goroutines
// cheap, few enough to notice a cancelled context in time.
const (
	batchRows  = 256
	batchBytes = 256 << 10
)

// outcome is where a row ends.
type outcome uint8

const (
	scored outcome = iota // but not a hit
	candidate
	excluded
	rejected
)

// row is one row of a batch; its texts are in the batch's arena.
type row struct {
	number                  int64
	start, endID, endSMILES int
	fingerprint             int // where it begins in fingerprints, -1 if there is none
	hasSMILES               bool
	outcome                 outcome
	reason                  string // if rejected
	common, union           int32  // if a candidate
}

// batch is some consecutive rows of a shard on their way from the reader
// through a scorer to the collector.
type batch struct {
	rows  []row
	arena []byte
	// fingerprints of the rows that have one instead of a SMILES
	fingerprints []uint64
	offset       int64 // of the input, after the last row
	err          error // of the reader or the scorer, after these rows
	scored       chan struct{}
}

func newBatch() *batch { return &batch{scored: make(chan struct{}, 1)} }

func (b *batch) id(r *row) []byte     { return b.arena[r.start:r.endID] }
func (b *batch) smiles(r *row) []byte { return b.arena[r.endID:r.endSMILES] }

// read fills the batch. It returns false at the end of the table or after an
// error, which is in b.err.
func (b *batch) read(t *table.Reader) bool {
	b.rows, b.arena, b.fingerprints, b.err = b.rows[:0], b.arena[:0], b.fingerprints[:0], nil
	more := true
	for more && len(b.rows) < batchRows && len(b.arena) < batchBytes {
		in, err := t.Next()
		if err != nil {
			more = false
			if !errors.Is(err, io.EOF) {
				b.err = err
			}
			break
		}
		r := row{number: in.Number, start: len(b.arena), fingerprint: -1, hasSMILES: in.Fingerprint == nil}
		b.arena = append(b.arena, in.ID...)
		r.endID = len(b.arena)
		b.arena = append(b.arena, in.SMILES...)
		r.endSMILES = len(b.arena)
		if in.Fingerprint != nil {
			r.fingerprint = len(b.fingerprints)
			b.fingerprints = append(b.fingerprints, in.Fingerprint...)
		}
		if in.Reject != "" {
			r.outcome, r.reason = rejected, in.Reject
		}
		b.rows = append(b.rows, r)
	}
	b.offset = t.Offset()
	return more
}

// scorer compares rows with the query. It serves one goroutine.
type scorer struct {
	engine engine
	query  *query // nil if the fingerprints alone are wanted
	limits *limits
	bits   fingerprint
}

// score decides about every row of the batch that is not rejected yet.
func (s *scorer) score(b *batch) {
	for i := range b.rows {
		r := &b.rows[i]
		if r.outcome == rejected {
			continue
		}
		if err := s.scoreRow(b, r); err != nil {
			b.err = err
			return
		}
	}
}

func (s *scorer) scoreRow(b *batch, r *row) error {
	smiles, bits := b.smiles(r), s.bits
	if r.fingerprint >= 0 {
		bits = b.fingerprints[r.fingerprint:][:len(s.bits)]
	} else if err := s.engine.Fingerprint(bits, smiles); err != nil {
		r.outcome, r.reason = rejected, shards.RejectReason(err)
		return nil
	}
	if s.query == nil {
		if r.hasSMILES {
			r.fingerprint = len(b.fingerprints)
			b.fingerprints = append(b.fingerprints, bits...)
		}
		r.outcome = candidate
		return nil
	}
	if s.query.id != nil && string(b.id(r)) == *s.query.id {
		r.outcome = excluded
		return nil
	}
	common, union := s.query.bits.compare(bits)
	// Only equal fingerprints can be of the same molecule, and only structures tell.
	if common == union && s.query.smiles != nil && r.hasSMILES {
		same, err := s.engine.Same(s.query.smiles, smiles)
		if err != nil {
			return err
		}
		if same {
			r.outcome = excluded
			return nil
		}
	}
	r.common, r.union = int32(common), int32(union)
	if s.limits.accept(common, union) {
		r.outcome = candidate
	}
	return nil
}
