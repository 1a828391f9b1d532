package blocks

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/chem/tanimoto"
	"scimesh.dev/scimesh/workloads/csvfile"
	"scimesh.dev/scimesh/workloads/shards"
	"scimesh.dev/scimesh/workloads/table"
)

// maxRecordBytes bounds the text of a record: the two columns of the longest
// line there is, and the small fields.
const maxRecordBytes = table.DefaultMaxLineBytes + 1024

// maxCount bounds a count, so that sums cannot overflow.
const maxCount = 1 << 50

// Record is a molecule, or a reject with its reason.
type Record struct {
	Row        int64  // of the shard, from 1
	ID, SMILES []byte // valid until the next record
	Reject     string
}

// Reader reads a block and checks all that can be known of it alone.
type Reader struct {
	in  *bufio.Reader
	csv *csvfile.Reader

	last      int64 // row of the last record
	molecules int64
	rejects   map[string]int64
	counts    map[string]int64
}

// Load begins reading a block: it returns its index, and a Reader of the table.
func Load(r io.Reader) (*tanimoto.Index, *Reader, error) {
	b, length, err := open(r)
	if err != nil {
		return nil, nil, err
	}
	part := io.LimitReader(b.in, length)
	x, origin, err := tanimoto.Load(part)
	switch {
	case err != nil:
		return nil, nil, err
	case origin != Origin:
		return nil, nil, fmt.Errorf("fingerprints are %q by %q, not %q by %q", origin.Type, origin.Engine, Origin.Type, Origin.Engine)
	}
	return x, b, b.begin()
}

// Scan begins reading the table of a block without looking into its index.
func Scan(r io.Reader) (*Reader, error) {
	b, length, err := open(r)
	if err != nil {
		return nil, err
	}
	if _, err := io.CopyN(io.Discard, b.in, length); err != nil {
		return nil, early(err)
	}
	return b, b.begin()
}

// open reads what comes before the index.
func open(r io.Reader) (*Reader, int64, error) {
	b := &Reader{in: bufio.NewReaderSize(r, 64<<10), rejects: map[string]int64{}, counts: map[string]int64{}}
	var start [len(magic) + 8]byte
	if _, err := io.ReadFull(b.in, start[:]); err != nil {
		return nil, 0, early(err)
	}
	length := binary.LittleEndian.Uint64(start[len(magic):])
	if string(start[:len(magic)]) != magic || length > math.MaxInt64 {
		return nil, 0, errors.New("it is no block of molecules")
	}
	return b, int64(length), nil
}

func early(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// begin reads the header of the table.
func (b *Reader) begin() error {
	b.csv = csvfile.NewReader(b.in, maxRecordBytes)
	f, err := b.fields()
	if err != nil {
		return err
	}
	for i, name := range header {
		if string(f[i]) != name {
			return fmt.Errorf("column %d is %.40q, want %s", i+1, f[i], name)
		}
	}
	return nil
}

// fields reads a record of the right number of fields.
func (b *Reader) fields() ([][]byte, error) {
	f, err := b.csv.Read()
	if err != nil {
		return nil, early(err)
	}
	if len(f) != len(header) {
		return nil, fmt.Errorf("record of %d fields, want %d", len(f), len(header))
	}
	return f, nil
}

// Next returns the next molecule or reject, or io.EOF once the end was reached
// and everything is in order; then Ledger has the counts.
func (b *Reader) Next() (Record, error) {
	for {
		f, err := b.fields()
		if err != nil {
			return Record{}, err
		}
		switch kind := string(f[0]); kind {
		case kindMolecule, kindReject:
			return b.record(f, kind == kindReject)
		case kindCount:
			if err := b.count(f); err != nil {
				return Record{}, err
			}
		case kindEnd:
			if err := b.end(f); err != nil {
				return Record{}, err
			}
			return Record{}, io.EOF
		default:
			return Record{}, fmt.Errorf("record of unknown kind %.40q", kind)
		}
	}
}

func (b *Reader) record(f [][]byte, reject bool) (Record, error) {
	n, err := parseCount(f[1])
	r := Record{Row: n, ID: f[2], SMILES: f[3], Reject: string(f[4])}
	switch {
	case err != nil || !utf8.Valid(r.ID) || !utf8.Valid(r.SMILES),
		reject && (!shards.ValidReason(r.Reject) || len(r.SMILES) > 0), !reject && r.Reject != "":
		return Record{}, fmt.Errorf("record after row %d is malformed", b.last)
	case len(b.counts) > 0:
		return Record{}, errors.New("record after counts")
	case n != b.last+1:
		return Record{}, fmt.Errorf("row %d after row %d", n, b.last)
	}
	b.last = n
	if !reject {
		b.molecules++
		return r, nil
	}
	b.rejects[r.Reject]++
	if len(b.rejects) > shards.MaxReasons {
		return Record{}, errors.New("too many reasons")
	}
	return r, nil
}

func (b *Reader) count(f [][]byte) error {
	n, err := parseCount(f[1])
	name := string(f[4])
	reason, rejected := strings.CutPrefix(name, countRejected)
	valid := name == countRead || name == countScored || rejected && shards.ValidReason(reason)
	if _, known := b.counts[name]; known || err != nil || !valid || len(f[2]) > 0 || len(f[3]) > 0 {
		return fmt.Errorf("count %.80q is malformed", name)
	}
	b.counts[name] = n
	return nil
}

// end checks that nothing follows and that the counts add up.
func (b *Reader) end(f [][]byte) error {
	for _, text := range f[1:] {
		if len(text) > 0 {
			return errors.New("the end is malformed")
		}
	}
	if _, err := b.csv.Read(); err == nil {
		return errors.New("records after the end")
	} else if !errors.Is(err, io.EOF) {
		return err
	}
	want := map[string]int64{countRead: b.last, countScored: b.molecules}
	for reason, n := range b.rejects {
		want[countRejected+reason] = n
	}
	for name, n := range want {
		if b.counts[name] != n {
			return errors.New("the counts do not agree with the records")
		}
	}
	if len(b.counts) != len(want) {
		return errors.New("the counts do not agree with the records")
	}
	return nil
}

// Ledger returns the counts.
func (b *Reader) Ledger() v1.Ledger {
	l := shards.NewLedger()
	l.RowsRead, l.Scored = b.last, b.molecules
	maps.Copy(l.Rejected, b.rejects)
	return l
}

// parseCount reads a number written without anything superfluous.
func parseCount(text []byte) (int64, error) {
	n, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil || n < 0 || n > maxCount || strconv.FormatInt(n, 10) != string(text) {
		return 0, fmt.Errorf("%.40q is no count", text)
	}
	return n, nil
}
