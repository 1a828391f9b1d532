// Package supervise keeps child processes running: it starts them in order,
// starts one that ends again after a pause, and stops them stage by stage.
package supervise

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"

	"go.uber.org/zap"
)

// Child is one process to keep running.
type Child struct {
	Name string
	Path string
	Args []string
	Env  []string
	// Output receives what the process prints.
	Output io.Writer
	// Ready, if not nil, returns once the process serves; the next child starts then.
	Ready func(ctx context.Context) error
	// Stage orders the end: children of the highest stage stop first, all at
	// once, then those of the next lower one.
	Stage int
	// StopTimeout is how long the process may drain after SIGTERM before SIGKILL.
	StopTimeout time.Duration
}

const (
	firstPause  = 500 * time.Millisecond
	longestWait = 30 * time.Second
	// steady is how long a process must have run for its next pause to be the first one again.
	steady = time.Minute
)

// Run starts the children in order and keeps them running until ctx ends, then
// stops them stage by stage and returns nil. A child that cannot be started
// or does not become ready stops all and is returned as the error.
func Run(ctx context.Context, log *zap.Logger, children ...Child) error {
	stops := map[int][]func(){}
	defer func() { stopAll(stops) }()
	for _, c := range children {
		stop, err := start(c, log)
		if err != nil {
			return err
		}
		stops[c.Stage] = append(stops[c.Stage], stop)
		if c.Ready == nil {
			continue
		}
		if err := c.Ready(ctx); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("%s does not become ready: %w", c.Name, err)
		}
	}
	<-ctx.Done()
	return nil
}

func stopAll(stages map[int][]func()) {
	order := slices.Sorted(maps.Keys(stages))
	slices.Reverse(order)
	for _, stage := range order {
		var stopping sync.WaitGroup
		for _, stop := range stages[stage] {
			stopping.Go(stop)
		}
		stopping.Wait()
	}
}

// start runs the child's loop and returns the function that ends it and waits.
func start(c Child, log *zap.Logger) (stop func(), err error) {
	ctx, cancel := context.WithCancel(context.Background())
	started := make(chan error, 1)
	var done sync.WaitGroup
	done.Go(func() {
		// The kernel ends a child with the thread that started it (see attributes).
		runtime.LockOSThread()
		keep(ctx, c, log.With(zap.String("process", c.Name)), started)
	})
	if err := <-started; err != nil {
		cancel()
		done.Wait()
		return nil, fmt.Errorf("start %s: %w", c.Name, err)
	}
	return func() { cancel(); done.Wait() }, nil
}

// keep runs the child again and again. The outcome of the first start goes to started.
func keep(ctx context.Context, c Child, log *zap.Logger, started chan<- error) {
	pause := firstPause
	for first := true; ; first = false {
		begin := time.Now()
		cmd := command(ctx, c)
		err := cmd.Start()
		if first {
			started <- err
		}
		if first && err != nil {
			return
		}
		if err == nil {
			log.Info("process started", zap.Int("pid", cmd.Process.Pid))
			err = cmd.Wait()
		}
		if ctx.Err() != nil {
			log.Info("process stopped")
			return
		}
		if time.Since(begin) > steady {
			pause = firstPause
		}
		log.Warn("process ended, starting it again", zap.Error(exitCause(err)), zap.Duration("pause", pause))
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		pause = min(2*pause, longestWait)
	}
}

func command(ctx context.Context, c Child) *exec.Cmd {
	cmd := exec.CommandContext(ctx, c.Path, c.Args...)
	cmd.Env = c.Env
	cmd.Stdout, cmd.Stderr = c.Output, c.Output
	cmd.SysProcAttr = attributes()
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = c.StopTimeout
	return cmd
}

func exitCause(err error) error {
	if err == nil {
		return errors.New("exit status 0")
	}
	return err
}
