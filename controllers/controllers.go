// Package controllers puts the reconcilers of a coordinator together: which
// keys each one visits, what wakes it, and how many it works on at once.
//
// Every coordinator runs all of them. They share nothing but the database:
// each step is taken by a guarded change of a row, so that two coordinators
// never do one step twice and losing one costs no more than a step's lease.
package controllers

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"k8s.io/utils/clock"

	"scimesh.dev/scimesh/artifacts"
	"scimesh.dev/scimesh/controllers/canceller"
	"scimesh.dev/scimesh/controllers/janitor"
	"scimesh.dev/scimesh/controllers/jobstep"
	"scimesh.dev/scimesh/controllers/leasereaper"
	"scimesh.dev/scimesh/controllers/planner"
	"scimesh.dev/scimesh/controllers/reducer"
	"scimesh.dev/scimesh/controllers/workerliveness"
	"scimesh.dev/scimesh/reconcile"
	"scimesh.dev/scimesh/store"
	"scimesh.dev/scimesh/workloads"
)

// Options are what the controllers need. Zero durations take the defaults.
type Options struct {
	Store     *store.Store
	Artifacts artifacts.Store
	Workloads *workloads.Registry
	// Owner identifies this coordinator process.
	Owner      uuid.UUID
	Clock      clock.WithTicker
	Log        *zap.Logger
	Registerer prometheus.Registerer

	// Resync is the time between two visits of every Job that waits for a step.
	Resync time.Duration
	// ReapEvery is the time between two looks for expired leases.
	ReapEvery time.Duration
	// WorkerOfflineAfter is the silence after which a worker is offline.
	WorkerOfflineAfter time.Duration
	Janitor            janitor.Config
}

func (o Options) withDefaults() Options {
	setDefault(&o.Resync, 15*time.Second)
	setDefault(&o.ReapEvery, time.Second)
	setDefault(&o.WorkerOfflineAfter, time.Minute)
	setDefault(&o.Janitor.JobsEvery, 10*time.Second)
	setDefault(&o.Janitor.BlobsEvery, 10*time.Minute)
	setDefault(&o.Janitor.UnusedInputs, 24*time.Hour)
	setDefault(&o.Janitor.Events, 30*24*time.Hour)
	setDefault(&o.Janitor.BlobGrace, 24*time.Hour)
	setDefault(&o.Janitor.StagingEvery, 30*time.Second)
	setDefault(&o.Janitor.StagingGrace, 5*time.Second)
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Log == nil {
		o.Log = zap.NewNop()
	}
	if o.Registerer == nil {
		o.Registerer = prometheus.NewRegistry()
	}
	return o
}

func setDefault(d *time.Duration, value time.Duration) {
	if *d <= 0 {
		*d = value
	}
}

// NewManager returns a manager of all controllers, not started yet.
func NewManager(o Options) (*reconcile.Manager, error) {
	o = o.withDefaults()
	metrics, err := reconcile.NewMetrics(o.Registerer)
	if err != nil {
		return nil, err
	}
	b := builder{o: o, metrics: metrics, manager: reconcile.NewManager(o.Log)}
	b.notifications = reconcile.NewNotifications(o.Store, reconcile.NotificationsOptions{Clock: o.Clock, Logger: o.Log.Named("notifications")})
	b.addAll()
	b.try(b.manager.AddRunnable("notifications", b.notifications))
	return b.manager, b.err
}

type builder struct {
	o             Options
	metrics       *reconcile.Metrics
	manager       *reconcile.Manager
	notifications *reconcile.Notifications
	err           error
}

func (b *builder) try(err error) {
	if b.err == nil {
		b.err = err
	}
}

func (b *builder) addAll() {
	o := b.o
	env := func(name string) jobstep.Env {
		return jobstep.Env{Owner: o.Owner, Clock: o.Clock, Log: o.Log.Named(name)}
	}
	// A planner or reducer reads whole files: no time limit, its lease bounds it.
	b.add("planner", planner.New(o.Store, o.Artifacts, o.Workloads, env("planner")), watch{list: o.Store.JobsToPlan, payloads: ownKey},
		reconcile.Options{Concurrency: 2, ReconcileTimeout: -1})
	b.add("reducer", reducer.New(o.Store, o.Artifacts, o.Workloads, env("reducer")), watch{list: o.Store.JobsToReduce, payloads: ownKey},
		reconcile.Options{Concurrency: 4, ReconcileTimeout: -1})
	b.add("canceller", &canceller.Reconciler{Store: o.Store, Log: o.Log.Named("canceller")}, watch{list: o.Store.JobsToCancel, payloads: ownKey, resync: 2 * o.Resync},
		reconcile.Options{Concurrency: 2, ReconcileTimeout: 5 * time.Minute})
	b.add("leasereaper", &leasereaper.Reconciler{Store: o.Store, Every: o.ReapEvery, Log: o.Log.Named("leasereaper")},
		watch{keys: []string{leasereaper.Key}}, reconcile.Options{MaxDelay: 5 * time.Second})
	b.add("workerliveness", &workerliveness.Reconciler{
		Store: o.Store, OfflineAfter: o.WorkerOfflineAfter, Every: o.WorkerOfflineAfter / 6, Log: o.Log.Named("workerliveness"),
	}, watch{keys: []string{workerliveness.Key}}, reconcile.Options{})
	b.add("janitor", &janitor.Reconciler{
		Store: o.Store, Artifacts: o.Artifacts, Config: o.Janitor, Clock: o.Clock, Log: o.Log.Named("janitor"),
	}, watch{keys: janitor.Keys, payloads: func(string) []string { return []string{janitor.KeyJobs} }},
		reconcile.Options{Concurrency: 2, ReconcileTimeout: time.Hour})
}

// watch says which keys a controller visits: those listed from the database or
// a fixed few, and those that the payload of a notification stands for.
type watch struct {
	list     func(ctx context.Context, after uuid.UUID, limit int) ([]uuid.UUID, error)
	keys     []string
	payloads func(payload string) []string
	// resync replaces Options.Resync.
	resync time.Duration
}

// ownKey takes the payload, the id of a Job, for the key.
func ownKey(payload string) []string { return []string{payload} }

func (b *builder) add(name string, r reconcile.Reconciler, w watch, opts reconcile.Options) {
	log := b.o.Log.Named(name)
	periodic := reconcile.NewPeriodic(w.listFunc(), reconcile.PeriodicOptions{Interval: cmp.Or(w.resync, b.o.Resync), Clock: b.o.Clock, Logger: log})
	opts.Sources = []reconcile.Source{periodic}
	if w.payloads != nil {
		opts.Sources = append(opts.Sources, b.notifications.Source(store.ChannelJobs, w.payloads, periodic.Trigger))
	}
	opts.Clock, opts.Logger, opts.Metrics = b.o.Clock, log, b.metrics
	if err := b.manager.Add(reconcile.New(name, r, opts)); err != nil {
		b.try(fmt.Errorf("controller %s: %w", name, err))
	}
}

// listFunc lists the keys of a resync.
func (w watch) listFunc() reconcile.ListFunc {
	if w.list == nil {
		return reconcile.Keys(w.keys...)
	}
	return func(ctx context.Context, after string, limit int) ([]string, error) {
		last := uuid.Nil
		if after != "" {
			var err error
			if last, err = uuid.Parse(after); err != nil {
				return nil, err
			}
		}
		ids, err := w.list(ctx, last, limit)
		keys := make([]string, len(ids))
		for i, id := range ids {
			keys[i] = id.String()
		}
		return keys, err
	}
}
