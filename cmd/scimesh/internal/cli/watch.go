package cli

import (
	"context"
	"errors"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/google/uuid"

	"scimesh.dev/scimesh/api/client"
	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/api/wire"
)

// feed is a watch of jobs that goes on when the connection is lost. Each
// change is told once, however often the coordinator lists its jobs anew.
type feed struct {
	*session
	client *client.Client
	params wire.ListJobsParams
	// lost, if not nil, is told when the connection is lost and when it is back (nil).
	lost func(err error)
	// known says that the coordinator has answered before: it is tried again
	// for as long as it takes from the beginning.
	known bool
	seen  map[uuid.UUID]v1.Job
}

// Waits between two attempts to watch again.
const (
	minRewatch = 200 * time.Millisecond
	maxRewatch = 5 * time.Second
)

// events yields jobs that exist, SYNCED once they all have been told, and
// changes. It ends with ctx, or with an error that trying again does not mend.
// Before the first connection to a coordinator that is not known, only the
// policy's number of attempts is made.
func (f *feed) events(ctx context.Context) iter.Seq2[v1.JobWatchEvent, error] {
	return func(yield func(v1.JobWatchEvent, error) bool) {
		f.seen = map[uuid.UUID]v1.Job{}
		connected, failures := false, 0
		for ctx.Err() == nil {
			done, err := f.once(ctx, &connected, &failures, yield)
			if done {
				return
			}
			failures++
			if !errors.Is(err, client.ErrUnavailable) || !connected && !f.known && failures >= max(4, f.retry.Attempts) {
				yield(v1.JobWatchEvent{}, err)
				return
			}
			if f.lost != nil && failures == 1 && ctx.Err() == nil {
				f.lost(err)
			}
			pause(ctx, failures)
		}
		yield(v1.JobWatchEvent{}, ctx.Err())
	}
}

// once reads one stream to its end.
func (f *feed) once(ctx context.Context, connected *bool, failures *int, yield func(v1.JobWatchEvent, error) bool) (done bool, err error) {
	listed := map[uuid.UUID]bool{}
	for event, err := range f.client.WatchJobs(ctx, f.params) {
		if err != nil {
			return false, err
		}
		if *failures > 0 && f.lost != nil && (*connected || f.known) {
			f.lost(nil)
		}
		*failures = 0
		for _, e := range f.news(event, listed, *connected) {
			if !yield(e, nil) {
				return true, nil
			}
		}
		*connected = *connected || event.Type == v1.WatchSynced
	}
	return false, ctx.Err()
}

// news is what an event says that was not known. listed collects the jobs of
// this stream, so that its SYNCED tells which ones have gone meanwhile.
func (f *feed) news(event v1.JobWatchEvent, listed map[uuid.UUID]bool, again bool) []v1.JobWatchEvent {
	switch {
	case event.Type == v1.WatchSynced && again:
		return f.gone(listed)
	case event.Type == v1.WatchSynced:
		return []v1.JobWatchEvent{event}
	case event.Object == nil:
		return nil
	}
	uid := event.Object.Metadata.UID
	old, known := f.seen[uid]
	if event.Type == v1.WatchDeleted {
		delete(f.seen, uid)
		return []v1.JobWatchEvent{event}
	}
	listed[uid] = true
	f.seen[uid] = *event.Object
	if known && old.Metadata.ResourceVersion == event.Object.Metadata.ResourceVersion {
		return nil
	}
	if known {
		event.Type = v1.WatchModified
	}
	return []v1.JobWatchEvent{event}
}

// gone tells of the jobs that a new stream does not list any more.
func (f *feed) gone(listed map[uuid.UUID]bool) []v1.JobWatchEvent {
	var out []v1.JobWatchEvent
	byAge := slices.SortedFunc(maps.Values(f.seen), func(a, b v1.Job) int {
		return a.Metadata.CreationTimestamp.Compare(b.Metadata.CreationTimestamp.Time)
	})
	for _, job := range byAge {
		if !listed[job.Metadata.UID] {
			delete(f.seen, job.Metadata.UID)
			out = append(out, v1.JobWatchEvent{Type: v1.WatchDeleted, Object: &job})
		}
	}
	return out
}

// pause waits before the attempt after so many failures.
func pause(ctx context.Context, failures int) {
	d := min(maxRewatch, minRewatch<<min(failures-1, 10))
	sleep(ctx, d/2+rand.N(d/2))
}

// sleep waits for d or the end of ctx.
func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
