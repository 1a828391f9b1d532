//go:build unix

// Package platform runs SciMesh as its operators do, as processes of the real
// binary beside a real PostgreSQL, and lets tests and the fault injector kill,
// stop and start each of them at will.
package platform

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"scimesh.dev/scimesh/api/client"
	"scimesh.dev/scimesh/store/pgcluster"
)

// Options describe a platform.
type Options struct {
	// Dir holds everything; it is made if missing.
	Dir string
	// Binary is the scimesh program.
	Binary string
	// Safe keeps PostgreSQL's fsync on, for runs that kill it.
	Safe bool
	// Postgres is added to the environment of the database.
	Postgres []string
	// Settings are those of PostgreSQL.
	Settings map[string]string
	// Coordinator are environment variables of every coordinator, Worker of every worker.
	Coordinator, Worker []string
}

// Platform is a database, and the processes that were started beside it.
type Platform struct {
	opts          Options
	cluster       *pgcluster.Cluster
	operatorToken string
	workerToken   string
	addr          string
}

// Start makes the database and its schema. No coordinator or worker runs yet.
func Start(ctx context.Context, opts Options) (*Platform, error) {
	if err := os.MkdirAll(opts.Dir, 0o755); err != nil {
		return nil, err
	}
	addr, err := freeAddr()
	if err != nil {
		return nil, err
	}
	p := &Platform{opts: opts, operatorToken: rand.Text(), workerToken: rand.Text(), addr: addr}
	if err := p.StartPostgres(ctx); err != nil {
		return nil, err
	}
	if err := p.cluster.CreateDatabase(ctx, "scimesh"); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	if _, err := p.Scimesh(ctx, "migrate", "up"); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

func freeAddr() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// StartPostgres starts the database again after it was killed or stopped.
func (p *Platform) StartPostgres(ctx context.Context) error {
	settings := map[string]string{"max_connections": "200"}
	maps.Copy(settings, p.opts.Settings)
	cluster, err := pgcluster.Start(ctx, pgcluster.Options{
		Dir: filepath.Join(p.opts.Dir, "postgres"), Unsafe: !p.opts.Safe, Environment: p.opts.Postgres, Settings: settings,
	})
	if err != nil {
		return err
	}
	p.cluster = cluster
	return nil
}

// KillPostgres kills the server with SIGKILL and waits for its end.
func (p *Platform) KillPostgres() error {
	proc, err := os.FindProcess(p.cluster.PID())
	if err != nil {
		return err
	}
	if err := proc.Kill(); err != nil {
		return err
	}
	<-p.cluster.Done()
	return nil
}

// Close stops the database. Processes are stopped by their own Kill or Terminate.
func (p *Platform) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	return p.cluster.Stop(ctx)
}

// URL is where the first coordinator serves, now or later.
func (p *Platform) URL() string { return "http://" + p.addr }

// DatabaseURL is the connection string of the database.
func (p *Platform) DatabaseURL() string { return p.cluster.URL("scimesh") }

// CreateDatabase makes another database and returns its connection string.
func (p *Platform) CreateDatabase(ctx context.Context, name string) (string, error) {
	return p.cluster.URL(name), p.cluster.CreateDatabase(ctx, name)
}

// PostgresPID is the number of the server's process.
func (p *Platform) PostgresPID() int { return p.cluster.PID() }

// Dir holds everything.
func (p *Platform) Dir() string { return p.opts.Dir }

// StorageDir is the folder of the artifact store.
func (p *Platform) StorageDir() string { return filepath.Join(p.opts.Dir, "artifacts") }

// OperatorToken is the token of users.
func (p *Platform) OperatorToken() string { return p.operatorToken }

// WorkerToken is the token of workers.
func (p *Platform) WorkerToken() string { return p.workerToken }

// Secrets are the strings that may be in no log and no error.
func (p *Platform) Secrets() []string { return []string{p.operatorToken, p.workerToken} }

// Client returns a client of the first coordinator with the operator's token.
func (p *Platform) Client() (*client.Client, error) {
	return client.New(p.URL(), p.operatorToken, client.Options{})
}

// Scimesh runs a command of the binary to its end, with the settings of an
// operator, and returns its standard output. The error of a command that
// failed is an *exec.ExitError with its standard error in the text.
func (p *Platform) Scimesh(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, p.opts.Binary, args...)
	cmd.Env = append(baseEnvironment(),
		"DATABASE_URL="+p.DatabaseURL(), "SCIMESH_COORDINATOR_URL="+p.URL(), "SCIMESH_TOKEN="+p.operatorToken,
		"COORDINATOR_STORAGE_DIR="+p.StorageDir(), "SCIMESH_CONFIG="+filepath.Join(p.opts.Dir, "client.yaml"))
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return string(out), fmt.Errorf("scimesh %s: %w: %s", strings.Join(args, " "), err, stderr.String())
	}
	return string(out), nil
}

// StartCoordinator starts a coordinator. The first one serves at URL; with own
// set it listens on a port of its own. More environment may be given.
func (p *Platform) StartCoordinator(name string, own bool, env ...string) (*Process, error) {
	addr := p.addr
	if own {
		var err error
		if addr, err = freeAddr(); err != nil {
			return nil, err
		}
	}
	vars := append([]string{
		"DATABASE_URL=" + p.DatabaseURL(), "COORDINATOR_TOKEN=" + p.operatorToken, "COORDINATOR_WORKER_TOKEN=" + p.workerToken,
		"COORDINATOR_STORAGE_DIR=" + p.StorageDir(), "COORDINATOR_ADDR=" + addr,
	}, p.opts.Coordinator...)
	return p.start(name, "http://"+addr, append(vars, env...), p.opts.Binary, "coordinator")
}

// StartWorker starts a worker with a work folder of that name.
func (p *Platform) StartWorker(name string, env ...string) (*Process, error) {
	return p.start(name, "", p.workerEnvironment(name, env), p.opts.Binary, "worker")
}

// StartPythonWorker starts the Python worker, whose program is named, with a
// work folder of that name.
func (p *Platform) StartPythonWorker(name, program string, env ...string) (*Process, error) {
	return p.start(name, "", p.workerEnvironment(name, env), program)
}

func (p *Platform) workerEnvironment(name string, env []string) []string {
	vars := append([]string{
		"SCIMESH_COORDINATOR_URL=" + p.URL(), "SCIMESH_TOKEN=" + p.workerToken, "SCIMESH_WORKER_NAME=" + name,
		"SCIMESH_WORK_DIR=" + filepath.Join(p.opts.Dir, "workers", name),
	}, p.opts.Worker...)
	return append(vars, env...)
}

func (p *Platform) start(name, url string, env []string, program string, args ...string) (*Process, error) {
	log, err := os.OpenFile(p.LogPath(name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close() // the child has its own descriptor
	cmd := exec.Command(program, args...)
	cmd.Env = append(baseEnvironment(), env...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	proc := &Process{Name: name, URL: url, cmd: cmd, done: make(chan struct{})}
	go proc.wait()
	return proc, nil
}

// LogPath is the file that holds what the process of that name printed, over all its lives.
func (p *Platform) LogPath(name string) string { return filepath.Join(p.opts.Dir, name+".log") }

// Logs returns what all processes have printed.
func (p *Platform) Logs() (map[string]string, error) {
	paths, err := filepath.Glob(filepath.Join(p.opts.Dir, "*.log"))
	if err != nil {
		return nil, err
	}
	logs := map[string]string{}
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		logs[filepath.Base(path)] = string(raw)
	}
	return logs, nil
}

// AwaitReady waits until a coordinator serves.
func AwaitReady(ctx context.Context, p *Process) error {
	for {
		if ready(ctx, p.URL) {
			return nil
		}
		select {
		case <-p.done:
			return fmt.Errorf("%s ended: %w", p.Name, p.err)
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready: %w", p.Name, ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func ready(ctx context.Context, base string) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/readyz", nil)
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

// baseEnvironment is this process's own without the settings of SciMesh.
func baseEnvironment() []string {
	var env []string
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "COORDINATOR_") && !strings.HasPrefix(kv, "SCIMESH_") && !strings.HasPrefix(kv, "DATABASE_URL") {
			env = append(env, kv)
		}
	}
	return env
}
