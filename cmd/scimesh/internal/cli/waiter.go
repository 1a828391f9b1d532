package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"scimesh.dev/scimesh/api/client"
	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/api/wire"
	"scimesh.dev/scimesh/cmd/scimesh/internal/printer"
)

// waiter waits for jobs.
type waiter struct {
	*session
	client  *client.Client
	goal    goal
	timeout time.Duration
	show    *jobDisplay                  // nil shows nothing
	ended   func(t *target, end outcome) // if not nil, is told of each end

	targets []*target
}

// target is one job that is waited for.
type target struct {
	name string
	job  v1.Job
	seen bool // by the watch
	end  *outcome
}

// outcome is how waiting for a job ended.
type outcome struct {
	code int
	text string
}

// wait waits for the jobs named. It returns nil if every one reached the goal,
// and else an exitError.
func (w *waiter) wait(ctx context.Context, refs []ref) error {
	for _, r := range refs {
		w.targets = append(w.targets, &target{name: r.name})
	}
	return w.run(ctx, w.find)
}

// waitFor is wait for jobs that were looked up.
func (w *waiter) waitFor(ctx context.Context, jobs []v1.Job) error {
	for _, j := range jobs {
		w.targets = append(w.targets, &target{name: j.Metadata.Name, job: j})
	}
	return w.run(ctx, func(context.Context) error { return nil })
}

func (w *waiter) run(ctx context.Context, find func(context.Context) error) error {
	if w.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, w.timeout)
		defer cancel()
	}
	defer w.closeDisplay()
	if err := find(ctx); err != nil && ctx.Err() == nil {
		return err
	}
	err := w.follow(ctx)
	if w.timeout > 0 && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		w.endAll(outcome{ExitTimeout, fmt.Sprintf("did not get there within %s", w.timeout)})
		err = nil
	}
	if err != nil {
		return err
	}
	return w.verdict()
}

// find looks the jobs up, so that a wrong name is told at once.
func (w *waiter) find(ctx context.Context) error {
	var errs []error
	for _, t := range w.targets {
		job, err := w.lookUp(ctx, t.name)
		switch {
		case err == nil:
			t.name, t.job = job.Metadata.Name, job
		case errors.Is(err, client.ErrNotFound) && w.goal.deleted:
			w.finish(t, w.goal.gone())
		case errors.Is(err, client.ErrNotFound):
			errs = append(errs, err)
		default:
			return err
		}
	}
	return errors.Join(errs...)
}

// lookUp reads a job. The coordinator may be just starting, so one that does
// not answer is asked again until the patience ends.
func (w *waiter) lookUp(ctx context.Context, name string) (v1.Job, error) {
	for start, failures := w.now(), 1; ; failures++ {
		job, err := w.client.GetJob(ctx, name)
		silent := errors.Is(err, client.ErrUnavailable)
		if !silent && failures > 1 {
			w.noteLost(nil)
		}
		if !silent || ctx.Err() != nil || w.now().Sub(start) >= w.patience {
			return job, err
		}
		if failures == 1 {
			w.noteLost(err)
		}
		pause(ctx, failures)
	}
}

// follow waits until every target has its end: it watches one job, and looks
// at several again and again.
func (w *waiter) follow(ctx context.Context) error {
	switch {
	case w.finished():
		return nil
	case len(w.targets) == 1:
		return w.watch(ctx)
	}
	return w.look(ctx)
}

func (w *waiter) watch(ctx context.Context) error {
	uid := w.targets[0].job.Metadata.UID.String()
	f := &feed{session: w.session, client: w.client, params: wire.ListJobsParams{Name: &uid}, lost: w.noteLost, known: true}
	for event, err := range f.events(ctx) {
		if err != nil {
			return err
		}
		w.see(event)
		if w.finished() {
			return nil
		}
	}
	return ctx.Err()
}

// look asks for each job in turn. A coordinator that does not answer is asked again.
func (w *waiter) look(ctx context.Context) error {
	for failing := false; ; sleep(ctx, w.poll) {
		err := w.lookOnce(ctx)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && !errors.Is(err, client.ErrUnavailable):
			return err
		case (err != nil) != failing:
			failing = !failing
			w.noteLost(err)
		}
		if w.finished() {
			return nil
		}
	}
}

func (w *waiter) lookOnce(ctx context.Context) error {
	for _, t := range w.targets {
		if t.end != nil {
			continue
		}
		job, err := w.client.GetJob(ctx, t.job.Metadata.UID.String())
		switch {
		case err == nil:
			w.see(v1.JobWatchEvent{Type: v1.WatchModified, Object: &job})
		case errors.Is(err, client.ErrNotFound):
			w.finish(t, w.goal.gone())
		default:
			return err
		}
	}
	return nil
}

// see takes in one event of the watch.
func (w *waiter) see(event v1.JobWatchEvent) {
	for _, t := range w.targets {
		switch {
		case t.end != nil:
			continue
		case event.Type == v1.WatchSynced && !t.seen:
			w.finish(t, w.goal.gone()) // it went before the watch began
			continue
		case event.Object == nil || event.Object.Metadata.UID != t.job.Metadata.UID:
			continue
		}
		t.seen = true
		if event.Type == v1.WatchDeleted {
			w.finish(t, w.goal.gone())
			continue
		}
		t.job = *event.Object
		if end := w.goal.reached(t.job); end != nil {
			w.finish(t, *end)
		}
		w.showProgress()
	}
}

func (w *waiter) finish(t *target, end outcome) {
	t.end = &end
	if w.ended != nil {
		w.ended(t, end)
	}
	if w.show != nil {
		w.show.end(fmt.Sprintf("job/%s %s", printer.Safe(t.name), printer.Safe(end.text)))
	}
}

func (w *waiter) endAll(end outcome) {
	for _, t := range w.targets {
		if t.end == nil {
			w.finish(t, end)
		}
	}
}

func (w *waiter) finished() bool {
	for _, t := range w.targets {
		if t.end == nil {
			return false
		}
	}
	return true
}

// severity orders the exit codes, the worst first.
var severity = []int{ExitError, ExitFailed, ExitDeleted, ExitCancelled, ExitTimeout}

// verdict is the worst end.
func (w *waiter) verdict() error {
	for _, code := range severity {
		for _, t := range w.targets {
			if t.end.code != code {
				continue
			}
			if w.show != nil {
				return &exitError{code: code} // it was told
			}
			return &exitError{code: code, err: fmt.Errorf("job/%s %s", t.name, t.end.text)}
		}
	}
	return nil
}

func (w *waiter) showProgress() {
	if w.show != nil && !w.finished() {
		w.show.update(w.targets)
	}
}

func (w *waiter) closeDisplay() {
	if w.show != nil {
		w.show.Close()
	}
}

func (w *waiter) noteLost(err error) {
	if w.show == nil {
		return
	}
	if err == nil {
		w.show.Line("The coordinator answers again.")
		return
	}
	w.show.Line("Lost the coordinator, trying again: " + printer.SafeLines(err.Error()))
}
