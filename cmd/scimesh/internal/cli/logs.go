package cli

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"scimesh.dev/scimesh/api/client"
	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/api/wire"
)

// logsOptions are what `logs` is told.
type logsOptions struct {
	*session
	follow  bool
	attempt int32
	tail    int
	prefix  bool

	ref ref
}

func newLogs(s *session) *cobra.Command {
	o := &logsOptions{session: s}
	cmd := &cobra.Command{
		Use:   "logs task/NAME | job/NAME",
		Short: "Print the log of a task, or of all tasks of a job",
		Long: `Print the log of a task's latest attempt, or of the one that --attempt names. Of a
job, the logs of all tasks that have begun are printed by chunk index, each line
under the name of its task.

With -f the log is followed to its end, over later attempts too; a connection
that breaks is taken up where it broke. If that cannot be done, the exit code is 1.`,
		Example: `  scimesh logs task/gefitinib-neighbours-3
  scimesh logs job/gefitinib-neighbours -f
  scimesh logs task/gefitinib-neighbours-3 --attempt 1 --tail 20`,
		ValidArgsFunction: s.completeRefs(taskKind, jobKind),
	}
	cmd.RunE = s.run(o)
	flags := cmd.Flags()
	flags.BoolVarP(&o.follow, "follow", "f", false, "go on with what is written later")
	flags.Int32Var(&o.attempt, "attempt", 0, "the attempt (default: the latest)")
	flags.IntVar(&o.tail, "tail", -1, "the last so many lines of each log (default: all)")
	flags.BoolVar(&o.prefix, "prefix", false, "put the task's name before each line; always so for a job")
	return cmd
}

// Complete reads the task or job.
func (o *logsOptions) Complete(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("one task or job is wanted, not %d", len(args))
	}
	refs, err := parseRefs(args, taskKind, jobKind)
	if err == nil {
		o.ref = refs[0]
	}
	return err
}

// Validate checks the flags.
func (o *logsOptions) Validate() error {
	switch {
	case o.attempt < 0:
		return errors.New("--attempt: counts from 1")
	case o.attempt > 0 && o.ref.kind == jobKind:
		return errors.New("--attempt: goes with a task")
	case o.tail < -1:
		return errors.New("--tail: must not be negative")
	case o.tail >= 0 && o.follow:
		return errors.New("--tail: does not go with --follow")
	}
	return nil
}

// Run prints.
func (o *logsOptions) Run(ctx context.Context) error {
	c, err := o.connect()
	if err != nil {
		return err
	}
	out := &logPrinter{out: o.Out}
	if o.ref.kind == taskKind {
		task, err := c.GetTask(ctx, o.ref.name)
		if err != nil {
			return err
		}
		if task.Status.Attempt == 0 && !o.follow {
			return fmt.Errorf("task %s has not begun: it is %s", task.Metadata.Name, task.Status.Phase)
		}
		return o.reader(c, out, task).read(ctx)
	}
	if !o.follow {
		return o.printJob(ctx, c, out)
	}
	return o.followJob(ctx, c, out)
}

// reader reads the log of a task.
func (o *logsOptions) reader(c *client.Client, out *logPrinter, task v1.Task) *logReader {
	r := &logReader{session: o.session, client: c, out: out, task: task, attempt: o.attempt, follow: o.follow, tail: o.tail}
	if o.prefix || o.ref.kind == jobKind {
		r.prefix = task.Metadata.Name
	}
	return r
}

// printJob prints the logs of a job's tasks, one after another.
func (o *logsOptions) printJob(ctx context.Context, c *client.Client, out *logPrinter) error {
	begun := 0
	for task, err := range jobTasks(ctx, c, o.ref.name) {
		if err != nil {
			return err
		}
		if task.Status.Attempt == 0 {
			continue
		}
		begun++
		if err := o.reader(c, out, task).read(ctx); err != nil {
			return err
		}
	}
	if begun == 0 {
		o.note("No task of job/%s has begun.", o.ref.name)
	}
	return nil
}

// maxFollowed is how many logs are followed at once.
const maxFollowed = 64

// followJob follows each task from its beginning until the job has ended.
func (o *logsOptions) followJob(ctx context.Context, c *client.Client, out *logPrinter) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var readers sync.WaitGroup
	defer readers.Wait()
	free := make(chan struct{}, maxFollowed)
	followed := map[uuid.UUID]bool{}
	for {
		job, err := c.GetJob(ctx, o.ref.name) // before its tasks: none begins once it has ended
		if err != nil {
			return cmpCause(ctx, err)
		}
		for task, err := range jobTasks(ctx, c, job.Metadata.UID.String()) {
			if err != nil {
				return cmpCause(ctx, err)
			}
			if task.Status.Attempt == 0 || followed[task.Metadata.UID] {
				continue
			}
			followed[task.Metadata.UID] = true
			free <- struct{}{}
			readers.Go(func() {
				defer func() { <-free }()
				if err := o.reader(c, out, task).read(ctx); err != nil {
					cancel(err)
				}
			})
		}
		if job.Status.Phase.Final() {
			readers.Wait()
			return cmpCause(ctx, nil)
		}
		sleep(ctx, o.poll)
	}
}

// cmpCause is why ctx ended, if it did, and else err.
func cmpCause(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// jobTasks yields the tasks of a job by chunk index.
func jobTasks(ctx context.Context, c *client.Client, job string) func(func(v1.Task, error) bool) {
	limit := int32(pageSize)
	return client.All(func(next *string) (v1.List[v1.Task], error) {
		return c.ListJobTasks(ctx, job, wire.ListJobTasksParams{Limit: &limit, Continue: next})
	})
}
