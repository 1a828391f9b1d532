package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"scimesh.dev/scimesh/api/client"
	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/api/wire"
	"scimesh.dev/scimesh/cmd/scimesh/internal/printer"
)

// waitOptions are what `wait` is told.
type waitOptions struct {
	*session
	until   string
	timeout time.Duration
	quiet   bool

	refs []ref
	goal goal
}

func newWait(s *session) *cobra.Command {
	o := &waitOptions{session: s}
	cmd := &cobra.Command{
		Use:   "wait job/NAME...",
		Short: "Wait until jobs have ended, showing their progress",
		Long: `Wait until jobs have ended, however they end, or until --for holds. A coordinator
that goes away meanwhile is waited for.

The exit code tells the end: 0 completed, 4 failed, 5 cancelled, 6 timeout, 7 deleted;
1 is an error, 2 a wrong call. With several jobs it is that of the worst end:
error, failed, deleted, cancelled, timeout, completed, in this order.

--for=phase=PHASE is reached too by a job that is past that phase. A job that
ends without reaching --for gives the code of its end, or 1 if it completed.`,
		Example: `  scimesh wait job/gefitinib-neighbours
  scimesh wait job/a job/b --timeout 2h
  scimesh wait job/a --for=phase=running
  scimesh wait job/a --for=condition=Planned
  scimesh wait job/a --for=delete --timeout 1m`,
		ValidArgsFunction: s.completeRefs(jobKind),
	}
	cmd.RunE = s.run(o)
	flags := cmd.Flags()
	flags.StringVar(&o.until, "for", "end", "end, delete, phase=PHASE, or condition=TYPE[=STATUS]")
	flags.DurationVar(&o.timeout, "timeout", 0, "give up after this time, such as 90s or 2h; 0 waits forever")
	flags.BoolVarP(&o.quiet, "quiet", "q", false, "show no progress")
	return cmd
}

// Complete reads the jobs and the goal.
func (o *waitOptions) Complete(args []string) (err error) {
	if o.refs, err = parseRefs(args, jobKind); err != nil {
		return err
	}
	o.goal, err = parseGoal(o.until)
	return err
}

// Validate checks them.
func (o *waitOptions) Validate() error {
	switch {
	case len(o.refs) == 0:
		return errors.New("which job is to be waited for?")
	case o.timeout < 0:
		return errors.New("--timeout: must not be negative")
	}
	return nil
}

// Run waits and tells the end by its exit code.
func (o *waitOptions) Run(ctx context.Context) error {
	c, err := o.connect()
	if err != nil {
		return err
	}
	w := &waiter{session: o.session, client: c, goal: o.goal, timeout: o.timeout}
	if !o.quiet {
		w.show = newJobDisplay(o.session)
	}
	return w.wait(ctx, o.refs)
}

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
		job, err := w.client.GetJob(ctx, t.name)
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
	f := &feed{session: w.session, client: w.client, params: wire.ListJobsParams{Name: &uid}, lost: w.noteLost}
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
