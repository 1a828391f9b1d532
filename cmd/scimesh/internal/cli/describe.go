package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"scimesh.dev/scimesh/api/client"
	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/cmd/scimesh/internal/printer"
)

// describeOptions are what `describe` is told.
type describeOptions struct {
	*session
	refs []ref
}

func newDescribe(s *session) *cobra.Command {
	o := &describeOptions{session: s}
	cmd := &cobra.Command{
		Use:   "describe job/NAME | task/NAME | worker/NAME...",
		Short: "Tell all about a job, a task or a worker",
		Long: `Tell all about jobs, tasks or workers: conditions, tasks by state, attempts with
their errors, the ledger of rows, events, throughput, time left, and why what does
not run does not.`,
		Example: `  scimesh describe job/gefitinib-neighbours
  scimesh describe task/gefitinib-neighbours-3
  scimesh describe worker lab-1`,
		ValidArgsFunction: s.completeRefs(jobKind, taskKind, workerKind),
	}
	cmd.RunE = s.run(o)
	return cmd
}

// Complete reads KIND/NAME..., or KIND NAME...
func (o *describeOptions) Complete(args []string) (err error) {
	first := jobKind
	if len(args) > 1 && !strings.Contains(args[0], "/") {
		if first, err = findKind(args[0]); err != nil {
			return err
		}
		args = args[1:]
	}
	wanted := []*kind{first}
	for _, k := range []*kind{jobKind, taskKind, workerKind} {
		if k != first {
			wanted = append(wanted, k)
		}
	}
	o.refs, err = parseRefs(args, wanted...)
	return err
}

// Validate checks that there is something to tell.
func (o *describeOptions) Validate() error {
	if len(o.refs) == 0 {
		return errors.New("what is to be described?")
	}
	for _, r := range o.refs {
		if !slices.Contains([]*kind{jobKind, taskKind, workerKind}, r.kind) {
			return fmt.Errorf("%s: there is no more to tell of %s than get -o yaml does", r, r.kind.plural)
		}
	}
	return nil
}

// Run tells of each.
func (o *describeOptions) Run(ctx context.Context) error {
	c, err := o.connect()
	if err != nil {
		return err
	}
	var errs []error
	for i, r := range o.refs {
		d, err := o.describe(ctx, c, r)
		if err != nil {
			errs = append(errs, o.explain(err))
			if !answered(err) {
				break
			}
			continue
		}
		if i > 0 {
			fmt.Fprintln(o.Out)
		}
		if err := d.Print(o.Out); err != nil {
			return err
		}
	}
	return errors.Join(errs...)
}

func (o *describeOptions) describe(ctx context.Context, c *client.Client, r ref) (*printer.Description, error) {
	switch r.kind {
	case taskKind:
		return o.describeTask(ctx, c, r.name)
	case workerKind:
		return o.describeWorker(ctx, c, r.name)
	}
	return o.describeJob(ctx, c, r.name)
}

// instant prints a time and how long ago it was.
func instant(t *v1.Time, now time.Time) string {
	switch {
	case t == nil || t.IsZero():
		return ""
	case t.After(now):
		return fmt.Sprintf("%s (in %s)", t.UTC().Format(time.RFC3339), printer.Duration(t.Sub(now)))
	}
	return fmt.Sprintf("%s (%s ago)", t.UTC().Format(time.RFC3339), age(*t, now))
}

// pairs prints a map as a=1,b=2 in the order of its keys.
func pairs[V any](m map[string]V) string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, fmt.Sprintf("%s=%v", k, m[k]))
	}
	return strings.Join(out, ",")
}

func conditionTable(conditions []v1.Condition, now time.Time) printer.Table {
	t := printer.Table{Columns: []printer.Column{{Name: "TYPE"}, {Name: "STATUS"}, {Name: "REASON"}, {Name: "AGE"}, {Name: "MESSAGE"}}}
	for _, c := range conditions {
		t.Rows = append(t.Rows, []string{c.Type, string(c.Status), c.Reason, age(c.LastTransitionTime, now), c.Message})
	}
	return t
}

// lastEvents is how many events a description shows.
const lastEvents = 20

func (o *describeOptions) addEvents(ctx context.Context, c *client.Client, d *printer.Description, f filter) error {
	var rows [][]string
	total := 0
	for e, err := range eventKind.list(ctx, c, f) {
		if err != nil {
			return err
		}
		total++
		cells := e.cells(o.now())
		rows = append(rows, []string{cells[0], cells[1], cells[2], cells[len(cells)-1]})
		if len(rows) > lastEvents {
			rows = rows[1:]
		}
	}
	title := "Events"
	if total > len(rows) {
		title = fmt.Sprintf("Events (the last %d of %d)", len(rows), total)
	}
	return d.Table(title, printer.Table{Columns: []printer.Column{{Name: "AGE"}, {Name: "TYPE"}, {Name: "REASON"}, {Name: "MESSAGE"}}, Rows: rows})
}
