package similaritysearch

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/workloads/csvfile"
	"scimesh.dev/scimesh/workloads/shards"
	"scimesh.dev/scimesh/workloads/table"
)

// maxRecordBytes bounds the text of a record: the two columns of the longest
// line there is, and the small fields.
const maxRecordBytes = table.DefaultMaxLineBytes + 1024

// maxCount bounds a count, so that sums cannot overflow.
const maxCount = 1 << 50

// record is a hit or a reject of a partial result.
type record struct {
	kind          string
	goal          int    // of a hit
	row           int64  // of a reject, in the shard
	id, smiles    []byte // valid until the next record; smiles of a hit alone
	common, union int32
	reason        string
}

// partialReader reads a partial result and checks all that can be known of it
// from the search alone: the form of every record, the order of hits, that they
// satisfy the threshold, and that the counts agree with the records and with
// one another.
type partialReader struct {
	csv    *csvfile.Reader
	search *search
	goals  []goal

	goal     int // whose hits are being read
	hits     int // of it
	total    int // of all
	previous hit
	lastRow  int64
	rejects  map[string]int64
	counts   map[string]int64
}

func newPartialReader(r io.Reader, s *search, goals []goal) (*partialReader, error) {
	p := &partialReader{
		csv: csvfile.NewReader(r, maxRecordBytes), search: s, goals: goals,
		rejects: map[string]int64{}, counts: map[string]int64{},
	}
	header, err := p.fields()
	if err != nil {
		return nil, err
	}
	for i, name := range partialHeader {
		if string(header[i]) != name {
			return nil, fmt.Errorf("column %d is %.40q, want %s", i+1, header[i], name)
		}
	}
	return p, nil
}

// fields reads a record of the right number of fields.
func (p *partialReader) fields() ([][]byte, error) {
	f, err := p.csv.Read()
	if errors.Is(err, io.EOF) {
		return nil, io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, err
	}
	if len(f) != len(partialHeader) {
		return nil, fmt.Errorf("record of %d fields, want %d", len(f), len(partialHeader))
	}
	for _, text := range f {
		if !utf8.Valid(text) {
			return nil, errors.New("record that is not UTF-8")
		}
	}
	return f, nil
}

// next returns the next hit or reject, or io.EOF once the end was reached and
// everything is in order; then ledger has the counts.
func (p *partialReader) next() (record, error) {
	for {
		f, err := p.fields()
		if err != nil {
			return record{}, err
		}
		switch kind := string(f[0]); kind {
		case kindHit:
			return p.hit(f)
		case kindReject:
			return p.reject(f)
		case kindCount:
			if err := p.count(f); err != nil {
				return record{}, err
			}
		case kindEnd:
			if err := p.end(f); err != nil {
				return record{}, err
			}
			return record{}, io.EOF
		default:
			return record{}, fmt.Errorf("record of unknown kind %.40q", kind)
		}
	}
}

func (p *partialReader) hit(f [][]byte) (record, error) {
	common, err1 := parseCount(f[4], int64(p.search.kind.Bits))
	union, err2 := parseCount(f[5], int64(p.search.kind.Bits))
	h := hit{common: int32(common), union: int32(union), id: string(f[2]), smiles: string(f[3])}
	if err := p.toGoal(string(f[1])); err != nil {
		return record{}, err
	}
	p.hits++
	p.total++
	g := &p.goals[p.goal]
	switch {
	case err1 != nil || err2 != nil || !p.possible(common, union) || !empty(f[6]):
		return record{}, fmt.Errorf("hit %d is malformed", p.hits)
	case p.lastRow > 0 || len(p.counts) > 0:
		return record{}, errors.New("hit after other records")
	case p.hits > p.search.TopK:
		return record{}, fmt.Errorf("more than %d hits", p.search.TopK)
	case !g.limits.accept(int(common), int(union)):
		return record{}, fmt.Errorf("hit %d does not satisfy the threshold", p.hits)
	case g.id != nil && h.id == *g.id:
		return record{}, fmt.Errorf("hit %d is the query", p.hits)
	case p.hits > 1 && g.order.compare(p.previous, h) > 0:
		return record{}, fmt.Errorf("hit %d is out of order", p.hits)
	}
	p.previous = h
	return record{kind: kindHit, goal: p.goal, id: f[2], smiles: f[3], common: h.common, union: h.union}, nil
}

// toGoal goes to the goal with that number, "" where there is one query.
func (p *partialReader) toGoal(number string) error {
	if p.search.Queries == nil {
		if number != "" {
			return fmt.Errorf("hit %d is malformed", p.total+1)
		}
		return nil
	}
	n, err := parseCount([]byte(number), int64(len(p.goals)))
	if err != nil || int(n) < p.goal+1 {
		return fmt.Errorf("hit %d is of no query, or out of order", p.total+1)
	}
	if int(n) > p.goal+1 {
		p.goal, p.hits = int(n)-1, 0
	}
	return nil
}

// possible reports whether a molecule can have these counts.
func (p *partialReader) possible(common, union int64) bool {
	l := p.goals[p.goal].limits
	if l.query < 0 {
		return common <= union
	}
	query := int64(l.query)
	return common <= query && query <= union && union+common-query <= int64(p.search.kind.Bits)
}

func (p *partialReader) reject(f [][]byte) (record, error) {
	n, err := parseCount(f[1], maxCount)
	reason := string(f[6])
	switch {
	case err != nil || !shards.ValidReason(reason) || !empty(f[3], f[4], f[5]):
		return record{}, fmt.Errorf("reject after row %d is malformed", p.lastRow)
	case len(p.counts) > 0:
		return record{}, errors.New("reject after counts")
	case n <= p.lastRow:
		return record{}, fmt.Errorf("reject of row %d after that of row %d", n, p.lastRow)
	}
	p.lastRow = n
	p.rejects[reason]++
	if len(p.rejects) > shards.MaxReasons {
		return record{}, errors.New("too many reasons")
	}
	return record{kind: kindReject, row: n, id: f[2], reason: reason}, nil
}

func (p *partialReader) count(f [][]byte) error {
	n, err := parseCount(f[1], maxCount)
	name := string(f[6])
	if _, known := p.counts[name]; known || err != nil || !empty(f[2], f[3], f[4], f[5]) || !validCount(name) {
		return fmt.Errorf("count %.80q is malformed", name)
	}
	if len(p.counts) > shards.MaxReasons {
		return errors.New("too many counts")
	}
	p.counts[name] = n
	return nil
}

func validCount(name string) bool {
	if name == countRead || name == countScored {
		return true
	}
	reason, ok := strings.CutPrefix(name, countExcluded)
	if !ok {
		reason, ok = strings.CutPrefix(name, countRejected)
	}
	return ok && shards.ValidReason(reason)
}

// end checks that nothing follows and that the counts add up.
func (p *partialReader) end(f [][]byte) error {
	if !empty(f[1:]...) {
		return errors.New("the end is malformed")
	}
	if _, err := p.csv.Read(); err == nil {
		return errors.New("records after the end")
	} else if !errors.Is(err, io.EOF) {
		return err
	}
	l := p.ledger()
	_, hasRead := p.counts[countRead]
	_, hasScored := p.counts[countScored]
	switch {
	case !hasRead || !hasScored || !shards.Balanced(l):
		return errors.New("the counts do not add up")
	case !p.rejectsAgree(l):
		return errors.New("the counts do not agree with the rejects")
	case p.lastRow > l.RowsRead:
		return errors.New("a reject is beyond the last row")
	case int64(p.hits) > l.Scored,
		p.search.Queries == nil && p.search.Threshold == nil && int64(p.hits) != min(l.Scored, int64(p.search.TopK)):
		return errors.New("the counts do not agree with the hits")
	}
	return nil
}

func (p *partialReader) rejectsAgree(l v1.Ledger) bool {
	for reason, n := range l.Rejected {
		if p.rejects[reason] != n {
			return false
		}
	}
	for reason := range p.rejects {
		if l.Rejected[reason] == 0 {
			return false
		}
	}
	return true
}

// ledger returns the counts, without those that are zero.
func (p *partialReader) ledger() v1.Ledger {
	l := shards.NewLedger()
	for name, n := range p.counts {
		if reason, ok := strings.CutPrefix(name, countExcluded); ok && n > 0 {
			l.Excluded[reason] = n
		} else if reason, ok := strings.CutPrefix(name, countRejected); ok && n > 0 {
			l.Rejected[reason] = n
		}
	}
	l.RowsRead, l.Scored = p.counts[countRead], p.counts[countScored]
	return l
}

func empty(fields ...[]byte) bool {
	for _, f := range fields {
		if len(f) > 0 {
			return false
		}
	}
	return true
}

// parseCount reads a number from 0 to limit, written without anything superfluous.
func parseCount(text []byte, limit int64) (int64, error) {
	n, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil || n < 0 || n > limit || strconv.FormatInt(n, 10) != string(text) {
		return 0, errors.New("not a count")
	}
	return n, nil
}
