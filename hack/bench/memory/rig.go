//go:build linux

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"scimesh.dev/scimesh/api/client"
	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/hack/bench/internal/proc"
	"scimesh.dev/scimesh/hack/internal/platform"
)

const (
	maxCoordinator = 100 << 20 // bytes resident at most
	// maxWorkerBase and maxShardShare are the bytes of memory that a worker may
	// take, and those for each byte of its shard.
	maxWorkerBase = 100 << 20
	maxShardShare = 2
	poll          = 200 * time.Millisecond
)

type rig struct {
	options
	platform *platform.Platform
	client   *client.Client
	out      io.Writer
	jobs     int
}

// coordinatorPeak uploads a large table to a fresh coordinator and waits for its plan.
func (r *rig) coordinatorPeak(ctx context.Context) error {
	coordinator, err := r.start(ctx)
	if err != nil {
		return err
	}
	defer coordinator.Kill()
	before, err := proc.ReadMemory(coordinator.PID())
	if err != nil {
		return err
	}
	began := time.Now()
	name, err := r.submit(ctx, r.bytes, 100000)
	if err != nil {
		return err
	}
	uploaded := time.Since(began)
	job, err := r.await(ctx, name, v1.JobRunning)
	if err != nil {
		return err
	}
	after, err := proc.ReadMemory(coordinator.PID())
	if err != nil {
		return err
	}
	fmt.Fprintf(r.out, "coordinator: %d MB uploaded in %v and planned in %v into %d tasks; peak %d MB resident (%d MB before; goal: below %d MB)\n",
		r.bytes>>20, uploaded.Round(time.Second), (time.Since(began) - uploaded).Round(time.Second), job.Status.Tasks.Total,
		after.Peak>>20, before.Peak>>20, maxCoordinator>>20)
	if after.Peak >= maxCoordinator {
		return fmt.Errorf("the coordinator took %d bytes of memory", after.Peak)
	}
	if _, err := r.client.CancelJob(ctx, name); err != nil {
		return err
	}
	_, err = r.await(ctx, name, v1.JobCancelled)
	return err
}

// workerPeaks has a fresh worker search a table in small shards, another one in large ones.
func (r *rig) workerPeaks(ctx context.Context) error {
	coordinator, err := r.start(ctx)
	if err != nil {
		return err
	}
	defer coordinator.Kill()
	for _, rows := range r.rows {
		peak, err := r.workerPeak(ctx, rows)
		if err != nil {
			return err
		}
		shard := min(rows*rowLen, r.workerBytes)
		fmt.Fprintf(r.out, "worker: %d MB in shards of %d rows, from %d MB of input each: peak %d MB resident\n",
			r.workerBytes>>20, rows, shard>>20, peak>>20)
		if peak > maxWorkerBase+maxShardShare*shard {
			return fmt.Errorf("the worker took %d bytes of memory for shards of %d", peak, shard)
		}
	}
	return nil
}

func (r *rig) workerPeak(ctx context.Context, rows int64) (int64, error) {
	worker, err := r.platform.StartWorker(fmt.Sprintf("worker-%d", rows), "SCIMESH_CONCURRENCY=1")
	if err != nil {
		return 0, err
	}
	defer worker.Kill()
	name, err := r.submit(ctx, r.workerBytes, rows)
	if err != nil {
		return 0, err
	}
	if _, err := r.await(ctx, name, v1.JobCompleted); err != nil {
		return 0, err
	}
	m, err := proc.ReadMemory(worker.PID())
	return m.Peak, err
}

func (r *rig) start(ctx context.Context) (*platform.Process, error) {
	coordinator, err := r.platform.StartCoordinator("coordinator", false)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	return coordinator, platform.AwaitReady(ctx, coordinator)
}

// submit uploads a table of that size and creates a job on it.
func (r *rig) submit(ctx context.Context, size, rows int64) (name string, err error) {
	t := newTable(size)
	a, err := r.client.UploadArtifact(ctx, client.Upload{Filename: "molecules.tsv", Body: t, Size: t.size})
	if err != nil {
		return "", err
	}
	r.jobs++
	job := v1.Job{
		TypeMeta: v1.TypeMeta{APIVersion: v1.APIVersion, Kind: v1.KindJob},
		Metadata: v1.ObjectMeta{Name: fmt.Sprintf("memory-%d", r.jobs)},
		Spec: v1.JobSpec{
			Workload: "similarity-search", Input: v1.JobInput{Artifact: &a.Metadata.UID}, Sharding: v1.Sharding{Rows: rows},
			Parameters: json.RawMessage(`{"query_smiles": "CCCCc1ccc(F)c(O)c1", "top_k": 20}`),
		},
	}
	job, err = r.client.CreateJob(ctx, job, false)
	return job.Metadata.Name, err
}

// await waits until a job reaches a phase, and fails if it ends in another.
func (r *rig) await(ctx context.Context, name string, phase v1.JobPhase) (v1.Job, error) {
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for {
		job, err := r.client.GetJob(ctx, name)
		switch {
		case err != nil || job.Status.Phase == phase:
			return job, err
		case job.Status.Phase.Final():
			return job, fmt.Errorf("job %s is %s, not %s: %+v", name, job.Status.Phase, phase, job.Status.Conditions)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return job, ctx.Err()
		}
	}
}
