// Package janitor removes what is no longer needed: Jobs to be deleted or
// past their time to live, uploaded inputs that no Job names, old events,
// blobs that no artifact names, and staging files of writers that died.
//
// Rows go before blobs, and a blob goes only if it is older than a grace
// period that outlasts every write of a row (see package artifacts), so that a
// row never points at nothing. Whatever is in doubt stays.
package janitor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"
	"k8s.io/utils/clock"

	"scimesh.dev/scimesh/artifacts"
	"scimesh.dev/scimesh/reconcile"
	"scimesh.dev/scimesh/store"
)

// The keys of this controller, one a kind of waste.
const (
	KeyJobs    = "jobs"
	KeyInputs  = "inputs"
	KeyEvents  = "events"
	KeyBlobs   = "blobs"
	KeyStaging = "staging"
)

// Keys are all of them.
var Keys = []string{KeyJobs, KeyInputs, KeyEvents, KeyBlobs, KeyStaging}

// batch bounds one transaction and one question to the database.
const batch = 500

// Store is what the janitor needs of the database.
type Store interface {
	JobsToDelete(ctx context.Context, after uuid.UUID, limit int) ([]uuid.UUID, error)
	DeleteJob(ctx context.Context, job uuid.UUID, limit int) (gone bool, err error)
	DeleteUnusedInputs(ctx context.Context, age time.Duration, limit int) (int, error)
	DeleteEvents(ctx context.Context, age time.Duration, limit int) (int, error)
	ReferencedBlobs(ctx context.Context, sha256 []string) (map[string]bool, error)
}

// Config says how long things are kept.
type Config struct {
	// JobsEvery, BlobsEvery and StagingEvery are the times between two passes
	// over rows, over blobs, and over staging files.
	JobsEvery, BlobsEvery, StagingEvery time.Duration
	// UnusedInputs is how long an upload waits for a Job that names it.
	UnusedInputs time.Duration
	// Events is how long events of Jobs that still exist are kept.
	Events time.Duration
	// BlobGrace is how long a blob without an artifact is kept; longer than any
	// time between writing a blob and its row, planning a Job included.
	BlobGrace time.Duration
	// StagingGrace is how long the file of a writer that died may rest. A store
	// that can tell the living from the dead needs no more than the moment
	// between the making of a file and its lock.
	StagingGrace time.Duration
}

// Reconciler cleans up.
type Reconciler struct {
	Store     Store
	Artifacts artifacts.Store
	Config    Config
	// Clock is compared with the modification times of blobs, so it is the
	// clock of the machine that keeps them.
	Clock clock.PassiveClock
	Log   *zap.Logger
}

// Reconcile removes one kind of waste.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	var err error
	every := r.Config.JobsEvery
	switch req.Key {
	case KeyJobs:
		err = r.jobs(ctx)
	case KeyInputs:
		err = r.drain(ctx, KeyInputs, func() (int, error) { return r.Store.DeleteUnusedInputs(ctx, r.Config.UnusedInputs, batch) })
	case KeyEvents:
		err = r.drain(ctx, KeyEvents, func() (int, error) { return r.Store.DeleteEvents(ctx, r.Config.Events, batch) })
	case KeyBlobs:
		every = r.Config.BlobsEvery
		err = r.blobs(ctx)
	case KeyStaging:
		every = r.Config.StagingEvery
		err = r.staging(ctx)
	default:
		err = reconcile.TerminalError(fmt.Errorf("unknown key %q", req.Key))
	}
	return reconcile.Result{RequeueAfter: every}, err
}

// jobs deletes every Job that is due. One that cannot be deleted now does not hold up the others.
func (r *Reconciler) jobs(ctx context.Context) error {
	var faults []error
	for after := uuid.Nil; ; {
		ids, err := r.Store.JobsToDelete(ctx, after, batch)
		if err != nil {
			return errors.Join(append(faults, err)...)
		}
		for _, id := range ids {
			if err := r.job(ctx, id); err != nil {
				faults = append(faults, fmt.Errorf("delete job %s: %w", id, err))
			}
			after = id
		}
		if len(ids) < batch {
			return errors.Join(faults...)
		}
	}
}

func (r *Reconciler) job(ctx context.Context, id uuid.UUID) error {
	for {
		gone, err := r.Store.DeleteJob(ctx, id, batch)
		if errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrNotFound) {
			return nil // not ended yet, which the canceller sees to; or gone
		}
		if err != nil {
			return err
		}
		if gone {
			r.Log.Info("job deleted", zap.String("job_id", id.String()))
			return nil
		}
	}
}

// drain repeats remove until less than a whole batch is left.
func (r *Reconciler) drain(ctx context.Context, what string, remove func() (int, error)) error {
	for total := 0; ; {
		n, err := remove()
		if err != nil {
			return err
		}
		total += n
		if n < batch {
			if total > 0 {
				r.Log.Info("removed old rows", zap.String("kind", what), zap.Int("rows", total))
			}
			return ctx.Err()
		}
	}
}

// blobs removes the blobs that no artifact names. The cutoff is read before
// the rows: a blob that is put again after that is younger than the cutoff.
func (r *Reconciler) blobs(ctx context.Context) error {
	cutoff := r.Clock.Now().Add(-r.Config.BlobGrace)
	var old []string
	removed := 0
	flush := func() error {
		n, err := r.unreferenced(ctx, old, cutoff)
		removed, old = removed+n, old[:0]
		return err
	}
	for blob, err := range r.Artifacts.List(ctx) {
		if err != nil {
			return err
		}
		if !blob.ModTime.Before(cutoff) {
			continue
		}
		if old = append(old, blob.SHA256); len(old) == batch {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if err := flush(); err != nil {
		return err
	}
	if removed > 0 {
		r.Log.Info("removed unreferenced blobs", zap.Int("blobs", removed))
	}
	return nil
}

func (r *Reconciler) unreferenced(ctx context.Context, sha256 []string, cutoff time.Time) (removed int, err error) {
	if len(sha256) == 0 {
		return 0, nil
	}
	referenced, err := r.Store.ReferencedBlobs(ctx, sha256)
	if err != nil {
		return 0, err
	}
	for _, digest := range sha256 {
		if referenced[digest] {
			continue
		}
		gone, err := r.Artifacts.DeleteIfOlder(ctx, digest, cutoff)
		if err != nil {
			return removed, err
		}
		if gone {
			removed++
		}
	}
	return removed, nil
}

func (r *Reconciler) staging(ctx context.Context) error {
	n, err := r.Artifacts.SweepStaging(ctx, r.Clock.Now().Add(-r.Config.StagingGrace))
	if n > 0 {
		r.Log.Info("removed stale staging files", zap.Int("files", n))
	}
	return err
}
