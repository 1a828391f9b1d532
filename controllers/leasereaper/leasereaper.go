// Package leasereaper returns tasks whose lease has expired to the queue, or
// fails them when the budget of lost leases is spent.
//
// The reaper only makes expired leases visible to the next claim: a lease that
// has run out is void for its worker at once, whether or not it was reaped. So
// a reaper that is late costs time alone, and several may work side by side.
package leasereaper

import (
	"context"
	"time"

	"go.uber.org/zap"

	"scimesh.dev/scimesh/reconcile"
	"scimesh.dev/scimesh/store"
)

// Key is the only key of this controller: all leases.
const Key = "leases"

// batch bounds one transaction.
const batch = 500

// Store is what the reaper needs of the database.
type Store interface {
	ExpireLeases(ctx context.Context, limit int) (store.Expired, error)
}

// Reconciler reaps expired leases.
type Reconciler struct {
	Store Store
	// Every is the time between two passes.
	Every time.Duration
	Log   *zap.Logger
}

// Reconcile reaps until nothing is left to reap.
func (r *Reconciler) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	for {
		expired, err := r.Store.ExpireLeases(ctx, batch)
		if err != nil {
			return reconcile.Result{}, err
		}
		n := expired.Requeued + expired.Failed
		if n > 0 {
			r.Log.Info("leases expired", zap.Int("requeued", expired.Requeued), zap.Int("failed", expired.Failed))
		}
		if n < batch {
			return reconcile.Result{RequeueAfter: r.Every}, nil
		}
	}
}
