package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"scimesh.dev/scimesh/api/client"
	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/cmd/scimesh/internal/printer"
)

// logReader prints the log of one task.
type logReader struct {
	*session
	client  *client.Client
	out     *logPrinter
	task    v1.Task
	attempt int32 // 0 is the latest, and with follow those after it
	follow  bool
	tail    int    // -1 is all
	prefix  string // before each line; empty for none
}

// read prints the log of one attempt, or follows one attempt after another
// until the task has ended.
func (r *logReader) read(ctx context.Context) error {
	name := r.task.Metadata.UID.String()
	attempt := r.attempt
	if attempt == 0 {
		attempt = r.task.Status.Attempt
	}
	last := int32(0) // attempt printed
	for {
		if attempt > last {
			if err := r.readAttempt(ctx, name, attempt); err != nil {
				return err
			}
			last = attempt
		}
		if !r.follow || r.attempt > 0 {
			return nil
		}
		task, err := r.client.GetTask(ctx, name)
		if err != nil {
			return err
		}
		if task.Status.Phase.Final() && task.Status.Attempt == last {
			return nil
		}
		if attempt = task.Status.Attempt; attempt <= last {
			if sleep(ctx, r.poll); ctx.Err() != nil {
				return ctx.Err()
			}
		}
	}
}

// readAttempt prints the log of an attempt. A stream that breaks is taken up
// at the byte where it broke, as long as it brings something.
func (r *logReader) readAttempt(ctx context.Context, task string, attempt int32) error {
	lines := r.lines()
	offset, failures := int64(0), 0
	for {
		n, err := r.stream(ctx, task, attempt, offset, lines)
		offset += n
		if err == nil {
			return lines.end()
		}
		if n > 0 {
			failures = 0
		}
		failures++
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if !errors.Is(err, client.ErrUnavailable) || failures > max(4, r.retry.Attempts) {
			cut := fmt.Errorf("the log of task %s, attempt %d, was cut at byte %d: %w", r.task.Metadata.Name, attempt, offset, err)
			return errors.Join(lines.end(), &exitError{code: ExitError, err: cut})
		}
		pause(ctx, failures)
	}
}

// stream copies one stream and returns how many bytes it brought.
func (r *logReader) stream(ctx context.Context, task string, attempt int32, offset int64, lines *lineWriter) (int64, error) {
	log, err := r.client.TaskLog(ctx, task, attempt, offset, r.follow)
	if err != nil {
		return 0, err
	}
	defer log.Close()
	n, err := io.Copy(lines, log)
	if err != nil && lines.err == nil {
		err = fmt.Errorf("%w: %w", client.ErrUnavailable, err) // the stream broke, not the output
	}
	return n, err
}

func (r *logReader) lines() *lineWriter {
	prefix := ""
	if r.prefix != "" {
		prefix = "[" + printer.Safe(r.prefix) + "] "
	}
	return &lineWriter{out: r.out, prefix: prefix, tail: r.tail}
}

// logPrinter is the output that logs share, line by line.
type logPrinter struct {
	mu  sync.Mutex
	out io.Writer
}

func (p *logPrinter) write(text string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, err := io.WriteString(p.out, text)
	return err
}

// maxLine is where a line that does not end is cut, in bytes.
const maxLine = 64 << 10

// lineWriter cuts a log into lines and makes them harmless to a terminal.
type lineWriter struct {
	out     *logPrinter
	prefix  string
	tail    int // -1 prints at once, else only the last so many lines at the end
	partial []byte
	kept    []string
	err     error // of the output
}

// Write prints the lines that are whole.
func (w *lineWriter) Write(p []byte) (int, error) {
	w.partial = append(w.partial, p...)
	for {
		advance, line, err := bufio.ScanLines(w.partial, len(w.partial) > maxLine)
		if err != nil {
			return 0, err
		}
		if advance == 0 {
			return len(p), nil
		}
		if w.err = w.line(string(line)); w.err != nil {
			return 0, w.err
		}
		w.partial = w.partial[advance:]
	}
}

func (w *lineWriter) line(text string) error {
	text = w.prefix + strings.ReplaceAll(printer.SafeLines(text), "\n", "\\u000a") + "\n"
	if w.tail < 0 {
		return w.out.write(text)
	}
	w.kept = append(w.kept, text)
	if len(w.kept) > w.tail {
		w.kept = w.kept[1:]
	}
	return nil
}

// end prints what is left.
func (w *lineWriter) end() error {
	if len(w.partial) > 0 {
		if err := w.line(string(w.partial)); err != nil {
			return err
		}
		w.partial = nil
	}
	for _, text := range w.kept {
		if err := w.out.write(text); err != nil {
			return err
		}
	}
	w.kept = nil
	return nil
}
