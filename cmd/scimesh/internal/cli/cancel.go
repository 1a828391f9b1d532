package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"scimesh.dev/scimesh/api/client"
	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/cmd/scimesh/internal/printer"
)

// cancelOptions are what `cancel` is told.
type cancelOptions struct {
	*session
	selection
	wait    bool
	timeout time.Duration
}

func newCancel(s *session) *cobra.Command {
	o := &cancelOptions{session: s}
	cmd := &cobra.Command{
		Use:   "cancel job/NAME...",
		Short: "Cancel jobs that have not ended",
		Long: `Cancel jobs that have not ended. Their workers stop with the next sign of life.
Cancelling a cancelled job again is no error; one that has completed or failed is.
With --all and -l, jobs that have ended are left out.`,
		Example: `  scimesh cancel job/gefitinib-neighbours
  scimesh cancel -l target=EGFR --wait`,
		ValidArgsFunction: s.completeRefs(jobKind),
	}
	cmd.RunE = s.run(o)
	o.addFlags(cmd.Flags())
	cmd.Flags().BoolVar(&o.wait, "wait", false, "wait until the jobs have ended")
	cmd.Flags().DurationVar(&o.timeout, "timeout", 0, "wait at most so long; 0 is forever")
	return cmd
}

// Run asks for each job.
func (o *cancelOptions) Run(ctx context.Context) error {
	c, err := o.connect()
	if err != nil {
		return err
	}
	refs, err := o.jobs(ctx, o.session, c)
	if err != nil {
		return err
	}
	var errs []error
	var asked []v1.Job
	for _, r := range refs {
		job, err := c.CancelJob(ctx, r.name)
		switch {
		case err == nil:
			asked = append(asked, job)
			fmt.Fprintf(o.Out, "job/%s %s\n", printer.Safe(job.Metadata.Name), shownPhase(job))
		case !answered(err):
			return errors.Join(append(errs, o.explain(err))...)
		case o.byList() && errors.Is(err, client.ErrConflict): // it has ended
		default:
			errs = append(errs, o.explain(err))
		}
	}
	if o.wait {
		errs = append(errs, o.waitForEnd(ctx, c, asked))
	}
	return errors.Join(errs...)
}

// waitForEnd waits until the jobs have ended, as cancelled or otherwise.
func (o *cancelOptions) waitForEnd(ctx context.Context, c *client.Client, asked []v1.Job) error {
	w := &waiter{session: o.session, client: c, timeout: o.timeout}
	err := w.waitFor(ctx, asked)
	var exit *exitError
	if errors.As(err, &exit) && exit.code != ExitError && exit.code != ExitTimeout {
		return nil // it has ended
	}
	return err
}

// byList reports whether nobody named the jobs one by one.
func (x *selection) byList() bool { return x.all || x.selector != "" }
