package pgcluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	pollEvery    = 20 * time.Millisecond
	launches     = 50                     // most attempts at a start after a crash or a lost port
	launchPause  = 200 * time.Millisecond // between them: backends of a killed server end in this time
	immediateFor = 5 * time.Second        // how long an immediate shutdown may take
	maxLog       = 8 << 20                // bytes after which a start puts the log aside
)

// server is a postmaster, a child of this process or an adopted one.
type server struct {
	pid  int
	done chan struct{} // closed when it has ended
}

// startServer adopts the server that a dead owner left, or starts one.
func (c *Cluster) startServer(ctx context.Context, inst Installation, id identity, opts Options) error {
	left, crashed, err := c.leftover(id)
	if err != nil {
		return err
	}
	if left != nil {
		adopted, err := c.adopt(ctx, left, opts)
		if err != nil || adopted {
			return err
		}
	}
	if crashed {
		endOrphans(c.dataDir())
	}
	return c.launchUntilReady(ctx, inst, id, opts, crashed)
}

// leftover returns the living server that the lock file in the data folder
// names. It reports a crash if the file names a server that is dead, and then
// puts this process's number into it: the server accepts a lock of its own
// parent, after having made sure, by the shared memory that the file names as
// well, that no backend of the dead one is left.
func (c *Cluster) leftover(id identity) (_ *postmasterFile, crashed bool, err error) {
	pm, err := readPostmasterFile(c.dataDir())
	if err != nil || pm == nil {
		return nil, false, err
	}
	if serverAlive(pm.pid, c.dataDir()) {
		return pm, false, nil
	}
	return nil, true, pm.disown(id)
}

// adopt takes over a server that answers and runs with the settings wanted. It
// stops any other.
func (c *Cluster) adopt(ctx context.Context, left *postmasterFile, opts Options) (bool, error) {
	c.server = watch(left.pid, c.dataDir())
	c.port = left.port
	text, err := settings(opts, left.port)
	if err != nil {
		return false, err
	}
	current, err := os.ReadFile(filepath.Join(c.dataDir(), settingsFile))
	if err == nil && string(current) == text {
		err := c.waitReady(ctx)
		if err == nil || ctx.Err() != nil {
			return err == nil, err
		}
	}
	return false, c.server.stop(ctx)
}

// launchUntilReady starts the server. It tries again when the port was lost to
// another program, and for a while when backends of a killed server may be ending.
func (c *Cluster) launchUntilReady(ctx context.Context, inst Installation, id identity, opts Options, crashed bool) error {
	for try := 1; ; try++ {
		var err error
		if c.port, err = choosePort(c.dir, id); err != nil {
			return err
		}
		text, err := settings(opts, c.port)
		if err != nil {
			return err
		}
		if err := applySettings(c.dataDir(), text, id); err != nil {
			return err
		}
		err = c.launch(ctx, inst, id, opts)
		var ended *endedError
		if err == nil || !errors.As(err, &ended) || try == launches {
			return err
		}
		if portFree(c.port) && !crashed {
			return err // another reason, which will not go away
		}
		if err := pause(ctx, launchPause); err != nil {
			return err
		}
	}
}

// launch starts the server once and waits until it answers queries.
func (c *Cluster) launch(ctx context.Context, inst Installation, id identity, opts Options) error {
	log, offset, err := openLog(c.logFile(), id)
	if err != nil {
		return err
	}
	defer log.Close()
	// The server outlives ctx, and this process unless it is told not to.
	cmd := id.command(context.WithoutCancel(ctx), inst.path("postgres"), "-D", c.dataDir())
	if opts.EndWithOwner {
		endWithOwner(cmd.SysProcAttr)
	}
	cmd.Env = append(cmd.Env, opts.Environment...)
	cmd.Dir = c.dir
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return err
	}
	c.server = &server{pid: cmd.Process.Pid, done: make(chan struct{})}
	go func() {
		_ = cmd.Wait() // how it ended stands in its log
		close(c.server.done)
	}()
	err = c.waitReady(ctx)
	if err == nil {
		return nil
	}
	if errors.Is(err, errEnded) {
		return &endedError{log: readFrom(c.logFile(), offset)}
	}
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), immediateFor)
	defer cancel()
	return errors.Join(err, c.server.stopImmediately(stopping))
}

var errEnded = errors.New("the server ended while it started")

// endedError is a start that the server gave up by itself.
type endedError struct{ log string }

func (e *endedError) Error() string { return errEnded.Error() + ":\n" + e.log }

// waitReady waits until the server reports that it is ready and accepts the password.
func (c *Cluster) waitReady(ctx context.Context) error {
	for {
		pm, err := readPostmasterFile(c.dataDir())
		if err != nil {
			return err
		}
		if pm != nil && pm.pid == c.server.pid && pm.ready {
			return c.ping(ctx)
		}
		select {
		case <-c.server.done:
			return errEnded
		default:
		}
		if err := pause(ctx, pollEvery); err != nil {
			return err
		}
	}
}

func (c *Cluster) ping(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, c.URL("postgres"))
	if err != nil {
		return err
	}
	return conn.Close(ctx)
}

// watch returns a server that is no child of this process.
func watch(pid int, dataDir string) *server {
	s := &server{pid: pid, done: make(chan struct{})}
	go func() {
		ticker := time.NewTicker(pollEvery)
		defer ticker.Stop()
		for serverAlive(pid, dataDir) {
			<-ticker.C
		}
		close(s.done)
	}()
	return s
}

// stop ends the server by a fast shutdown or, once ctx has ended, by an immediate one.
func (s *server) stop(ctx context.Context) error {
	if err := signalFast(s.pid); err != nil && !s.ended() {
		return err
	}
	select {
	case <-s.done:
		return nil
	case <-ctx.Done():
	}
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), immediateFor)
	defer cancel()
	return s.stopImmediately(stopping)
}

// stopImmediately ends the server without a checkpoint.
func (s *server) stopImmediately(ctx context.Context) error {
	if s.ended() {
		return nil
	}
	if err := signalImmediate(s.pid); err != nil {
		return err
	}
	select {
	case <-s.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("the server (process %d) has not ended: %w", s.pid, ctx.Err())
	}
}

func (s *server) ended() bool {
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}

// pause waits for d, or less if ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
