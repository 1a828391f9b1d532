// Package workerliveness keeps the phase of every worker true: busy while it
// holds a lease, online while it shows signs of life, offline otherwise.
//
// The phase is for people and for explanations. What a worker may do is
// decided by its leases; a worker that comes back is online with its next call.
package workerliveness

import (
	"context"
	"time"

	"go.uber.org/zap"

	"scimesh.dev/scimesh/reconcile"
	"scimesh.dev/scimesh/store"
)

// Key is the only key of this controller: all workers.
const Key = "workers"

// Store is what the controller needs of the database.
type Store interface {
	SweepWorkers(ctx context.Context, offlineAfter time.Duration) ([]store.WorkerChange, error)
}

// Reconciler sets the phases of workers.
type Reconciler struct {
	Store Store
	// OfflineAfter is the silence after which a worker is offline.
	OfflineAfter time.Duration
	// Every is the time between two passes.
	Every time.Duration
	Log   *zap.Logger
}

// Reconcile sets the phase of every worker.
func (r *Reconciler) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	changes, err := r.Store.SweepWorkers(ctx, r.OfflineAfter)
	if err != nil {
		return reconcile.Result{}, err
	}
	for _, c := range changes {
		r.Log.Info("worker phase changed", zap.String("worker_id", c.Worker.String()), zap.String("worker", c.Name),
			zap.String("from", string(c.From)), zap.String("to", string(c.To)))
	}
	return reconcile.Result{RequeueAfter: r.Every}, nil
}
