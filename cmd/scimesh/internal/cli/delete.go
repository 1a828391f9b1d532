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

// deleteOptions are what `delete` is told.
type deleteOptions struct {
	*session
	selection
	ignoreNotFound bool
	wait           bool
	timeout        time.Duration
}

func newDelete(s *session) *cobra.Command {
	o := &deleteOptions{session: s}
	cmd := &cobra.Command{
		Use:   "delete job/NAME...",
		Short: "Delete jobs with their tasks and results",
		Long: `Delete jobs with their tasks, logs and results. A job that has not ended is
cancelled first. The coordinator deletes in the background: until it is done the
job shows as deleting, and its name is taken. --wait waits for that.`,
		Example: `  scimesh delete job/gefitinib-neighbours --wait
  scimesh delete -f job.yaml --ignore-not-found
  scimesh delete -l stage=test`,
		ValidArgsFunction: s.completeRefs(jobKind),
	}
	cmd.RunE = s.run(o)
	o.addFlags(cmd.Flags())
	cmd.Flags().BoolVar(&o.ignoreNotFound, "ignore-not-found", false, "a job that does not exist is no error")
	cmd.Flags().BoolVar(&o.wait, "wait", false, "wait until the jobs are gone")
	cmd.Flags().DurationVar(&o.timeout, "timeout", 0, "wait at most so long; 0 is forever")
	return cmd
}

// Run asks for each job.
func (o *deleteOptions) Run(ctx context.Context) error {
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
		job, err := c.DeleteJob(ctx, r.name)
		switch {
		case err == nil:
			asked = append(asked, job)
			fmt.Fprintf(o.Out, "job/%s deleting\n", printer.Safe(job.Metadata.Name))
		case !answered(err):
			return errors.Join(append(errs, o.explain(err))...)
		case errors.Is(err, client.ErrNotFound) && (o.ignoreNotFound || o.byList()):
		default:
			errs = append(errs, o.explain(err))
		}
	}
	if o.wait {
		errs = append(errs, o.waitUntilGone(ctx, c, asked))
	}
	return errors.Join(errs...)
}

func (o *deleteOptions) waitUntilGone(ctx context.Context, c *client.Client, asked []v1.Job) error {
	w := &waiter{session: o.session, client: c, goal: goal{deleted: true}, timeout: o.timeout, ended: func(t *target, end outcome) {
		if end.code == ExitOK {
			fmt.Fprintf(o.Out, "job/%s deleted\n", printer.Safe(t.name))
		}
	}}
	return w.waitFor(ctx, asked)
}
