package worker

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"hash"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"go.uber.org/zap"

	"scimesh.dev/scimesh/workloads"
)

const (
	fileBuffer = 256 << 10
	maxMetrics = 15 << 10 // the coordinator takes 16 KiB
)

// outputFile is a result being written: hashed, counted against the disk
// limit, and deaf once the task's context has ended.
type outputFile struct {
	ctx  context.Context
	f    *os.File
	book func(int64) error
	sum  hash.Hash
	size int64
	err  error // the first fault; a workload may hide it in its own
}

func (o *outputFile) Write(p []byte) (int, error) {
	if o.err == nil && o.ctx.Err() != nil {
		o.err = context.Cause(o.ctx)
	}
	if o.err == nil {
		o.err = o.book(int64(len(p)))
	}
	if o.err != nil {
		return 0, o.err
	}
	n, err := o.f.Write(p)
	o.sum.Write(p[:n])
	o.size += int64(n)
	if err != nil {
		o.err = diskError(err)
	}
	return n, o.err
}

// inputReader ends with the task's context, so that a workload that only reads stops too.
type inputReader struct {
	ctx context.Context
	r   io.Reader
}

func (r inputReader) Read(p []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	return r.r.Read(p)
}

// execute runs the task's workload over the fetched input and leaves the
// result in the task's folder. ctx ends the computation.
func (t *task) execute(ctx context.Context) (*output, error) {
	workload, ok := t.cfg.Workloads.Get(t.state.Workload)
	if !ok {
		return nil, failuref(codeUnknownWorkload, "this worker does not have workload %q", t.state.Workload)
	}
	if err := t.fitsMemory(workload); err != nil {
		return nil, err
	}
	inputs, closeInputs, err := t.openInputs(ctx)
	if err != nil {
		return nil, diskError(err)
	}
	defer closeInputs()
	f, err := os.OpenFile(t.path(outputName)+".part", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, diskError(err)
	}
	defer f.Close()
	out := &outputFile{ctx: ctx, f: f, book: t.book, sum: sha256.New()}
	buffered := bufio.NewWriterSize(out, fileBuffer)

	start := time.Now()
	result, err := runWorkload(ctx, workload, workloads.TaskRequest{
		Input:      inputs[0],
		InputSize:  t.inputSize(0),
		Inputs:     inputs[1:],
		Parameters: t.state.Parameters,
		Output:     buffered,
		Threads:    t.cfg.Threads,
		TempDir:    t.dir,
		Progress:   t.setProgress,
		Logf:       t.tlog.Logf,
	})
	if err == nil {
		err = buffered.Flush()
	}
	if out.err != nil {
		err = out.err
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		return nil, err
	}
	if err := f.Close(); err != nil {
		return nil, diskError(err)
	}
	if err := os.Rename(f.Name(), t.path(outputName)); err != nil {
		return nil, diskError(err)
	}
	t.work.cache.put(hex.EncodeToString(out.sum.Sum(nil)), t.path(outputName))
	return &output{
		SHA256:      hex.EncodeToString(out.sum.Sum(nil)),
		SizeBytes:   out.size,
		ContentType: orOctets(result.ContentType),
		Metrics:     t.metricsOf(result.Metrics, time.Since(start)),
	}, nil
}

// fitsMemory refuses a task that takes more memory than one task may have here.
// Another worker may have more.
func (t *task) fitsMemory(w workloads.Workload) error {
	sized, ok := w.(workloads.Sized)
	if !ok {
		return nil
	}
	sizes := make([]int64, len(t.state.Inputs))
	for i := range sizes {
		sizes[i] = t.inputSize(i)
	}
	need, have := sized.Memory(t.state.Parameters, sizes)>>20, t.cfg.MemoryMB/int64(t.cfg.Concurrency)
	if need <= have {
		return nil
	}
	return failuref(codeMemory, "the task takes about %d MB of memory; this worker has %d MB for each of its %d tasks at once", need, have, t.cfg.Concurrency)
}

// inputSize is the size of an input, 0 if it cannot be told.
func (t *task) inputSize(i int) int64 {
	info, err := os.Stat(t.path(inputName(i)))
	if err != nil {
		return 0
	}
	return info.Size()
}

// openInputs opens the fetched inputs.
func (t *task) openInputs(ctx context.Context) (inputs []io.Reader, closeAll func(), err error) {
	var files []*os.File
	closeAll = func() {
		for _, f := range files {
			_ = f.Close() // they were only read
		}
	}
	for i := range t.state.Inputs {
		f, err := os.Open(t.path(inputName(i)))
		if err != nil {
			closeAll()
			return nil, nil, err
		}
		files = append(files, f)
		inputs = append(inputs, inputReader{ctx, bufio.NewReaderSize(f, fileBuffer)})
	}
	return inputs, closeAll, nil
}

// runWorkload calls Execute and turns a panic into an error.
func runWorkload(ctx context.Context, w workloads.Workload, req workloads.TaskRequest) (res workloads.TaskResult, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &panicError{value: p, stack: debug.Stack()}
		}
	}()
	return w.Execute(ctx, req)
}

// metricsOf adds the time to a workload's metrics. Metrics that are not JSON,
// such as a NaN, or too long are left out: they are not worth the result.
func (t *task) metricsOf(metrics map[string]any, d time.Duration) map[string]any {
	m := map[string]any{"elapsed_seconds": float64(d.Round(time.Millisecond)) / float64(time.Second)}
	raw, err := json.Marshal(metrics)
	if err != nil || len(raw) > maxMetrics {
		t.log.Warn("metrics left out", zap.String("operation", "execute"), zap.Int("bytes", len(raw)))
		return m
	}
	maps.Copy(m, metrics)
	return m
}

func orOctets(contentType string) string {
	if contentType == "" {
		return "application/octet-stream"
	}
	return contentType
}

// hashFile returns the digest of a file in lowercase hex, and its size.
func hashFile(path string) (sum string, size int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	h := sha256.New()
	size, err = io.Copy(h, f)
	return hex.EncodeToString(h.Sum(nil)), size, err
}

func (t *task) path(name string) string { return filepath.Join(t.dir, name) }
