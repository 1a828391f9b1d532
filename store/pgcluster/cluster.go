package pgcluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"

	"github.com/jackc/pgx/v5"
)

// ErrInUse is returned by Start when a living process owns the cluster.
var ErrInUse = errors.New("the cluster belongs to another running process")

// Superuser is the name of the only role that a new cluster has.
const Superuser = "scimesh"

// Options describe a cluster.
type Options struct {
	// Dir holds all state of the cluster. It is made if missing.
	Dir string
	// BinDir is the folder of the server's programs; empty means to look for them.
	BinDir string
	// User is whom the server runs as when this process is root; empty means
	// postgres or, where there is no such user, nobody.
	User string
	// Unsafe turns off everything that makes a commit outlive a crash of the
	// machine. It is meant for tests, whose data are of no worth.
	Unsafe bool
	// Environment is added to the server's environment, NAME=VALUE each. It is
	// meant for tests, such as one that puts the server's clock off.
	Environment []string
	// EndWithOwner has the kernel shut the server down when this process is
	// killed. Only Linux can; elsewhere the server waits for the next Start.
	EndWithOwner bool
	// Settings are PostgreSQL settings by name, as in postgresql.conf without quotes.
	Settings map[string]string
}

// Cluster is a running server that this process owns.
type Cluster struct {
	dir      string
	password string
	port     int
	server   *server
	lock     *os.File
	done     chan struct{} // closed when the server has ended and the lock is free
}

// Start starts the cluster in opts.Dir, after making it on first use, and
// returns when it answers queries. How long recovery after a crash takes depends
// on the data; ctx limits the wait, and nothing after it.
func Start(ctx context.Context, opts Options) (_ *Cluster, err error) {
	if opts.Dir == "" {
		return nil, errors.New("start PostgreSQL: no folder is given")
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("start PostgreSQL in %s: %w", opts.Dir, err)
		}
	}()
	id, err := serverIdentity(opts.User)
	if err != nil {
		return nil, err
	}
	dir, err := prepareDir(opts.Dir, id)
	if err != nil {
		return nil, err
	}
	lock, err := lockFile(filepath.Join(dir, "lock"))
	if err != nil {
		return nil, err
	}
	c := &Cluster{dir: dir, lock: lock, done: make(chan struct{})}
	if err := c.start(ctx, opts, id); err != nil {
		unlockFile(lock)
		return nil, err
	}
	go c.giveUpWhenEnded()
	return c, nil
}

// giveUpWhenEnded waits for the server's end. One that was killed leaves
// backends, which may go on computing for hours.
func (c *Cluster) giveUpWhenEnded() {
	<-c.server.done
	endOrphans(c.dataDir())
	unlockFile(c.lock)
	close(c.done)
}

// start makes the data folder if there is none, settles what an earlier server
// left, and starts one unless that one can be adopted.
func (c *Cluster) start(ctx context.Context, opts Options, id identity) error {
	version, err := dataVersion(c.dataDir())
	if err != nil {
		return err
	}
	inst, err := choose(ctx, opts, version)
	if err != nil {
		return err
	}
	if err := id.checkAccess(ctx, inst, c.dir); err != nil {
		return err
	}
	if c.password, err = ensurePassword(c.dir, id); err != nil {
		return err
	}
	if version == 0 {
		if err := initialize(ctx, inst, id, c.dir, opts.Unsafe); err != nil {
			return err
		}
	}
	return c.startServer(ctx, inst, id, opts)
}

// prepareDir makes dir for the server's user and returns its real path, as
// which the system shows the folder of a process.
func prepareDir(dir string, id identity) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(abs), 0o755); err != nil {
		return "", err
	}
	if err := os.Mkdir(abs, 0o700); errors.Is(err, os.ErrExist) {
		if err := checkOurs(abs); err != nil {
			return "", err
		}
	} else if err != nil {
		return "", err
	}
	if err := id.own(abs); err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(abs)
}

// checkOurs refuses a folder that holds other things than a cluster: it is about
// to be given to the server's user.
func checkOurs(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) == 0 {
		return err
	}
	if _, err := os.Stat(filepath.Join(dir, "lock")); err != nil {
		return fmt.Errorf("the folder is not empty, and what it holds (%s …) is no cluster", entries[0].Name())
	}
	return nil
}

func (c *Cluster) dataDir() string { return filepath.Join(c.dir, "data") }
func (c *Cluster) logFile() string { return filepath.Join(c.dir, "postgres.log") }

// URL returns the connection string of a database. It holds the password.
func (c *Cluster) URL(database string) string {
	u := url.URL{
		Scheme:   "postgres",
		User:     url.UserPassword(Superuser, c.password),
		Host:     net.JoinHostPort("127.0.0.1", strconv.Itoa(c.port)),
		Path:     "/" + database,
		RawQuery: "sslmode=disable",
	}
	return u.String()
}

// PID returns the process number of the server, for tests that kill it.
func (c *Cluster) PID() int { return c.server.pid }

// Done is closed when the server has ended, whoever ended it. From then on Start
// can be called again in the same folder.
func (c *Cluster) Done() <-chan struct{} { return c.done }

// Running reports whether the server lives.
func (c *Cluster) Running() bool {
	select {
	case <-c.done:
		return false
	default:
		return true
	}
}

// Stop ends the server: open transactions are rolled back, connections closed,
// everything is written to disk. When ctx ends first it is stopped without a
// checkpoint, which costs a recovery at the next start and loses nothing. Stop
// returns nil as soon as the server has ended.
func (c *Cluster) Stop(ctx context.Context) error {
	if err := c.server.stop(ctx); err != nil {
		return fmt.Errorf("stop PostgreSQL in %s: %w", c.dir, err)
	}
	<-c.done
	return nil
}

// CreateDatabase makes a database unless it exists.
func (c *Cluster) CreateDatabase(ctx context.Context, name string) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("create database %q: %w", name, err)
		}
	}()
	conn, err := pgx.Connect(ctx, c.URL("postgres"))
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	var exists bool
	if err := conn.QueryRow(ctx, databaseExistsSQL, name).Scan(&exists); err != nil || exists {
		return err
	}
	_, err = conn.Exec(ctx, "CREATE DATABASE "+pgx.Identifier{name}.Sanitize())
	return err
}

const databaseExistsSQL = `SELECT EXISTS (SELECT FROM pg_catalog.pg_database WHERE datname = $1)`
