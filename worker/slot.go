package worker

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"
)

const (
	// diskPause is the pause of a slot whose task did not fit the disk limit, so
	// that another worker gets it.
	diskPause = 20 * time.Second
	// endedPause bounds the pause after tasks that were lost or cancelled.
	endedPause = 5 * time.Second
)

// slots runs the worker's slots until each has nothing more to do.
func (w *Worker) slots(ctx context.Context, l lives, work *workDir, left []*task) {
	queue := make(chan *task, len(left))
	for _, t := range left {
		queue <- t
	}
	close(queue)
	var slots sync.WaitGroup
	for range w.cfg.Concurrency {
		slots.Go(func() { w.slot(ctx, l, work, queue) })
	}
	slots.Wait()
	// What no slot came to is handed back, or kept if that is to be at once.
	for t := range queue {
		t.finish(l, errDrained)
	}
}

// slot carries out one task after the other: first those of an earlier
// process, which count like claimed ones.
func (w *Worker) slot(ctx context.Context, l lives, work *workDir, left <-chan *task) {
	for ctx.Err() == nil {
		t, ok := <-left
		if !ok {
			break
		}
		w.reserve()
		if err := w.carryOut(l, t); machineFault(err) {
			_ = sleep(ctx, jitter(diskPause))
		}
	}
	var b backoff
	for ctx.Err() == nil && w.reserve() {
		id, renewals := w.identity()
		sent := time.Now()
		a, err := w.claim(ctx, id)
		switch {
		case err == nil && a != nil:
			err := w.carryOut(l, w.newTask(work, a, sent))
			if err == nil {
				b.reset()
				break
			}
			// A task that came to nothing may come again at once.
			d := min(b.next(err), endedPause)
			if machineFault(err) {
				d = jitter(diskPause)
			}
			_ = sleep(ctx, d)
		case err == nil:
			w.unreserve()
			b.reset()
			if w.cfg.Once {
				return
			}
			// Where the coordinator let the claim wait there is no need to.
			if w.cfg.ClaimWait == 0 || time.Since(sent) < w.cfg.ClaimWait/2 {
				_ = sleep(ctx, jitter(w.cfg.PollInterval))
			}
		case ctx.Err() == nil:
			w.unreserve()
			d := b.next(err)
			w.log.Warn("claim failed", zap.String("operation", "claim"), zap.Stringer("worker_id", id),
				zap.Duration("delay", d), fault(err))
			if leaseGone(err) {
				w.reregister(ctx, work, renewals)
			}
			_ = sleep(ctx, d)
		}
	}
}

func (w *Worker) claim(ctx context.Context, id uuid.UUID) (*Assignment, error) {
	ctx, cancel := context.WithTimeout(ctx, w.cfg.ClaimWait+answerTimeout)
	defer cancel()
	return w.coord.Claim(ctx, ClaimRequest{
		WorkerID: id, Capabilities: w.cfg.Workloads.Names(), MaxConcurrency: w.cfg.Concurrency, Wait: w.cfg.ClaimWait,
	})
}

// reregister registers a worker that the coordinator does not know (any more),
// unless another slot has done so since the claim was sent.
func (w *Worker) reregister(ctx context.Context, work *workDir, renewals int) {
	w.registering.Lock()
	defer w.registering.Unlock()
	if _, now := w.identity(); now != renewals {
		return
	}
	if err := w.register(ctx, work); err != nil && ctx.Err() == nil {
		w.log.Error("not registered again", zap.String("operation", "register"), fault(err))
	}
}

// carryOut runs a task to its end in this slot, and returns why it neither
// completed nor failed.
func (w *Worker) carryOut(l lives, t *task) error {
	sending, endLog := context.WithCancel(l.process)
	w.logs.Go(func() {
		defer endLog()
		t.tlog.send(sending)
	})
	err := t.storage
	if err == nil {
		err = t.run(l)
	}
	if err != nil {
		t.tlog.Logf("ended without a result: %v", err)
	}
	t.tlog.close()
	if leaseGone(err) {
		endLog()
	} else {
		time.AfterFunc(logFinal, endLog)
	}
	t.finish(l, err)
	t.idle(l.task)
	if errors.Is(err, errInsufficientDisk) {
		w.disk.give(t.work.dropFailed())
	}
	return err
}

// newTask makes the folder of a claimed task.
func (w *Worker) newTask(work *workDir, a *Assignment, sent time.Time) *task {
	s := newState(a)
	t := w.makeTask(work, s, filepath.Join(work.path, tasksDir, s.dirName()))
	t.sent, t.ttl = sent, a.TTL
	size := a.InputSize
	for _, in := range a.Further {
		size += in.Size
	}
	if t.storage = w.disk.fits(size); t.storage != nil {
		return t
	}
	if t.storage = diskError(os.MkdirAll(t.dir, 0o700)); t.storage == nil {
		t.storage = t.record(func(*taskState) {})
	}
	return t
}

func (w *Worker) makeTask(work *workDir, s *taskState, dir string) *task {
	w.mu.Lock()
	interval := w.interval
	w.mu.Unlock()
	log := w.log.With(zap.Stringer("task_id", s.TaskID), zap.Int32("attempt", s.Attempt), zap.Stringer("worker_id", s.WorkerID))
	t := &task{
		cfg: &w.cfg, coord: w.coord, clean: w.clean, interval: interval, disk: w.disk, work: work, log: log,
		dir: dir, state: s, tlog: newTaskLog(w.coord, s, w.clean, log), sent: time.Now(),
	}
	t.tlog.taken = func(next, size int) {
		// Best effort: without it a successor sends a number again, which changes nothing.
		_ = t.record(func(s *taskState) { s.LogSeq, s.LogBytes = next, size })
	}
	return t
}

// leftovers takes up the tasks of an earlier process, and removes what cannot be taken up.
func (w *Worker) leftovers(work *workDir) ([]*task, error) {
	dirs, err := work.taskDirs()
	if err != nil {
		return nil, err
	}
	w.disk.used = sizeOf(work.path) - sizeOf(filepath.Join(work.path, cacheDir))
	var left []*task
	for _, dir := range dirs {
		s, err := loadState(dir)
		if err != nil {
			w.log.Warn("task folder cannot be taken up", zap.String("operation", "resume"), fault(err))
			w.disk.give(sizeOf(dir))
			if err := os.RemoveAll(dir); err != nil && !errors.Is(err, os.ErrNotExist) {
				return nil, err
			}
			continue
		}
		t := w.makeTask(work, s, dir)
		t.resumed = true
		t.booked.Store(sizeOf(dir))
		left = append(left, t)
		t.log.Info("task taken up", zap.String("operation", "resume"), zap.String("stage", string(s.Stage)))
	}
	return left, nil
}

// reserve counts a task against MaxTasks and reports whether it may be claimed.
func (w *Worker) reserve() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cfg.MaxTasks > 0 && w.claimed >= w.cfg.MaxTasks {
		return false
	}
	w.claimed++
	return true
}

func (w *Worker) unreserve() {
	w.mu.Lock()
	w.claimed--
	w.mu.Unlock()
}

// identity returns the worker's id and how often it has registered.
func (w *Worker) identity() (uuid.UUID, int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.id, w.renewals
}
