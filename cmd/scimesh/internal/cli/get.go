package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"scimesh.dev/scimesh/api/client"
	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/cmd/scimesh/internal/printer"
)

// getOptions are what `get` is told.
type getOptions struct {
	*session
	filter
	output   string
	noHeader bool
	watch    bool

	flags  *pflag.FlagSet
	format printer.Format
	kinds  []*kind // to list
	refs   []ref   // to get; then kinds is empty
}

func newGet(s *session) *cobra.Command {
	o := &getOptions{session: s}
	cmd := &cobra.Command{
		Use:   "get KIND [NAME...] | KIND/NAME...",
		Short: "List jobs, tasks, workers, artifacts, workloads, controllers, events",
		Long: `List objects, or show those that are named, in tables or as data.

Kinds have a singular, a plural and a short form: jobs (j), tasks (t), workers (w),
artifacts (a), workloads (wl), controllers (c), events (ev). Several kinds are
separated by commas. With --watch the changes that follow are shown too.`,
		Example: `  scimesh get jobs
  scimesh get jobs -l target=EGFR --phase running
  scimesh get tasks --job gefitinib-neighbours -o wide
  scimesh get job/gefitinib-neighbours -o jsonpath='{.status.result.sha256}'
  scimesh get jobs,workers
  scimesh get jobs --watch`,
		ValidArgsFunction: o.completeNames,
	}
	cmd.RunE = s.run(o)
	o.flags = cmd.Flags()
	o.addFlags()
	return cmd
}

func (o *getOptions) addFlags() {
	o.flags.StringVarP(&o.output, "output", "o", "", printer.Formats)
	o.flags.BoolVar(&o.noHeader, "no-headers", false, "print no header")
	o.flags.BoolVarP(&o.watch, "watch", "w", false, "go on with the changes that follow")
	o.flags.IntVar(&o.limit, "limit", 0, "show at most so many; 0 shows all")
	o.flags.StringVar(&o.job, filterJob, "", "of this job (tasks, artifacts, events)")
	o.flags.StringVar(&o.worker, filterWorker, "", "of this worker, by name or id (tasks, events)")
	o.flags.StringVar(&o.workload, filterWorkload, "", "of this workload (jobs)")
	o.flags.StringVarP(&o.selector, filterSelector, "l", "", "with these labels, such as target=EGFR,stage!=test (jobs)")
	o.flags.StringSliceVar(&o.phases, filterPhase, nil, "in one of these phases (jobs, tasks, workers)")
	o.flags.StringSliceVar(&o.filter.kinds, filterKind, nil, "of one of these kinds, such as final_result (artifacts)")
}

// Complete reads the kinds and names.
func (o *getOptions) Complete(args []string) (err error) {
	if len(args) == 0 {
		return errors.New("what is to be listed?")
	}
	if strings.Contains(args[0], "/") {
		for _, arg := range args {
			r, err := parseRef(arg, nil)
			if err != nil {
				return err
			}
			o.refs = append(o.refs, r)
		}
		return nil
	}
	for name := range strings.SplitSeq(args[0], ",") {
		k, err := findKind(name)
		if err != nil {
			return err
		}
		o.kinds = append(o.kinds, k)
	}
	if len(args) == 1 {
		return nil
	}
	if len(o.kinds) > 1 {
		return errors.New("names are of one kind; or write KIND/NAME for each")
	}
	o.refs, err = parseRefs(args[1:], o.kinds[0])
	o.kinds = nil
	return err
}

// Validate checks that the flags fit the kinds.
func (o *getOptions) Validate() (err error) {
	if o.format, err = printer.ParseFormat(o.output); err != nil {
		return err
	}
	if o.limit < 0 {
		return errors.New("--limit: must not be negative")
	}
	for _, r := range o.refs {
		if r.kind.get == nil {
			return fmt.Errorf("%s have no names; narrow the list by flags", r.kind.plural)
		}
	}
	if o.watch && (len(o.kinds) != 1 || o.limit > 0) {
		return errors.New("--watch: takes one kind, without names and --limit")
	}
	if _, err := v1.ParseSelector(o.selector); err != nil {
		return fmt.Errorf("--selector: %w", err)
	}
	for _, name := range []string{filterJob, filterWorker, filterWorkload, filterSelector, filterPhase, filterKind} {
		if !o.flags.Changed(name) {
			continue
		}
		if len(o.refs) > 0 {
			return fmt.Errorf("--%s: narrows a list and goes with no name", name)
		}
		for _, k := range o.kinds {
			if !slices.Contains(k.filters, name) {
				return fmt.Errorf("--%s: does not go with %s", name, k.plural)
			}
		}
	}
	return nil
}

// Run lists and prints.
func (o *getOptions) Run(ctx context.Context) error {
	c, err := o.connect()
	if err != nil {
		return err
	}
	if err := o.resolve(ctx, c); err != nil {
		return err
	}
	if o.watch {
		return o.follow(ctx, c)
	}
	objects, err := o.gather(ctx, c)
	if len(objects) == 0 && err != nil {
		return err
	}
	return errors.Join(o.print(objects), err)
}

// gather returns all objects wanted, and why some could not be had.
func (o *getOptions) gather(ctx context.Context, c *client.Client) ([]object, error) {
	var objects []object
	var errs []error
	for _, r := range o.refs {
		found, err := r.kind.get(ctx, c, r.name)
		if err != nil {
			if !errors.Is(err, client.ErrNotFound) {
				return nil, err
			}
			errs = append(errs, err)
			continue
		}
		objects = append(objects, found)
	}
	for _, k := range o.kinds {
		for found, err := range k.list(ctx, c, o.filter) {
			if err != nil {
				return nil, err
			}
			objects = append(objects, found)
		}
	}
	return objects, errors.Join(errs...)
}

func (o *getOptions) print(objects []object) error {
	switch {
	case o.format.IsTable() || o.format.IsName():
		if len(objects) == 0 {
			return o.printNone()
		}
		return o.printRows(objects)
	case len(o.refs) == 1 && len(objects) == 1:
		return o.printData(o.format, objects[0].value)
	}
	return o.printData(o.format, listOf(objects, o.kinds))
}

func (o *getOptions) printNone() error {
	names := make([]string, len(o.kinds))
	for i, k := range o.kinds {
		names[i] = k.plural
	}
	o.note("No %s found.", strings.Join(names, " or "))
	return nil
}

// printRows prints a table for each kind. Where there are several, names have their kind.
func (o *getOptions) printRows(objects []object) error {
	if o.format.IsName() {
		return printNames(o.Out, objects)
	}
	several := slices.ContainsFunc(objects, func(x object) bool { return x.kind != objects[0].kind })
	for start := 0; start < len(objects); {
		k := objects[start].kind
		end := start
		for end < len(objects) && objects[end].kind == k {
			end++
		}
		if start > 0 {
			fmt.Fprintln(o.Out)
		}
		table := printer.Table{Columns: k.columns, Rows: o.rows(objects[start:end], several)}
		if err := table.Print(o.Out, o.format.Wide(), !o.noHeader); err != nil {
			return err
		}
		start = end
	}
	return nil
}

func (o *getOptions) rows(objects []object, withKind bool) [][]string {
	now := o.now()
	rows := make([][]string, len(objects))
	for i, x := range objects {
		rows[i] = x.cells(now)
		if withKind && x.kind.columns[0].Name == "NAME" {
			rows[i][0] = x.kind.singular + "/" + x.name
		}
	}
	return rows
}

func printNames(w io.Writer, objects []object) error {
	for _, x := range objects {
		if _, err := fmt.Fprintf(w, "%s/%s\n", x.kind.singular, printer.Safe(x.name)); err != nil {
			return err
		}
	}
	return nil
}

// listOf is a list of the objects, of their kind if they are of one.
func listOf(objects []object, kinds []*kind) any {
	items := make([]any, len(objects))
	same := len(kinds) == 1
	for i, x := range objects {
		items[i] = x.value
	}
	list := v1.NewList("", items, "")
	if same {
		list.Kind = kinds[0].apiKind + v1.KindList
	}
	return list
}
