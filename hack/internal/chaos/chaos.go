//go:build unix

// Package chaos kills parts of a running platform at random moments and starts
// them again, and then checks that nobody could tell.
package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"scimesh.dev/scimesh/api/client"
	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/api/wire"
	"scimesh.dev/scimesh/hack/internal/platform"
)

// Config says what is done to the platform.
type Config struct {
	Workers int
	// MinPause and MaxPause bound the time between two faults.
	MinPause, MaxPause time.Duration
	// MinDown and MaxDown bound the time for which a killed process stays away.
	MinDown, MaxDown time.Duration
	// Faults ends the killing after so many; 0 goes on until the Job has ended.
	Faults int
	Seed   uint64
	Logf   func(format string, args ...any)
}

// Report counts what was done.
type Report struct {
	WorkerKills, CoordinatorKills, PostgresKills, Stops int
}

// Faults is the number of all faults.
func (r Report) Faults() int { return r.WorkerKills + r.CoordinatorKills + r.PostgresKills + r.Stops }

// Injector owns the processes of a platform.
type Injector struct {
	p           *platform.Platform
	config      Config
	rng         *rand.Rand
	coordinator *platform.Process
	workers     []*platform.Process
	report      Report
}

// New starts a coordinator and the workers.
func New(ctx context.Context, p *platform.Platform, config Config) (*Injector, error) {
	in := &Injector{p: p, config: config, rng: rand.New(rand.NewPCG(config.Seed, 0))}
	if err := in.startCoordinator(ctx); err != nil {
		return nil, err
	}
	for i := range config.Workers {
		w, err := p.StartWorker(workerName(i))
		if err != nil {
			in.Close()
			return nil, err
		}
		in.workers = append(in.workers, w)
	}
	return in, nil
}

func workerName(i int) string { return fmt.Sprintf("worker-%d", i+1) }

// Close kills all processes.
func (in *Injector) Close() {
	for _, w := range in.workers {
		w.Kill()
	}
	in.coordinator.Kill()
}

func (in *Injector) startCoordinator(ctx context.Context) error {
	c, err := in.p.StartCoordinator("coordinator", false)
	if err != nil {
		return err
	}
	in.coordinator = c
	return platform.AwaitReady(ctx, c)
}

// Run injects faults until the Job has ended, and returns the Job.
func (in *Injector) Run(ctx context.Context, job string) (v1.Job, Report, error) {
	c, err := in.p.Client()
	if err != nil {
		return v1.Job{}, in.report, err
	}
	for {
		if err := sleep(ctx, in.between(in.config.MinPause, in.config.MaxPause)); err != nil {
			return v1.Job{}, in.report, err
		}
		got, err := c.GetJob(ctx, job)
		if err != nil {
			return v1.Job{}, in.report, err
		}
		if got.Status.Phase.Final() {
			return got, in.report, nil
		}
		if in.config.Faults > 0 && in.report.Faults() >= in.config.Faults {
			continue
		}
		if err := in.fault(ctx); err != nil {
			return got, in.report, err
		}
	}
}

// fault does one thing to one process and undoes it.
func (in *Injector) fault(ctx context.Context) error {
	down := in.between(in.config.MinDown, in.config.MaxDown)
	switch n := in.rng.IntN(10); {
	case n < 5:
		return in.killWorker(ctx, in.rng.IntN(len(in.workers)), down)
	case n < 8:
		return in.killCoordinator(ctx, down)
	case n < 9:
		return in.killPostgres(ctx, down)
	default:
		return in.stopWorker(ctx, in.rng.IntN(len(in.workers)), down)
	}
}

func (in *Injector) killWorker(ctx context.Context, i int, down time.Duration) error {
	in.config.Logf("kill worker %d for %v", i+1, down)
	in.report.WorkerKills++
	in.workers[i].Kill()
	if err := sleep(ctx, down); err != nil {
		return err
	}
	w, err := in.p.StartWorker(workerName(i))
	if err != nil {
		return err
	}
	in.workers[i] = w
	return nil
}

func (in *Injector) killCoordinator(ctx context.Context, down time.Duration) error {
	in.config.Logf("kill the coordinator for %v", down)
	in.report.CoordinatorKills++
	in.coordinator.Kill()
	if err := sleep(ctx, down); err != nil {
		return err
	}
	return in.startCoordinator(ctx)
}

func (in *Injector) killPostgres(ctx context.Context, down time.Duration) error {
	in.config.Logf("kill PostgreSQL for %v", down)
	in.report.PostgresKills++
	if err := in.p.KillPostgres(); err != nil {
		return err
	}
	if err := sleep(ctx, down); err != nil {
		return err
	}
	if err := in.p.StartPostgres(ctx); err != nil {
		return err
	}
	return platform.AwaitReady(ctx, in.coordinator)
}

// stopWorker halts a worker, past its lease if the lease is shorter than down.
func (in *Injector) stopWorker(ctx context.Context, i int, down time.Duration) error {
	in.config.Logf("stop worker %d for %v", i+1, down)
	in.report.Stops++
	if err := in.workers[i].Stop(); err != nil {
		return err
	}
	if err := sleep(ctx, down); err != nil {
		return err
	}
	return in.workers[i].Continue()
}

func (in *Injector) between(low, high time.Duration) time.Duration {
	if high <= low {
		return low
	}
	return low + time.Duration(in.rng.Int64N(int64(high-low)))
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// Spent adds up what the tasks of a Job have spent of their budgets.
func Spent(ctx context.Context, c *client.Client, job string) (failures, lostLeases int, err error) {
	params := wire.ListJobTasksParams{}
	for {
		page, err := c.ListJobTasks(ctx, job, params)
		if err != nil {
			return 0, 0, err
		}
		for _, t := range page.Items {
			failures += int(t.Status.Failures)
			lostLeases += int(t.Status.LostLeases)
		}
		if page.Metadata.Continue == "" {
			return failures, lostLeases, nil
		}
		next := page.Metadata.Continue
		params.Continue = &next
	}
}
