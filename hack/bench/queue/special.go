//go:build linux

package main

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"scimesh.dev/scimesh/hack/bench/internal/proc"
)

const (
	longTask  = 20 * time.Second // of the measurement with many connections
	longCycle = 25 * time.Second
	idleWait  = 20 * time.Second
)

// measureIdle prints what a worker costs that waits for a task.
func (r *rig) measureIdle(ctx context.Context) error {
	before, err := proc.ReadMemory(r.coordinator.PID())
	if err != nil {
		return err
	}
	workers, err := connectAll(ctx, r.target(), r.idle, newLeases())
	if err != nil {
		return err
	}
	defer closeAll(workers)
	var g errgroup.Group
	for _, w := range workers {
		g.Go(func() error {
			if _, ok, err := w.claim(idleWait); ok || err != nil {
				return fmt.Errorf("idle worker: got a task: %v: %w", ok, err)
			}
			return nil
		})
	}
	if err := sleepUntil(ctx, time.Now().Add(idleWait/2)); err != nil {
		return err
	}
	during, err := proc.ReadMemory(r.coordinator.PID())
	if err != nil {
		return err
	}
	if err := g.Wait(); err != nil {
		return err
	}
	kib := float64(during.Now-before.Now) / 1024 / float64(r.idle)
	fmt.Fprintf(r.out, "memory: coordinator %d MB, with %d idle workers %d MB: %.1f KB each%s\n\n",
		before.Now>>20, r.idle, during.Now>>20, kib, verdict(kib <= maxIdleKiB, fmt.Sprintf("≤ %d", maxIdleKiB)))
	return nil
}

// measureWAL prints what a cycle writes to the log. Full-page images, which
// depend on when the last checkpoint was, are turned off for it.
func (r *rig) measureWAL(ctx context.Context) error {
	if err := r.data.topUp(ctx, int64(fastest*5)); err != nil {
		return err
	}
	for _, n := range []int{1, 32} {
		if err := r.fullPageWrites(ctx, false); err != nil {
			return err
		}
		m, err := r.load(ctx, n, pace{}, time.Second, 3*time.Second)
		if err != nil {
			return err
		}
		if err := r.fullPageWrites(ctx, true); err != nil {
			return err
		}
		fmt.Fprintf(r.out, "WAL a cycle without full-page images, %d workers: %.0f bytes%s; a claim reads %.1f blocks (%.1f a statement of %.1f tasks)%s\n",
			n, m.wal, verdict(m.wal <= maxWAL && m.images == 0, fmt.Sprintf("≤ %d", maxWAL)),
			m.blocksPerTask, m.blocksPerCall, m.tasksPerCall, verdict(m.blocksPerTask <= maxBlocks, fmt.Sprintf("≤ %d", maxBlocks)))
	}
	return nil
}

func (r *rig) fullPageWrites(ctx context.Context, on bool) error {
	value := "off"
	if on {
		value = "on"
	}
	for _, sql := range []string{"CHECKPOINT", "ALTER SYSTEM SET full_page_writes = " + value, "SELECT pg_reload_conf()", "SELECT pg_sleep(0.2)"} {
		if _, err := r.data.db.Exec(ctx, sql); err != nil {
			return err
		}
	}
	return nil
}

// measureConnections prints the latency of the claim with many workers that
// are busy most of the time.
func (r *rig) measureConnections(ctx context.Context) error {
	rate := float64(r.connections) / longCycle.Seconds()
	last := longCycle + longTask
	if err := r.data.topUp(ctx, int64(rate*(longCycle+last+longTask).Seconds())); err != nil {
		return err
	}
	m, err := r.load(ctx, r.connections, pace{task: longTask, every: longCycle}, longCycle, last)
	if err != nil {
		return err
	}
	p99 := m.quantile(.99)
	fmt.Fprintf(r.out, "%d connections, tasks of %v, %.0f cycles/s (wanted: %.0f): claim p50 %v, p99 %v%s\n", r.connections, longTask, m.perSecond(), rate,
		m.quantile(.5).Round(100*time.Microsecond), p99.Round(100*time.Microsecond), verdict(p99 <= maxClaimP99, "≤ "+maxClaimP99.String()))
	return nil
}
