package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"runtime"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/spf13/cobra"
	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"scimesh.dev/scimesh/api/server"
	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/api/wire"
	"scimesh.dev/scimesh/artifacts"
	"scimesh.dev/scimesh/artifacts/filesystem"
	"scimesh.dev/scimesh/artifacts/inrow"
	"scimesh.dev/scimesh/cmd/scimesh/internal/settings"
	"scimesh.dev/scimesh/controllers"
	"scimesh.dev/scimesh/controllers/janitor"
	"scimesh.dev/scimesh/migrations"
	"scimesh.dev/scimesh/reconcile"
	"scimesh.dev/scimesh/store"
	"scimesh.dev/scimesh/web"
	"scimesh.dev/scimesh/workloads"
	"scimesh.dev/scimesh/workloads/authored"
)

func newCoordinator(streams Streams) *cobra.Command {
	c := &coordinatorConfig{}
	var configFile string
	cmd := &cobra.Command{
		Use:     "coordinator",
		Short:   "Serve the API and run the reconcilers",
		GroupID: groupServe,
		Args:    exactArgs(0),
		Long: `Serve the API and run the reconcilers, on a PostgreSQL database that holds the
schema of this binary (see scimesh migrate) and a folder for artifacts. Several
coordinators may share both.

Every setting may be given as a flag, in the environment, or in a YAML file. The
secrets DATABASE_URL, COORDINATOR_TOKEN and COORDINATOR_WORKER_TOKEN have no
flag: give them in the environment, or as NAME_FILE the file that holds one.
Without a worker token, workers use COORDINATOR_TOKEN.

On SIGTERM or Ctrl-C the coordinator serves what it has begun, hands the steps
of jobs to other coordinators, and exits.`,
		Example: `  DATABASE_URL=postgres://... COORDINATOR_TOKEN=... COORDINATOR_STORAGE_DIR=/var/lib/scimesh \
    scimesh coordinator --addr :8080`,
	}
	cmd.Flags().StringVar(&configFile, "config", "", "YAML file of settings")
	set := c.bind(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := settings.Join(set.Load(configFile, os.LookupEnv), c.validate()); err != nil {
			return usageErrorf("%w", err)
		}
		log, err := newLogger(streams.Err, c.LogLevel)
		if err != nil {
			return usageErrorf("COORDINATOR_LOG_LEVEL: %w", err)
		}
		log.Info("coordinator starts", append(set.Fields(), zap.String("version", buildVersion()))...)
		return runCoordinator(cmd.Context(), c, log)
	}
	return cmd
}

// coordinator is what a running coordinator consists of.
type coordinator struct {
	config   *coordinatorConfig
	log      *zap.Logger
	store    *store.Store
	manager  *reconcile.Manager
	server   *http.Server
	listener net.Listener
}

func runCoordinator(ctx context.Context, config *coordinatorConfig, log *zap.Logger) error {
	owner := store.NewID()
	s, err := store.Open(ctx, store.Config{
		URL: config.DatabaseURL, MaxConns: config.PoolSize, QueryTimeout: config.QueryTimeout,
		LeaseTTL: config.LeaseTTL, Coordinator: owner, Logger: log.Named("store"),
	})
	if errors.Is(err, store.ErrSchemaVersion) {
		return fmt.Errorf("%w: run `scimesh migrate up`, or the binary of the database's version", err)
	}
	if err != nil {
		return err
	}
	defer s.Close()
	c := &coordinator{config: config, log: log, store: s}
	if err := c.build(owner); err != nil {
		return err
	}
	return c.run(ctx)
}

func (c *coordinator) build(owner uuid.UUID) error {
	files, err := filesystem.New(c.config.StorageDir, filesystem.Options{Journal: true})
	if err != nil {
		return fmt.Errorf("COORDINATOR_STORAGE_DIR: %w", err)
	}
	blobs := inrow.Store{Store: files, Rows: c.store}
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		NewQueueMetrics(c.store, c.config.QueryTimeout, c.log))
	if err := c.buildControllers(owner, blobs, registry); err != nil {
		return err
	}
	if err := c.buildServer(blobs, registry); err != nil {
		return err
	}
	c.listener, err = net.Listen("tcp", c.config.Addr)
	if err != nil {
		return fmt.Errorf("COORDINATOR_ADDR: %w", err)
	}
	return nil
}

// registry holds the workloads compiled in and those that workers bring.
func (c *coordinator) registry() *workloads.Registry {
	return builtinWith(c.config.MaxEdges).With(authored.NewSource(c.store.RegisteredWorkloads))
}

func (c *coordinator) buildControllers(owner uuid.UUID, blobs artifacts.Store, registry *prometheus.Registry) error {
	var err error
	c.manager, err = controllers.NewManager(controllers.Options{
		Store: c.store, Artifacts: blobs, Workloads: c.registry(), Owner: owner, Log: c.log, Registerer: registry,
		WorkerOfflineAfter: c.config.OfflineAfter,
		Janitor: janitor.Config{
			BlobGrace: c.config.BlobGrace, UnusedInputs: c.config.UnusedInputs, Events: c.config.EventRetention,
		},
	})
	return err
}

func (c *coordinator) buildServer(blobs artifacts.Store, registry *prometheus.Registry) error {
	handler, err := server.New(server.Config{
		OperatorToken: c.config.Token, WorkerToken: c.config.WorkerToken,
		PublicURL: c.config.PublicURL, TrustForwarded: c.config.TrustForwarded, AllowedHosts: c.config.ChunkHosts,
		MaxInputBytes: c.config.MaxUploadBytes, RequestTimeout: c.config.RequestTimeout, StallTimeout: c.config.UploadIdle,
		LeaseTTL: c.config.LeaseTTL,
		Version:  wire.Version{Version: buildVersion(), Go: runtime.Version(), Schema: int64(migrations.Latest())},
	}, server.Deps{
		Store: c.store, Artifacts: blobs, Workloads: c.registry(), Controllers: c.controllerStatus,
		Logger: c.log.Named("api"), Metrics: registry,
	})
	if err != nil {
		return err
	}
	c.server = handler.HTTPServer(c.config.Addr)
	return c.buildDashboard(blobs, handler)
}

// buildDashboard puts the dashboard beside the API.
func (c *coordinator) buildDashboard(blobs artifacts.Store, api http.Handler) error {
	var hosts []string
	if name, err := os.Hostname(); err == nil {
		hosts = append(hosts, name)
	}
	dashboard, err := web.New(web.Config{
		OperatorToken: c.config.Token, PublicURL: c.config.PublicURL, Hosts: hosts,
		TrustForwarded: c.config.TrustForwarded, Version: buildVersion(),
	}, web.Deps{
		Store: c.store, Artifacts: blobs, Workloads: c.registry(), Controllers: c.controllerStatus,
		API: api, Logger: c.log.Named("web"),
	})
	if err != nil {
		return err
	}
	c.server.Handler = dashboard.Mount(api)
	c.server.RegisterOnShutdown(dashboard.Drain)
	return nil
}

// run serves until ctx ends, or until a part fails.
func (c *coordinator) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// The store's clockwork outlives the others: they still write while they drain.
	clockwork, stopClockwork := context.WithCancel(context.WithoutCancel(ctx))
	defer stopClockwork()

	var parts, last errgroup.Group
	last.Go(func() error { return c.store.Run(clockwork) })
	parts.Go(func() error { defer cancel(); return c.manager.Start(ctx) })
	parts.Go(func() error { defer cancel(); return c.serve(ctx) })
	c.announce()
	err := parts.Wait()
	stopClockwork()
	err = errors.Join(err, last.Wait())
	c.log.Info("coordinator stopped", zap.Error(err))
	return err
}

// serve serves until ctx ends, and then what was begun within the drain timeout.
func (c *coordinator) serve(ctx context.Context) error {
	served := make(chan error, 1)
	go func() { served <- c.server.Serve(c.listener) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.config.DrainTimeout)
	defer cancel()
	if err := c.server.Shutdown(drain); err != nil {
		c.log.Warn("requests cut short at shutdown", zap.Error(err))
		return c.server.Close()
	}
	return nil
}

// announce says where the coordinator serves.
func (c *coordinator) announce() {
	url := "http://" + dialable(c.listener.Addr().String())
	c.log.Info("coordinator serves", zap.String("url", url))
	if c.config.ReadyFile == "" {
		return
	}
	if err := writeFileAtomic(c.config.ReadyFile, []byte(url+"\n"), 0o644); err != nil {
		c.log.Error("ready file", zap.Error(err))
	}
}

// controllerStatus is the health of the reconcilers in the API's form.
func (c *coordinator) controllerStatus() []v1.ControllerStatus {
	var out []v1.ControllerStatus
	for _, s := range c.manager.Status() {
		status := v1.ControllerStatus{
			Name: s.Name, QueueDepth: int64(s.QueueDepth), InFlight: int64(s.InFlight), Retries: int64(s.Retries),
			Reconciles: int64(s.Reconciles), Errors: int64(s.Errors), LastSuccessAt: v1.NewTimePtr(s.LastSuccess),
		}
		if s.LastError != nil {
			status.LastErrorAt = v1.NewTimePtr(s.LastError.Time)
			status.LastError, status.LastErrorKey = s.LastError.Message, s.LastError.Key
		}
		out = append(out, status)
	}
	return out
}
