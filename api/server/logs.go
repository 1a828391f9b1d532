package server

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/google/uuid"
	"k8s.io/apimachinery/pkg/util/validation/field"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/api/wire"
	"scimesh.dev/scimesh/store"
)

// logPart is how much of a log is read at once, in bytes.
const logPart = 256 << 10

// logReader streams the log of one attempt.
type logReader struct {
	s       *Server
	task    uuid.UUID
	attempt int32
	offset  int64
	follow  bool
}

// GetTaskLog streams the log of an attempt.
func (s handlers) GetTaskLog(ctx context.Context, req GetTaskLogRequestObject) (GetTaskLogResponseObject, error) {
	p := req.Params
	l := &logReader{s: s.Server, follow: p.Follow != nil && *p.Follow}
	if p.Offset != nil {
		l.offset = *p.Offset
	}
	if p.Attempt != nil {
		l.attempt = *p.Attempt
	}
	if l.offset < 0 || p.Attempt != nil && l.attempt < 1 {
		return nil, v1.AsError(field.ErrorList{field.Forbidden(field.NewPath("offset"), "offset must be at least 0, attempt at least 1")})
	}
	release := func() {}
	if l.follow {
		var ok bool
		if release, ok = s.streams.take(); !ok {
			return nil, busyf("too many streams at once")
		}
	}
	first, err := l.begin(ctx, req.Task)
	if err != nil {
		release()
		return nil, err
	}
	x := exchangeOf(ctx)
	return respond(func(w http.ResponseWriter) error {
		defer release()
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("X-Task-Attempt", strconv.Itoa(int(l.attempt)))
		w.WriteHeader(http.StatusOK)
		x.w.Flush() // a reader that follows is to know that it does
		return l.run(ctx, w, x.w.Flush, first)
	}), nil
}

// begin finds the attempt and reads the first part, while errors can still be told.
func (l *logReader) begin(ctx context.Context, ref string) (store.LogChunk, error) {
	t, err := l.s.task(ctx, ref)
	if err != nil {
		return store.LogChunk{}, err
	}
	for l.task = t.ID; l.attempt == 0 && t.Attempt == 0; {
		if !l.follow || t.Phase.Final() {
			return store.LogChunk{}, apiErrorf(wire.CodeNotFound, "task %s has not been started", v1.Quote(ref))
		}
		if err := l.pause(ctx); err != nil {
			return store.LogChunk{}, err
		}
		if t, err = l.s.store.GetTask(ctx, t.ID); err != nil {
			return store.LogChunk{}, describe(err, "task", ref)
		}
	}
	if l.attempt == 0 {
		l.attempt = t.Attempt
	}
	if l.attempt > t.Attempt {
		return store.LogChunk{}, apiErrorf(wire.CodeNotFound, "task %s has no attempt %d", v1.Quote(ref), l.attempt)
	}
	chunk, err := l.read(ctx)
	return chunk, describe(err, "task", ref)
}

func (l *logReader) read(ctx context.Context) (store.LogChunk, error) {
	return l.s.store.ReadLog(ctx, l.task, l.attempt, l.offset, logPart)
}

// run writes part after part. An error ends the response without its proper
// end, so that the client knows that the log goes on.
func (l *logReader) run(ctx context.Context, w http.ResponseWriter, flush func(), chunk store.LogChunk) error {
	for {
		if _, err := w.Write(chunk.Body); err != nil {
			return err
		}
		l.offset += int64(len(chunk.Body))
		if chunk.Final || len(chunk.Body) == 0 && !l.follow {
			return nil
		}
		if len(chunk.Body) == 0 {
			if err := l.pause(ctx); err != nil {
				return err
			}
		} else {
			flush()
		}
		var err error
		if chunk, err = l.read(ctx); err != nil {
			return err
		}
	}
}

// pause waits for more.
func (l *logReader) pause(ctx context.Context) error {
	timer := time.NewTimer(l.s.cfg.PollInterval)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-l.s.draining.Done():
		return apiErrorf(wire.CodeUnavailable, "the coordinator stops")
	}
}
