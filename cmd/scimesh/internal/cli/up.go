package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"scimesh.dev/scimesh/cmd/scimesh/internal/clientconfig"
	"scimesh.dev/scimesh/cmd/scimesh/internal/supervise"
	"scimesh.dev/scimesh/store/migrate"
	"scimesh.dev/scimesh/store/pgcluster"
)

// upOptions are what `up` is told.
type upOptions struct {
	streams     Streams
	dataDir     string
	addr        string
	workers     int
	concurrency int
	readyFile   string
	logLevel    string
	contextName string
}

func newUp(streams Streams) *cobra.Command {
	o := &upOptions{streams: streams}
	cmd := &cobra.Command{
		Use:     "up --data-dir DIR",
		Short:   "Run the whole platform on this machine: PostgreSQL, coordinator and workers",
		GroupID: groupServe,
		Args:    exactArgs(0),
		Long: `Run the whole platform on this machine: a private PostgreSQL from the installed
binaries, the coordinator, and a number of workers, all of them kept running.

All state lies below --data-dir; the first start makes it. The tokens are made
then too, readable by you alone, and a client context is written so that the
other commands need no flags. Ctrl-C drains and stops all that was started.`,
		Example: `  scimesh up --data-dir ~/scimesh --workers 2
  scimesh apply -f job.yaml          # in another terminal`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.validate(); err != nil {
				return err
			}
			return o.run(cmd.Context())
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.dataDir, "data-dir", "", "folder of all state (required)")
	flags.StringVar(&o.addr, "addr", "127.0.0.1:8080", "address of the coordinator; port 0 takes a free one")
	flags.IntVar(&o.workers, "workers", 1, "worker processes")
	flags.IntVar(&o.concurrency, "concurrency", 1, "tasks that each worker runs at once")
	flags.StringVar(&o.readyFile, "ready-file", "", "file that receives the base URL once everything runs")
	flags.StringVar(&o.logLevel, "log-level", "info", "debug, info, warn or error")
	flags.StringVar(&o.contextName, "context-name", "local", "name of the client context to write")
	return cmd
}

func (o *upOptions) validate() error {
	if o.dataDir == "" {
		return usageErrorf("--data-dir: required")
	}
	if err := validateAddr("--addr", o.addr); err != nil {
		return usageErrorf("%w", err)
	}
	if o.workers < 0 || o.workers > 256 {
		return usageErrorf("--workers: %d is not between 0 and 256", o.workers)
	}
	if o.concurrency < 1 || o.concurrency > 256 {
		return usageErrorf("--concurrency: %d is not between 1 and 256", o.concurrency)
	}
	dir, err := filepath.Abs(o.dataDir)
	o.dataDir = dir
	return err
}

func (o *upOptions) run(ctx context.Context) (err error) {
	log, err := newLogger(o.streams.Err, o.logLevel)
	if err != nil {
		return usageErrorf("%w", err)
	}
	if err := os.MkdirAll(o.dataDir, dataDirMode()); err != nil {
		return err
	}
	o.removeReadyFiles()
	cluster, err := pgcluster.Start(ctx, pgcluster.Options{Dir: filepath.Join(o.dataDir, "postgres"), EndWithOwner: true})
	if err != nil {
		return err
	}
	// The database stops last, when nothing uses it any more.
	defer func() {
		stopCtx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		err = errors.Join(err, cluster.Stop(stopCtx))
		log.Info("platform stopped")
	}()
	if err := o.prepareDatabase(ctx, cluster); err != nil {
		return err
	}
	tokens, err := o.tokens()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() { // ends with ctx
		select {
		case <-cluster.Done():
			cancel(errors.New("the private PostgreSQL server has ended; see postgres/postgres.log in the data folder"))
		case <-ctx.Done():
		}
	}()
	children, err := o.children(tokens)
	if err != nil {
		return err
	}
	if err := supervise.Run(ctx, log, children...); err != nil {
		return err
	}
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		return cause
	}
	return nil
}

// dataDirMode keeps others out; root's folder may be passed through by the
// unprivileged user whom PostgreSQL runs as.
func dataDirMode() os.FileMode {
	if os.Geteuid() == 0 {
		return 0o711
	}
	return 0o700
}

func (o *upOptions) removeReadyFiles() {
	for _, path := range []string{o.readyFile, o.coordinatorReadyFile()} {
		if path != "" {
			_ = os.Remove(path) // absent, or written anew when ready
		}
	}
}

func (o *upOptions) coordinatorReadyFile() string { return filepath.Join(o.dataDir, "coordinator.url") }

// prepareDatabase makes the database and brings its schema up to date: this
// platform belongs to this binary alone. The URL goes into a file, since it
// holds the password.
func (o *upOptions) prepareDatabase(ctx context.Context, cluster *pgcluster.Cluster) error {
	if err := cluster.CreateDatabase(ctx, "scimesh"); err != nil {
		return err
	}
	url := cluster.URL("scimesh")
	if _, err := migrate.Up(ctx, url); err != nil {
		return err
	}
	return writeSecret(o.databaseURLFile(), url)
}

func (o *upOptions) databaseURLFile() string { return filepath.Join(o.dataDir, "database-url") }

// tokenFiles are the files of the two tokens.
type tokenFiles struct{ operator, worker string }

func (o *upOptions) tokens() (tokenFiles, error) {
	files := tokenFiles{
		operator: filepath.Join(o.dataDir, "operator-token"),
		worker:   filepath.Join(o.dataDir, "worker-token"),
	}
	return files, errors.Join(ensureToken(files.operator), ensureToken(files.worker))
}

// children are the coordinator and the workers, as processes of this binary.
func (o *upOptions) children(tokens tokenFiles) ([]supervise.Child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	addr, err := o.stableAddr()
	if err != nil {
		return nil, err
	}
	children := []supervise.Child{{
		Name: "coordinator", Path: self, Args: []string{"coordinator"}, Output: o.streams.Err, StopTimeout: time.Minute,
		Env: o.environment(
			"DATABASE_URL_FILE="+o.databaseURLFile(),
			"COORDINATOR_TOKEN_FILE="+tokens.operator,
			"COORDINATOR_WORKER_TOKEN_FILE="+tokens.worker,
			"COORDINATOR_STORAGE_DIR="+filepath.Join(o.dataDir, "artifacts"),
			"COORDINATOR_ADDR="+addr,
			"COORDINATOR_READY_FILE="+o.coordinatorReadyFile(),
			"COORDINATOR_LOG_LEVEL="+o.logLevel,
		),
		Ready: o.coordinatorReady,
	}}
	for i := range o.workers {
		name := fmt.Sprintf("worker-%d", i+1)
		children = append(children, supervise.Child{
			Name: name, Path: self, Args: []string{"worker"}, Output: o.streams.Err, Stage: 1, StopTimeout: time.Minute,
			Env: o.environment(
				"SCIMESH_COORDINATOR_URL=http://"+dialable(addr),
				"SCIMESH_TOKEN_FILE="+tokens.worker,
				"SCIMESH_WORKER_NAME="+name,
				"SCIMESH_WORK_DIR="+filepath.Join(o.dataDir, "workers", name),
				"SCIMESH_CONCURRENCY="+strconv.Itoa(o.concurrency),
				"SCIMESH_LOG_LEVEL="+o.logLevel,
			),
		})
	}
	last := &children[len(children)-1]
	before := last.Ready
	last.Ready = func(ctx context.Context) error {
		if before != nil {
			if err := before(ctx); err != nil {
				return err
			}
		}
		return o.announce("http://"+dialable(addr), tokens)
	}
	return children, nil
}

// environment is this process's own without the settings of SciMesh, and vars.
func (o *upOptions) environment(vars ...string) []string {
	var env []string
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "COORDINATOR_") && !strings.HasPrefix(kv, "SCIMESH_") && !strings.HasPrefix(kv, "DATABASE_URL") {
			env = append(env, kv)
		}
	}
	return append(env, vars...)
}

// coordinatorReady waits until the coordinator serves.
func (o *upOptions) coordinatorReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		if url, err := os.ReadFile(o.coordinatorReadyFile()); err == nil && healthy(ctx, string(url)) {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func healthy(ctx context.Context, base string) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSpace(base)+"/readyz", nil)
	if err != nil {
		return false
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode == http.StatusOK
}

// announce writes the client context and says where everything is.
func (o *upOptions) announce(url string, tokens tokenFiles) error {
	path, err := clientconfig.Path(os.Getenv)
	if err != nil {
		return err
	}
	config, err := clientconfig.Load(path)
	if err != nil {
		return err
	}
	config.Use(clientconfig.Context{Name: o.contextName, Server: url, TokenFile: tokens.operator})
	if err := config.Save(path); err != nil {
		return err
	}
	fmt.Fprintf(o.streams.Out, "SciMesh runs at %s with %d worker(s); client context %q is in %s. Ctrl-C stops it.\n", url, o.workers, o.contextName, path)
	if o.readyFile == "" {
		return nil
	}
	return writeFileAtomic(o.readyFile, []byte(url+"\n"), 0o644)
}
