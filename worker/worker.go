package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"
)

// logsAtEnd is how long the end of Run waits for the last chunks of task logs.
const logsAtEnd = 3 * time.Second

// Worker claims and computes tasks. Make one with New; Run it once.
type Worker struct {
	cfg   Config
	coord Coordinator
	clean sanitizer
	log   *zap.Logger
	disk  *disk

	abort   func()
	aborted chan struct{}
	logs    sync.WaitGroup

	registering sync.Mutex

	mu       sync.Mutex
	id       uuid.UUID
	renewals int           // registrations so far
	interval time.Duration // between heartbeats, as the coordinator wishes
	claimed  int           // tasks against cfg.MaxTasks
}

// New returns a Worker, or every fault of the configuration.
func New(cfg Config) (*Worker, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("worker configuration: %w", err)
	}
	cfg = cfg.withDefaults()
	if cfg.Once {
		cfg.Concurrency, cfg.MaxTasks = 1, 1
	}
	coord, err := newHTTPCoordinator(cfg)
	if err != nil {
		return nil, fmt.Errorf("worker configuration: %w", err)
	}
	w := &Worker{
		cfg: cfg, coord: coord, clean: newSanitizer(cfg.Token), log: cfg.Logger,
		disk: &disk{limit: cfg.DiskLimit}, aborted: make(chan struct{}),
	}
	w.abort = sync.OnceFunc(func() { close(w.aborted) })
	return w, nil
}

// Abort makes Run return at once, during or without a drain. Running tasks are
// left in the work dir, for the next start to go on with.
func (w *Worker) Abort() { w.abort() }

// Run registers the worker and carries out tasks until ctx ends, and then
// drains; with Once or MaxTasks it may return before. It returns an error only
// if the worker cannot work at all.
func (w *Worker) Run(ctx context.Context) error {
	work, err := openWorkDir(w.cfg.WorkDir)
	if err != nil {
		return err
	}
	defer work.close()
	work.cache = openCache(cmp.Or(w.cfg.CacheDir, filepath.Join(work.path, cacheDir)), w.cfg.CacheLimit)

	process, end := context.WithCancelCause(context.WithoutCancel(ctx))
	defer end(errAborted)
	tasks, handBack := context.WithCancelCause(process)
	defer handBack(errDrained)
	claims, stop := context.WithCancel(ctx)
	defer stop()
	var watching sync.WaitGroup
	defer watching.Wait()
	done := make(chan struct{})
	defer close(done)
	watching.Go(func() { w.watch(ctx, done, stop, handBack, end) })

	if err := w.register(claims, work); err != nil {
		if claims.Err() != nil {
			return nil
		}
		return err
	}
	left, err := w.leftovers(work)
	if err != nil {
		return fmt.Errorf("work dir: %w", err)
	}
	l := lives{process: process, task: tasks}
	w.slots(claims, l, work, left)
	w.awaitLogs(end)
	w.log.Info("worker stopped", zap.String("operation", "stop"))
	return nil
}

// watch turns the end of ctx, and Abort, into the ends of the worker's contexts.
func (w *Worker) watch(ctx context.Context, done <-chan struct{}, stop func(), handBack, end context.CancelCauseFunc) {
	select {
	case <-done:
		return
	case <-w.aborted:
		stop()
		end(errAborted)
		return
	case <-ctx.Done():
	}
	w.log.Info("worker stops claiming", zap.String("operation", "drain"), zap.Duration("timeout", w.cfg.DrainTimeout))
	drain := time.NewTimer(w.cfg.DrainTimeout)
	defer drain.Stop()
	for {
		select {
		case <-done:
			return
		case <-w.aborted:
			end(errAborted)
			return
		case <-drain.C:
			handBack(errDrained)
		}
	}
}

// awaitLogs gives the last chunks of task logs a short time.
func (w *Worker) awaitLogs(end context.CancelCauseFunc) {
	flushed := make(chan struct{})
	go func() {
		w.logs.Wait()
		close(flushed)
	}()
	select {
	case <-flushed:
	case <-w.aborted:
	case <-time.After(logsAtEnd):
	}
	end(errAborted)
	<-flushed
}

// register announces the worker until the coordinator has taken it, however
// long that takes: a worker may start before its coordinator. It returns an
// error if ctx ends or if the registration itself is refused.
func (w *Worker) register(ctx context.Context, work *workDir) error {
	known, err := work.identity()
	if err != nil {
		w.log.Warn("identity cannot be read, a new one is taken", zap.String("operation", "register"), fault(err))
	}
	host := Registration{
		ID: known.WorkerID, Name: w.cfg.Name, Engine: w.cfg.Engine, Golden: w.cfg.Golden, Capabilities: w.cfg.Workloads.Names(),
		CPUCount: runtime.NumCPU(), MemoryMB: w.cfg.MemoryMB,
	}
	var b backoff
	for {
		got, err := w.tryRegister(ctx, host)
		if err == nil {
			return w.registered(work, got)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if errors.Is(err, ErrRefused) {
			return fmt.Errorf("register worker %q: %w", w.cfg.Name, err)
		}
		d := b.next(err)
		w.log.Warn("not registered yet", zap.String("operation", "register"), zap.Duration("delay", d), fault(err))
		if sleep(ctx, d) != nil {
			return ctx.Err()
		}
	}
}

func (w *Worker) tryRegister(ctx context.Context, r Registration) (Registered, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	return w.coord.Register(ctx, r)
}

func (w *Worker) registered(work *workDir, got Registered) error {
	if err := work.saveIdentity(identity{WorkerID: got.ID, Name: w.cfg.Name}); err != nil {
		return fmt.Errorf("work dir: %w", err)
	}
	w.mu.Lock()
	w.id, w.interval = got.ID, got.HeartbeatInterval
	w.renewals++
	w.mu.Unlock()
	w.log.Info("worker registered", zap.String("operation", "register"), zap.Stringer("worker_id", got.ID),
		zap.Strings("workloads", w.cfg.Workloads.Names()), zap.Int("pid", os.Getpid()))
	return nil
}
