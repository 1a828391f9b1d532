//go:build unix

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"go.uber.org/zap"

	"scimesh.dev/scimesh/api/client"
	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/api/wire"
	"scimesh.dev/scimesh/hack/internal/platform"
)

const (
	takeoverTTL  = 5 * time.Second // of leases
	takeoverRows = 500_000         // of the input, so that planning takes long enough to be caught
	claimEvery   = 50 * time.Millisecond
	workload     = "similarity-search"
)

// goals of a takeover.
const (
	maxStep     = 5 * time.Second
	maxClaim    = time.Second
	maxReclaim  = takeoverTTL + 5*time.Second
	maxDatabase = 10 * time.Second
)

// takeovers is a platform of two coordinators, of which one will be killed.
type takeovers struct {
	log      *zap.SugaredLogger
	p        *platform.Platform
	db       *pgx.Conn
	victim   *platform.Process
	victimID uuid.UUID
	operator *client.Client // of the coordinator that lives on, like worker
	worker   *client.Client
	workerID uuid.UUID
	input    uuid.UUID
	missed   []error
}

// runTakeovers prints how long the platform takes to go on without a
// coordinator, a worker and the database. The error names every goal missed.
func runTakeovers(ctx context.Context, o options, log *zap.SugaredLogger) (err error) {
	binary, err := filepath.Abs(o.binary)
	if err != nil {
		return err
	}
	p, err := platform.Start(ctx, platform.Options{
		Dir: o.dir, Binary: binary, Safe: true, Coordinator: []string{"COORDINATOR_LEASE_TTL=" + takeoverTTL.String()},
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	t := &takeovers{log: log, p: p}
	stop, err := t.start(ctx)
	defer stop()
	if err != nil {
		return err
	}
	for _, measure := range []func(context.Context) error{t.ofLease, t.ofCoordinator, t.ofDatabase} {
		if err := measure(ctx); err != nil {
			return err
		}
	}
	return errors.Join(t.missed...)
}

// start starts both coordinators, registers a worker and uploads the input.
func (t *takeovers) start(ctx context.Context) (stop func(), err error) {
	var started []*platform.Process
	stop = func() {
		for _, c := range started {
			c.Kill()
		}
		if t.db != nil {
			_ = t.db.Close(context.WithoutCancel(ctx)) // the server stops next
		}
	}
	coordinator := func(name string) (*platform.Process, error) {
		c, err := t.p.StartCoordinator(name, true)
		if err != nil {
			return nil, err
		}
		started = append(started, c)
		return c, platform.AwaitReady(ctx, c)
	}
	if t.db, err = pgx.Connect(ctx, t.p.DatabaseURL()); err != nil {
		return stop, err
	}
	if t.victim, err = coordinator("victim"); err != nil {
		return stop, err
	}
	err = poll(ctx, func() (bool, error) { // its first beat may come after it serves
		err := t.db.QueryRow(ctx, `SELECT id FROM coordinators`).Scan(&t.victimID)
		if errors.Is(err, pgx.ErrNoRows) {
			return false, nil
		}
		return err == nil, err
	})
	if err != nil {
		return stop, err
	}
	heir, err := coordinator("heir")
	if err != nil {
		return stop, err
	}
	t.operator, err = client.New(heir.URL, t.p.OperatorToken(), client.Options{})
	if err == nil {
		t.worker, err = client.New(heir.URL, t.p.WorkerToken(), client.Options{})
	}
	if err != nil {
		return stop, err
	}
	return stop, t.prepare(ctx)
}

func (t *takeovers) prepare(ctx context.Context) error {
	r, err := t.worker.RegisterWorker(ctx, wire.RegisterRequest{
		Name: "takeover", Capabilities: []string{workload}, Engine: "takeover/1", CPUCount: 1, MemoryMB: 1024,
	})
	if err != nil {
		return err
	}
	t.workerID = r.WorkerID
	var table bytes.Buffer
	table.WriteString("chembl_id\tcanonical_smiles\n")
	for i := range takeoverRows {
		fmt.Fprintf(&table, "X%d\tC%s\n", i, "CCCCCCCCCC"[:i%10])
	}
	a, err := t.operator.UploadArtifact(ctx, client.Upload{Filename: "input.tsv", Body: bytes.NewReader(table.Bytes()), Size: int64(table.Len())})
	t.input = a.Metadata.UID
	return err
}

// apply creates a job over the input.
func (t *takeovers) apply(ctx context.Context, name string, rows int64) (uuid.UUID, error) {
	j := v1.Job{
		TypeMeta: v1.TypeMeta{APIVersion: v1.APIVersion, Kind: v1.KindJob}, Metadata: v1.ObjectMeta{Name: name},
		Spec: v1.JobSpec{
			Workload: workload, Input: v1.JobInput{Artifact: &t.input}, Sharding: v1.Sharding{Rows: rows},
			Parameters: []byte(`{"query_smiles": "CCO"}`), MaxAttempts: 3,
		},
	}
	created, _, err := t.operator.ApplyJob(ctx, j, false)
	return created.Metadata.UID, err
}

// step is who holds a step of a job, and the job's phase.
func (t *takeovers) step(ctx context.Context, job uuid.UUID) (owner uuid.UUID, phase string, err error) {
	var held *uuid.UUID
	err = t.db.QueryRow(ctx, `SELECT step_owner, status FROM jobs WHERE id = $1`, job).Scan(&held, &phase)
	if held != nil {
		owner = *held
	}
	return owner, phase, err
}

// report prints a time beside its goal.
func (t *takeovers) report(what string, took, goal time.Duration) {
	t.log.Infof("%s: %v (goal ≤ %v)", what, took.Round(time.Millisecond), goal)
	if took > goal {
		t.missed = append(t.missed, fmt.Errorf("%s took %v, at most %v was wanted", what, took, goal))
	}
}

// poll asks every few milliseconds until the answer is yes.
func poll(ctx context.Context, ask func() (bool, error)) error {
	for {
		yes, err := ask()
		if yes || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// ofLease claims a task for a worker that is never heard of again.
func (t *takeovers) ofLease(ctx context.Context) error {
	job, err := t.apply(ctx, "of-lease", 1000)
	if err != nil {
		return err
	}
	if err := poll(ctx, func() (bool, error) { _, phase, err := t.step(ctx, job); return phase == "running", err }); err != nil {
		return err
	}
	task, err := t.claim(ctx)
	if err != nil {
		return err
	}
	begin := time.Now()
	err = poll(ctx, func() (pending bool, err error) {
		err = t.db.QueryRow(ctx, `SELECT status = 'pending' FROM tasks WHERE id = $1`, task.TaskID).Scan(&pending)
		return pending, err
	})
	t.report("worker gone, its task can be claimed again", time.Since(begin), maxReclaim)
	return err
}

// claim takes a task, which there must be.
func (t *takeovers) claim(ctx context.Context) (*wire.ClaimedTask, error) {
	task, err := t.worker.ClaimTask(ctx, wire.ClaimRequest{WorkerID: t.workerID, Capabilities: []string{workload}})
	if err == nil && task == nil {
		err = errors.New("there is no task left to claim")
	}
	return task, err
}

// ofCoordinator kills a coordinator in the middle of a step, while the other
// one serves claims.
func (t *takeovers) ofCoordinator(ctx context.Context) error {
	var job uuid.UUID
	for n := 0; job == uuid.Nil; n++ { // until the victim takes the step
		id, err := t.apply(ctx, fmt.Sprintf("of-coordinator-%d", n), 50_000)
		if err != nil {
			return err
		}
		err = poll(ctx, func() (bool, error) {
			owner, phase, err := t.step(ctx, id)
			if owner == t.victimID {
				job = id
			}
			return phase == "running" || job != uuid.Nil, err
		})
		if err != nil {
			return err
		}
	}
	t.victim.Kill()
	begin := time.Now()
	ctx, cancel := context.WithCancel(ctx)
	var claims sync.WaitGroup
	var longest time.Duration
	var claimErr error
	claims.Go(func() {
		for ctx.Err() == nil && claimErr == nil {
			asked := time.Now()
			if _, err := t.claim(ctx); err != nil && ctx.Err() == nil {
				claimErr = err
			}
			longest = max(longest, time.Since(asked))
			select {
			case <-ctx.Done():
			case <-time.After(claimEvery):
			}
		}
	})
	err := poll(ctx, func() (bool, error) {
		owner, phase, err := t.step(ctx, job)
		return phase == "running" || owner != uuid.Nil && owner != t.victimID, err
	})
	took := time.Since(begin)
	cancel()
	claims.Wait()
	t.report("coordinator killed, another has its step", took, maxStep)
	t.report("coordinator killed, longest claim at another meanwhile", longest, maxClaim)
	return errors.Join(err, claimErr)
}

// ofDatabase kills PostgreSQL and starts it again.
func (t *takeovers) ofDatabase(ctx context.Context) error {
	if err := errors.Join(t.p.KillPostgres(), t.p.StartPostgres(ctx)); err != nil {
		return err
	}
	begin := time.Now()
	err := poll(ctx, func() (bool, error) {
		_, err := t.claim(ctx)
		return err == nil, nil // until it is served again
	})
	t.report("PostgreSQL accepts connections, the coordinator serves claims", time.Since(begin), maxDatabase)
	return err
}
