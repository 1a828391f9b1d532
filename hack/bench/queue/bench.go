//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"scimesh.dev/scimesh/hack/bench/internal/proc"
	"scimesh.dev/scimesh/hack/internal/platform"
)

const (
	// settle is how long a load runs before it is measured.
	settle = 2 * time.Second
	// fastest is how many cycles a second no run exceeds: so many tasks are made.
	fastest = 6000
)

// rig is everything that runs.
type rig struct {
	options
	out         io.Writer
	platform    *platform.Platform
	coordinator *platform.Process
	data        *data
	river       string // empty: not to be had
	delivered   int64
}

// server are the settings of PostgreSQL: room for a thousand clients of
// pgbench, and checkpoints far enough apart that none falls into a measurement.
var server = map[string]string{
	"max_connections": "1200", "shared_buffers": "1GB", "max_wal_size": "16GB", "checkpoint_timeout": "30min",
	"shared_preload_libraries": "pg_stat_statements", "pg_stat_statements.track": "top", "maintenance_work_mem": "512MB",
}

func bench(ctx context.Context, o options, out io.Writer) (err error) {
	r := &rig{options: o, out: out}
	if o.dir == "" {
		if r.dir, err = os.MkdirTemp("", "scimesh-bench-"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(r.dir)) }()
	}
	// Where this runs as root, the server runs as another user.
	if err := errors.Join(os.MkdirAll(r.dir, 0o755), os.Chmod(r.dir, 0o755)); err != nil {
		return err
	}
	if err := r.build(ctx); err != nil {
		return err
	}
	r.platform, err = platform.Start(ctx, platform.Options{
		Dir: r.dir, Binary: r.binary, Safe: true, Settings: server,
		Coordinator: append([]string{"COORDINATOR_LEASE_TTL=5m"}, o.coordinator...),
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.platform.Close()) }()
	if err := r.start(ctx); err != nil {
		return err
	}
	defer r.stop()
	return r.measure(ctx)
}

// build makes the programs that run.
func (r *rig) build(ctx context.Context) (err error) {
	if r.binary == "" {
		r.binary = filepath.Join(r.dir, "scimesh")
		out, err := exec.CommandContext(ctx, "go", "build", "-o", r.binary, "scimesh.dev/scimesh/cmd/scimesh").CombinedOutput()
		if err != nil {
			return fmt.Errorf("build scimesh: %w: %s", err, out)
		}
	}
	if r.riverJobs == 0 {
		return nil
	}
	if r.river, err = riverBinary(ctx, r.dir); err != nil {
		fmt.Fprintf(r.out, "River is left out: its module cannot be built: %v\n", err)
	}
	return nil
}

func (r *rig) start(ctx context.Context) error {
	db, err := pgx.Connect(ctx, r.platform.DatabaseURL())
	if err != nil {
		return err
	}
	if err := r.startCoordinator(ctx); err != nil {
		return err
	}
	if err := r.printMachine(ctx, db); err != nil {
		return err
	}
	// Without a job there is nothing to claim.
	if r.idle > 0 {
		if err := r.measureIdle(ctx); err != nil {
			return err
		}
	}
	r.data, err = newData(ctx, db)
	return err
}

func (r *rig) startCoordinator(ctx context.Context) (err error) {
	if r.coordinator, err = r.platform.StartCoordinator("coordinator", false); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	return platform.AwaitReady(ctx, r.coordinator)
}

func (r *rig) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := r.coordinator.Terminate(ctx); err != nil {
		fmt.Fprintln(r.out, "coordinator:", err)
	}
	if r.data != nil {
		_ = r.data.db.Close(ctx) // the server stops next
	}
}

func (r *rig) target() target {
	return target{addr: strings.TrimPrefix(r.platform.URL(), "http://"), token: r.platform.WorkerToken()}
}

// measure makes every measurement and prints the tables.
func (r *rig) measure(ctx context.Context) error {
	var lines []line
	for _, ended := range slices.Sorted(slices.Values(r.ended)) {
		if more := ended - r.data.ended; more > 0 {
			fmt.Fprintf(r.out, "adding %d ended tasks …\n", more)
			if err := r.data.addHistory(ctx, more); err != nil {
				return err
			}
		}
		more, err := r.passesAt(ctx, ended)
		lines = append(lines, more...)
		if err != nil {
			return errors.Join(err, r.printTable(lines))
		}
	}
	if err := r.printTable(lines); err != nil {
		return err
	}
	if err := r.measureWAL(ctx); err != nil {
		return err
	}
	if r.connections > 0 {
		if err := r.measureConnections(ctx); err != nil {
			return err
		}
	}
	if err := r.data.check(ctx, r.delivered); err != nil {
		return err
	}
	_, err := fmt.Fprintf(r.out, "\n%d tasks delivered, none of them held twice; the database holds exactly these.\n", r.delivered)
	return err
}

// passesAt measures every number of workers several times, the peers in turn
// so that whatever else the machine does meets all of them.
func (r *rig) passesAt(ctx context.Context, ended int64) ([]line, error) {
	lines := make([]line, len(r.workers))
	var river []float64
	for pass := range r.passes {
		jobs, err := r.measureRiver(ctx, fmt.Sprintf("river_%d_%d", ended, pass))
		if err != nil {
			return nil, err
		}
		river = append(river, jobs)
		for i, n := range r.workers {
			l := &lines[i]
			l.workers, l.ended = n, ended
			if err := r.measureOnce(ctx, l); err != nil {
				return nil, fmt.Errorf("%d workers, %d ended tasks: %w", n, ended, err)
			}
		}
	}
	for i := range lines {
		lines[i].river = river
	}
	return lines, nil
}

func (r *rig) measureRiver(ctx context.Context, database string) (float64, error) {
	if r.river == "" {
		return 0, nil
	}
	url, err := r.platform.CreateDatabase(ctx, database)
	if err != nil {
		return 0, err
	}
	jobs, err := riverJobs(ctx, r.river, url, r.riverJobs)
	if err == nil {
		_, err = r.data.db.Exec(ctx, "DROP DATABASE "+database+" WITH (FORCE)")
	}
	return jobs, err
}

// measureOnce adds one measurement to a line.
func (r *rig) measureOnce(ctx context.Context, l *line) error {
	if err := r.data.topUp(ctx, int64(fastest*(r.seconds+3))); err != nil {
		return err
	}
	raw, err := rawCycles(ctx, r.dir, r.platform.DatabaseURL(), l.workers, r.length())
	if err != nil {
		return err
	}
	m, err := r.load(ctx, l.workers, pace{}, settle, r.length())
	if err != nil {
		return err
	}
	m.raw = raw
	l.add(m)
	_, err = fmt.Fprintf(r.out, "%d workers, %d ended: raw %.0f/s, HTTP %.0f/s, claim p99 %v, CPU %v\n",
		l.workers, l.ended, raw, m.perSecond(), m.quantile(.99).Round(100*time.Microsecond), m.cpu)
	return err
}

// measured is one run under load.
type measured struct {
	cycles
	cost
	cpu cpu
	raw float64
}

// load runs n workers.
func (r *rig) load(ctx context.Context, n int, p pace, settle, last time.Duration) (m measured, err error) {
	held := newLeases()
	workers, err := connectAll(ctx, r.target(), n, held)
	if err != nil {
		return m, err
	}
	defer closeAll(workers)
	if err := r.data.resetStatements(ctx); err != nil {
		return m, err
	}
	before, err := r.readCPU()
	if err != nil {
		return m, err
	}
	if m.cycles, err = run(ctx, workers, p, settle, last); err != nil {
		return m, err
	}
	r.delivered += int64(len(held.owner))
	after, err := r.readCPU()
	if err != nil {
		return m, err
	}
	m.cpu = after.since(before).per(len(held.owner))
	all, err := r.data.statements(ctx)
	if err != nil {
		return m, err
	}
	m.cost = costOf(all, len(held.owner))
	if r.statements {
		err = printStatements(r.out, all)
	}
	return m, err
}

// cpu is processor time, of all processes of each kind.
type cpu struct{ coordinator, postgres, workers time.Duration }

func (r *rig) readCPU() (c cpu, err error) {
	if c.coordinator, err = proc.CPU(r.coordinator.PID()); err != nil {
		return c, err
	}
	if c.postgres, err = proc.CPUOfTree(r.platform.PostgresPID()); err != nil {
		return c, err
	}
	c.workers, err = proc.CPU(os.Getpid())
	return c, err
}

func (c cpu) since(b cpu) cpu {
	return cpu{c.coordinator - b.coordinator, c.postgres - b.postgres, c.workers - b.workers}
}

func (c cpu) per(n int) cpu {
	d := time.Duration(max(n, 1))
	return cpu{c.coordinator / d, c.postgres / d, c.workers / d}
}

func (c cpu) String() string {
	return fmt.Sprintf("%d+%d+%d µs/cycle (coordinator, PostgreSQL, workers)", c.coordinator.Microseconds(), c.postgres.Microseconds(), c.workers.Microseconds())
}
