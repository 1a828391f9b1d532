package server

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/google/uuid"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/api/wire"
	"scimesh.dev/scimesh/store"
)

const (
	// maxWatched is how many Jobs one watch may follow.
	maxWatched = 5000
	// heartbeatEvery is how long a watch may be silent.
	heartbeatEvery = 15 * time.Second
)

// findJobs lists the Jobs of a query.
func (s *Server) findJobs(ctx context.Context, q jobQuery, p store.Page) (store.List[store.Job], error) {
	if q.ref == "" {
		return s.store.ListJobs(ctx, q.JobFilter, p)
	}
	j, err := s.job(ctx, q.ref)
	var known *apiError
	switch {
	case errors.As(err, &known) && known.code == wire.CodeNotFound:
		return store.List[store.Job]{}, nil
	case err != nil:
		return store.List[store.Job]{}, err
	case !q.matches(j):
		return store.List[store.Job]{}, nil
	}
	return store.List[store.Job]{Items: []store.Job{j}}, nil
}

// watcher follows the Jobs of one query by reading them again and again: what
// it misses between two readings is told by the next one.
type watcher struct {
	s      *Server
	query  jobQuery
	known  map[uuid.UUID]store.Job
	synced bool
	quiet  time.Time // since when nothing was sent
	lines  *json.Encoder
	flush  func()
}

// watchJobs streams changes until the client leaves or the server drains.
func (s *Server) watchJobs(ctx context.Context, q jobQuery) (respond, error) {
	release, ok := s.streams.take()
	if !ok {
		return nil, busyf("too many streams at once")
	}
	// The first reading is made before the response begins, so that its errors are told as all others.
	first, err := s.readWatched(ctx, q)
	if err != nil {
		release()
		return nil, err
	}
	x := exchangeOf(ctx)
	return func(w http.ResponseWriter) error {
		defer release()
		ctx, stop := s.untilDrained(ctx)
		defer stop()
		w.Header().Set("Content-Type", "application/x-ndjson")
		wa := &watcher{s: s, query: q, known: map[uuid.UUID]store.Job{}, lines: json.NewEncoder(w), flush: x.w.Flush}
		wa.run(ctx, first)
		return nil
	}, nil
}

// run sends the first reading and then the changes. It returns when ctx ends,
// when nothing can be sent any more, or after an ERROR.
func (w *watcher) run(ctx context.Context, jobs []store.Job) {
	ticker := time.NewTicker(w.s.cfg.PollInterval)
	defer ticker.Stop()
	for {
		if err := w.send(jobs); err != nil {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		var err error
		if jobs, err = w.s.readWatched(ctx, w.query); err != nil {
			if ctx.Err() == nil {
				e := classify(err)
				_ = w.event(v1.JobWatchEvent{Type: v1.WatchError, Error: &v1.WatchFault{Code: string(e.code), Message: e.message}})
				w.flush()
			}
			return
		}
	}
}

// send tells how a reading differs from the one before.
func (w *watcher) send(jobs []store.Job) error {
	sent := !w.synced
	seen := make(map[uuid.UUID]bool, len(jobs))
	for _, j := range jobs {
		seen[j.ID] = true
		old, known := w.known[j.ID]
		if known && old.Version == j.Version && old.Tasks == j.Tasks && old.Damage == j.Damage {
			continue
		}
		w.known[j.ID], sent = j, true
		kind := v1.WatchModified
		if !known {
			kind = v1.WatchAdded
		}
		if err := w.object(kind, j); err != nil {
			return err
		}
	}
	for id, j := range w.known {
		if seen[id] {
			continue
		}
		delete(w.known, id)
		sent = true
		if err := w.object(v1.WatchDeleted, j); err != nil {
			return err
		}
	}
	return w.close(sent)
}

// close ends a reading: with SYNCED the first one, with a HEARTBEAT one that
// sent nothing for long.
func (w *watcher) close(sent bool) error {
	now := time.Now()
	var mark v1.WatchType
	switch {
	case !w.synced:
		w.synced, mark = true, v1.WatchSynced
	case !sent && now.Sub(w.quiet) >= heartbeatEvery:
		mark = v1.WatchHeartbeat
	}
	if mark != "" {
		if err := w.event(v1.JobWatchEvent{Type: mark}); err != nil {
			return err
		}
		sent = true
	}
	if sent {
		w.quiet = now
		w.flush()
	}
	return nil
}

func (w *watcher) object(kind v1.WatchType, j store.Job) error {
	r := j.Resource()
	return w.event(v1.JobWatchEvent{Type: kind, Object: &r})
}

func (w *watcher) event(e v1.JobWatchEvent) error { return w.lines.Encode(e) }

// readWatched reads all Jobs of a query.
func (s *Server) readWatched(ctx context.Context, q jobQuery) ([]store.Job, error) {
	var jobs []store.Job
	p := store.Page{Limit: maxPage}
	for {
		l, err := s.findJobs(ctx, q, p)
		if err != nil {
			return nil, err
		}
		jobs = append(jobs, l.Items...)
		if len(jobs) > maxWatched {
			return nil, apiErrorf(wire.CodeInvalidRequest, "more than %d jobs match: narrow the selection", maxWatched)
		}
		if l.Continue == "" {
			return jobs, nil
		}
		p.Continue = l.Continue
	}
}
