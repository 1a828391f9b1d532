//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"scimesh.dev/scimesh/hack/bench/internal/proc"
	"scimesh.dev/scimesh/hack/internal/platform"
)

// rig is a platform with its processes.
type rig struct {
	options
	platform    *platform.Platform
	coordinator *platform.Process
	working     []*platform.Process
	out         io.Writer
}

func (r *rig) start(ctx context.Context) (err error) {
	if r.coordinator, err = r.platform.StartCoordinator("coordinator", false); err != nil {
		return err
	}
	if err := platform.AwaitReady(ctx, r.coordinator); err != nil {
		return err
	}
	for i := range r.workers {
		w, err := r.platform.StartWorker(fmt.Sprintf("worker-%d", i))
		if err != nil {
			return err
		}
		r.working = append(r.working, w)
	}
	return nil
}

func (r *rig) stop() {
	for _, p := range append(r.working, r.coordinator) {
		if p != nil {
			p.Kill()
		}
	}
}

// cost is the processor time of the parts of the platform.
type cost struct{ coordinator, database, workers time.Duration }

func (c cost) minus(d cost) cost {
	return cost{c.coordinator - d.coordinator, c.database - d.database, c.workers - d.workers}
}

func (c cost) total() time.Duration { return c.coordinator + c.database + c.workers }

func (r *rig) spent() (c cost, err error) {
	var errs [2]error
	c.coordinator, errs[0] = proc.CPU(r.coordinator.PID())
	c.database, errs[1] = proc.CPUOfTree(r.platform.PostgresPID())
	for _, w := range r.working {
		d, err := proc.CPU(w.PID())
		if err != nil {
			return c, err
		}
		c.workers += d
	}
	return c, errors.Join(errs[:]...)
}

// memory is the peak of resident memory of the coordinator, and of the worker that has the highest.
func (r *rig) memory() (coordinator, worker int64, err error) {
	m, err := proc.ReadMemory(r.coordinator.PID())
	if err != nil {
		return 0, 0, err
	}
	for _, w := range r.working {
		peak, err := proc.ReadMemory(w.PID())
		if err != nil {
			return 0, 0, err
		}
		worker = max(worker, peak.Peak)
	}
	return m.Peak, worker, nil
}

// job is one to measure.
type job struct{ name, workload, parameters string }

func (r *rig) manifest(j job) (string, error) {
	path := filepath.Join(r.dir, j.name+".yaml")
	return path, os.WriteFile(path, fmt.Appendf(nil, `apiVersion: scimesh.dev/v1
kind: Job
metadata: {name: %s}
spec:
  workload: %s
  input: {path: %s}
  parameters: %s
`, j.name, j.workload, r.input, j.parameters), 0o600)
}

// run of a job in one process or by the platform.
type outcome struct {
	wall, cpu time.Duration
	peak      int64
	rows      int // of the result, without its header
	parts     cost
	csv       []byte
}

// local runs the job in one process.
func (r *rig) local(ctx context.Context, j job) (o outcome, err error) {
	manifest, err := r.manifest(j)
	if err != nil {
		return o, err
	}
	path := filepath.Join(r.dir, j.name+".local.csv")
	cmd := exec.CommandContext(ctx, r.binary, "run", "-f", manifest, "-o", path, "--threads", fmt.Sprint(r.workers), "--temp-dir", r.dir)
	begin := time.Now()
	if text, err := cmd.CombinedOutput(); err != nil {
		return o, fmt.Errorf("run %s: %w: %s", j.name, err, text)
	}
	o.wall = time.Since(begin)
	o.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	o.peak = cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10
	o.csv, err = os.ReadFile(path)
	o.rows = bytes.Count(o.csv, []byte("\r\n")) - 1
	return o, err
}

// distributed applies the job, waits for its end and downloads the result.
func (r *rig) distributed(ctx context.Context, j job) (o outcome, err error) {
	manifest, err := r.manifest(j)
	if err != nil {
		return o, err
	}
	before, err := r.spent()
	if err != nil {
		return o, err
	}
	path := filepath.Join(r.dir, j.name+".csv")
	begin := time.Now()
	for _, command := range []string{
		"apply -f " + manifest, "wait job/" + j.name + " --timeout 1h", "download job/" + j.name + " -o " + path,
	} {
		if _, err := r.platform.Scimesh(ctx, strings.Fields(command)...); err != nil {
			return o, err
		}
	}
	o.wall = time.Since(begin)
	after, err := r.spent()
	if err != nil {
		return o, err
	}
	o.parts = after.minus(before)
	o.cpu = o.parts.total()
	o.csv, err = os.ReadFile(path)
	o.rows = bytes.Count(o.csv, []byte("\r\n")) - 1
	return o, err
}
