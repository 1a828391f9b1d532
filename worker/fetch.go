package worker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"

	"go.uber.org/zap"
)

const (
	inputFile  = "input"
	outputName = "output"
	// maxFetchStalls bounds the tries in a row that bring not one byte of an
	// input that the coordinator does not serve itself.
	maxFetchStalls = 10
)

// fetch brings the inputs into the task's folder and verifies them. Bytes that an
// earlier try or an earlier process left are kept.
func (t *task) fetch(ctx context.Context) error {
	for i := range t.state.Inputs {
		if err := t.fetchInput(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

func (t *task) fetchInput(ctx context.Context, i int) error {
	want, path := t.state.Inputs[i].SHA256, t.path(inputName(i))
	if sum, _, err := hashFile(path); err == nil && sum == want {
		return nil
	}
	if t.work.cache.take(want, path) {
		t.log.Debug("input taken from the cache", zap.String("operation", "download"), zap.String("sha256", want))
		return t.bookFile(path)
	}
	f, err := os.OpenFile(path+".part", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return diskError(err)
	}
	defer f.Close()
	p := &partialFile{input: i, f: f, book: t.book, sum: sha256.New()}
	if err := p.recover(); err != nil {
		return diskError(err)
	}
	for anew := false; ; anew = true {
		resumed := p.size > 0
		if err := t.fetchAll(ctx, p); err != nil {
			return err
		}
		got := hex.EncodeToString(p.sum.Sum(nil))
		if got == want {
			break
		}
		if !resumed && !p.joined || anew {
			return failuref(codeChecksum, "the input's SHA-256 is %s, not %s, after %d bytes", got, want, p.size)
		}
		// Joined pieces may be of two versions: once more from the beginning.
		t.log.Warn("joined input does not match its checksum", zap.Int64("bytes", p.size))
		if err := p.restart(); err != nil {
			return err
		}
	}
	if err := f.Close(); err != nil {
		return diskError(err)
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return diskError(err)
	}
	t.work.cache.put(want, path)
	return nil
}

// bookFile counts a file that has come into the folder as a whole.
func (t *task) bookFile(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return diskError(err)
	}
	return t.book(info.Size())
}

// fetchAll reads until the end of the input, going on where a connection broke.
func (t *task) fetchAll(ctx context.Context, p *partialFile) error {
	var b backoff
	for stalls := 0; ; {
		before := p.size
		err := t.fetchSome(ctx, p)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		switch {
		case err == nil:
			return nil
		case machineFault(err), errors.Is(err, ErrLeaseLost):
			return err
		case errors.Is(err, ErrUnavailable), errors.Is(err, ErrDenied):
		case errors.Is(err, ErrNotFound), errors.Is(err, ErrRefused), errors.Is(err, ErrInputUnavailable):
			return failuref(codeInputUnavailable, "%v", err)
		default:
			return err
		}
		if p.size > before {
			b.reset()
			stalls = 0
		}
		if stalls++; stalls >= maxFetchStalls && (internalError(err) || errors.Is(err, ErrInputUnavailable)) {
			return failuref(codeInputUnavailable, "%v", err)
		}
		d := b.next(err)
		t.log.Warn("input not complete", zap.String("operation", "download"),
			zap.Int64("bytes", p.size), zap.Duration("delay", d), fault(err))
		if err := sleep(ctx, d); err != nil {
			return err
		}
	}
}

// fetchSome reads what one request brings.
func (t *task) fetchSome(ctx context.Context, p *partialFile) error {
	in := t.state.Inputs[p.input]
	body, err := t.coord.Download(ctx, DownloadRequest{Lease: t.state.Lease, URI: in.URI, Offset: p.size, ETag: in.ETag})
	if err != nil {
		return err
	}
	defer body.Close()
	switch {
	case body.Offset != p.size && body.Offset != 0:
		return fmt.Errorf("%w: asked for byte %d, got byte %d", ErrUnavailable, p.size, body.Offset)
	case body.Offset != p.size:
		if err := p.restart(); err != nil {
			return err
		}
	case p.size > 0:
		p.joined = true
	}
	if body.ETag != in.ETag {
		if err := t.record(func(s *taskState) { s.Inputs[p.input].ETag = body.ETag }); err != nil {
			return err
		}
	}
	if body.Size >= 0 {
		// Ask for the room before, not in the middle.
		if err := t.disk.fits(body.Size - p.size); err != nil {
			return err
		}
	}
	_, err = io.CopyBuffer(p, body, make([]byte, fileBuffer))
	if err == nil && body.Size >= 0 && p.size != body.Size {
		return fmt.Errorf("%w: %d of %d bytes", ErrUnavailable, p.size, body.Size)
	}
	return err
}

// partialFile is an input being fetched.
type partialFile struct {
	input  int // which of the task's inputs
	f      *os.File
	book   func(int64) error
	sum    hash.Hash
	size   int64
	joined bool // bytes of more than one request
}

// recover takes over what is in the file.
func (p *partialFile) recover() error {
	n, err := io.Copy(p.sum, p.f)
	p.size = n
	return err
}

func (p *partialFile) restart() error {
	p.sum.Reset()
	if err := p.book(-p.size); err != nil {
		return err
	}
	p.size, p.joined = 0, false
	if err := p.f.Truncate(0); err != nil {
		return diskError(err)
	}
	_, err := p.f.Seek(0, io.SeekStart)
	return diskError(err)
}

func (p *partialFile) Write(b []byte) (int, error) {
	if err := p.book(int64(len(b))); err != nil {
		return 0, err
	}
	n, err := p.f.Write(b)
	p.sum.Write(b[:n])
	p.size += int64(n)
	return n, diskError(err)
}
