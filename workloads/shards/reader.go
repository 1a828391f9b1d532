package shards

import (
	"context"
	"errors"
	"io"
)

// ContextReader stops reading when its context ends, and remembers the first
// error of reading, to tell it from what is wrong with what was read.
type ContextReader struct {
	Ctx context.Context // lives as long as the call that got it
	R   io.Reader
	Err error
}

// Read implements io.Reader.
func (r *ContextReader) Read(p []byte) (int, error) {
	if r.Err = r.Ctx.Err(); r.Err != nil {
		return 0, r.Err
	}
	n, err := r.R.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		r.Err = err
	}
	return n, err
}
