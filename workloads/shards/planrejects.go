package shards

import (
	"bufio"
	"bytes"
	"context"
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
	file    io.ReadCloser // nil if there is no list
	r       *bufio.Reader
	line    []byte
	current planReject
	more    bool
}

// openPlanRejects opens the list; open is nil if there is none.
func openPlanRejects(ctx context.Context, open func(context.Context) (io.ReadCloser, error)) (*planRejects, error) {
	p := &planRejects{}
	if open == nil {
		return p, nil
	}
	var err error
	if p.file, err = open(ctx); err != nil {
		return nil, fmt.Errorf("open planner's rejects: %w", err)
	}
	p.r = bufio.NewReaderSize(&ContextReader{Ctx: ctx, R: p.file}, 32<<10)
	if err := p.advance(); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

func (p *planRejects) close() {
	if p.file != nil {
		_ = p.file.Close() // it was only read
	}
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
