package cli

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"scimesh.dev/scimesh/api/client"
	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/cmd/scimesh/internal/printer"
)

// whyOptions are what `why` is told.
type whyOptions struct {
	*session
	output string

	ref    ref
	format printer.Format
}

func newWhy(s *session) *cobra.Command {
	o := &whyOptions{session: s}
	cmd := &cobra.Command{
		Use:   "why job/NAME | task/NAME",
		Short: "Say why a job or a task is not running",
		Long: `Say why a job, or tasks of it, are not running: suspended, no worker that has the
workload, all of them busy, parallelism reached, waiting before another attempt.
The reasons are a fixed list, which the API gives too, the weightiest first.`,
		Example: `  scimesh why job/gefitinib-neighbours
  scimesh why task/gefitinib-neighbours-3 -o json`,
		ValidArgsFunction: s.completeRefs(jobKind, taskKind),
	}
	cmd.RunE = s.run(o)
	cmd.Flags().StringVarP(&o.output, "output", "o", "", "json|yaml|jsonpath=TEMPLATE")
	return cmd
}

// Complete reads the job or task.
func (o *whyOptions) Complete(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("one job or task is wanted, not %d", len(args))
	}
	refs, err := parseRefs(args, jobKind, taskKind)
	if err == nil {
		o.ref = refs[0]
	}
	return err
}

// Validate checks the output.
func (o *whyOptions) Validate() (err error) {
	if o.format, err = printer.ParseFormat(o.output); err == nil && (o.format.Wide() || o.format.IsName()) {
		err = fmt.Errorf("--output %q: want json|yaml|jsonpath=TEMPLATE", o.output)
	}
	return err
}

// Run asks and prints.
func (o *whyOptions) Run(ctx context.Context) error {
	c, err := o.connect()
	if err != nil {
		return err
	}
	var list v1.List[v1.WhyEntry]
	var hindered string
	if o.ref.kind == jobKind {
		list, hindered, err = o.job(ctx, c)
	} else {
		list, hindered, err = o.task(ctx, c)
	}
	switch {
	case err != nil:
		return err
	case !o.format.IsTable():
		return o.printData(o.format, list)
	case len(list.Items) == 0:
		_, err := fmt.Fprintln(o.Out, printer.Safe(hindered))
		return err
	}
	return whyTable(list.Items, o.now()).Print(o.Out, false, true)
}

// job asks the coordinator. The text is for a job that nothing hinders.
func (o *whyOptions) job(ctx context.Context, c *client.Client) (v1.List[v1.WhyEntry], string, error) {
	list, err := c.WhyJob(ctx, o.ref.name)
	if err != nil || len(list.Items) > 0 {
		return list, "", err
	}
	job, err := c.GetJob(ctx, o.ref.name)
	t := job.Status.Tasks
	return list, fmt.Sprintf("Nothing is in the way of job/%s: it is %s, with %d tasks pending, %d running and %d completed of %d.",
		job.Metadata.Name, job.Status.Phase, t.Pending, t.Leased+t.Running, t.Completed, t.Total), err
}

// task looks at the task itself, and at its job if it is ready to be claimed.
func (o *whyOptions) task(ctx context.Context, c *client.Client) (v1.List[v1.WhyEntry], string, error) {
	task, err := c.GetTask(ctx, o.ref.name)
	if err != nil {
		return v1.List[v1.WhyEntry]{}, "", err
	}
	list := v1.NewList("WhyEntry", whyTask(task, o.now()), "")
	list.Kind = "WhyList"
	st := task.Status
	switch {
	case len(list.Items) > 0:
		return list, "", nil
	case st.Phase != v1.TaskPending:
		return list, fmt.Sprintf("Nothing is in the way of task/%s: it is %s, attempt %d, on worker %s.", task.Metadata.Name, st.Phase, st.Attempt, st.WorkerName), nil
	}
	list, err = c.WhyJob(ctx, task.Spec.Job)
	list.Items = slices.DeleteFunc(list.Items, func(e v1.WhyEntry) bool { return e.Reason == v1.WhyWaitingForRetry }) // other tasks do
	return list, fmt.Sprintf("Nothing is in the way of task/%s: it is pending, and the next free worker takes it.", task.Metadata.Name), err
}

// whyTask are the reasons of the task alone.
func whyTask(task v1.Task, now time.Time) []v1.WhyEntry {
	st := task.Status
	switch {
	case st.Phase == v1.TaskFailed:
		return []v1.WhyEntry{{Reason: v1.WhyEnded, Message: fmt.Sprintf("the task failed: %s: %s", st.ErrorCode, st.ErrorMessage)}}
	case st.Phase.Final():
		return []v1.WhyEntry{{Reason: v1.WhyEnded, Message: fmt.Sprintf("the task is %s", st.Phase)}}
	case st.Phase == v1.TaskPending && st.NotBefore != nil && st.NotBefore.After(now):
		return []v1.WhyEntry{{Reason: v1.WhyWaitingForRetry, Tasks: 1, Until: st.NotBefore,
			Message: fmt.Sprintf("attempt %d failed: %s: %s", st.Attempt, st.ErrorCode, st.ErrorMessage)}}
	}
	return nil
}

func whyTable(entries []v1.WhyEntry, now time.Time) printer.Table {
	t := printer.Table{Columns: []printer.Column{{Name: "REASON"}, {Name: "TASKS"}, {Name: "FOR"}, {Name: "MESSAGE"}}}
	for _, e := range entries {
		tasks, until := "", ""
		if e.Tasks > 0 {
			tasks = fmt.Sprint(e.Tasks)
		}
		if e.Until != nil {
			until = printer.Duration(max(0, e.Until.Sub(now)))
		}
		t.Rows = append(t.Rows, []string{string(e.Reason), tasks, until, e.Message})
	}
	return t
}
