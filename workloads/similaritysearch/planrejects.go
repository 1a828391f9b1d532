package similaritysearch

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// planReject is a row that the planner rejected.
type planReject struct {
	row    int64
	id     []byte // valid until the next one
	reason string
}

// planRejects reads the planner's list of rejects, which looks one ahead.
type planRejects struct {
	r       *bufio.Reader
	line    []byte
	current planReject
	more    bool
}

// newPlanRejects reads r, or an empty list if r is nil.
func newPlanRejects(r io.Reader) (*planRejects, error) {
	p := &planRejects{}
	if r == nil {
		return p, nil
	}
	p.r = bufio.NewReaderSize(r, 32<<10)
	return p, p.advance()
}

// upTo reports whether there is a reject of a row of at most that number.
func (p *planRejects) upTo(row int64) bool { return p.more && p.current.row <= row }

// advance reads the next reject into current, or sets more to false.
func (p *planRejects) advance() error {
	if err := p.readLine(); errors.Is(err, io.EOF) {
		p.more = false
		return nil
	} else if err != nil {
		return fmt.Errorf("read planner's rejects: %w", err)
	}
	number, rest, ok1 := bytes.Cut(p.line, []byte{'\t'})
	id, reason, ok2 := bytes.Cut(rest, []byte{'\t'})
	row, err := strconv.ParseInt(string(number), 10, 64)
	if !ok1 || !ok2 || err != nil || row <= p.current.row {
		return fmt.Errorf("planner's rejects are damaged after row %d", p.current.row)
	}
	p.current, p.more = planReject{row: row, id: id, reason: string(reason)}, true
	return nil
}

// readLine reads a line of any length without its LF. A last line without one
// is an error.
func (p *planRejects) readLine() error {
	p.line = p.line[:0]
	for {
		part, err := p.r.ReadSlice('\n')
		p.line = append(p.line, part...)
		switch {
		case err == nil:
			p.line = p.line[:len(p.line)-1]
			return nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(p.line) > 0:
			return io.ErrUnexpectedEOF
		default:
			return err
		}
	}
}
