package store

import (
	"container/list"
	"context"
	"slices"
	"sync"
	"time"
)

// waitList are the claims that wait for a task, longest first. They hold no
// connection. A claim enters before it looks for a task, so that a task that
// comes in between wakes it.
type waitList struct {
	waitMu  sync.Mutex
	waiting list.List
}

type waiter struct {
	capabilities []string
	wake         chan struct{} // closed to wake
	woken        bool
	place        *list.Element
}

// enter adds a waiter; nil if the claim does not want to wait.
func (l *waitList) enter(capabilities []string, wants bool) *waiter {
	if !wants {
		return nil
	}
	l.waitMu.Lock()
	defer l.waitMu.Unlock()
	w := &waiter{capabilities: capabilities, wake: make(chan struct{})}
	w.place = l.waiting.PushBack(w)
	return w
}

// leave removes a waiter.
func (l *waitList) leave(w *waiter) {
	if w == nil {
		return
	}
	l.waitMu.Lock()
	defer l.waitMu.Unlock()
	l.waiting.Remove(w.place)
}

// idle reports whether nobody waits.
func (l *waitList) idle() bool {
	l.waitMu.Lock()
	defer l.waitMu.Unlock()
	return l.waiting.Len() == 0
}

// wakeFor wakes waiters that suit the jobs which may have tasks, at most as
// many as a job has open tasks.
func (d *dispatcher) wakeFor() {
	d.mu.Lock()
	budget := map[string]int64{} // by workload
	for _, j := range d.jobs {
		if !j.dry {
			budget[j.workload] += j.open
		}
	}
	d.mu.Unlock()
	if len(budget) == 0 {
		return
	}
	d.waitMu.Lock()
	defer d.waitMu.Unlock()
	for e := d.waiting.Front(); e != nil; e = e.Next() {
		w := e.Value.(*waiter)
		n := slices.IndexFunc(w.capabilities, func(c string) bool { return budget[c] > 0 })
		if n < 0 || w.woken {
			continue
		}
		budget[w.capabilities[n]]--
		w.woken = true
		close(w.wake)
	}
}

// wait returns when the waiter is woken or d has passed, or the error of ctx.
func (w *waiter) wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-w.wake:
		return nil
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
