package cli

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"
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
that goes away meanwhile is waited for; one that does not answer to begin with
is tried for half a minute.

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
