package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"scimesh.dev/scimesh/api/client"
	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/api/wire"
	"scimesh.dev/scimesh/cmd/scimesh/internal/printer"
)

// eventsOptions are what `events` is told: a list of events.
type eventsOptions struct{ getOptions }

func newEvents(s *session) *cobra.Command {
	o := &eventsOptions{getOptions{session: s, kinds: []*kind{eventKind}}}
	cmd := &cobra.Command{
		Use:   "events [job/NAME | worker/NAME]",
		Short: "Show what happened to a job, a worker, or all of them",
		Long: `Show what happened to a job and its tasks, to a worker, or to all of them, oldest
first. With --watch, what happens later is shown too.`,
		Example: `  scimesh events job/gefitinib-neighbours
  scimesh events worker/lab-1
  scimesh events --watch`,
		ValidArgsFunction: s.completeRefs(jobKind, workerKind),
	}
	cmd.RunE = s.run(o)
	flags := cmd.Flags()
	flags.StringVarP(&o.output, "output", "o", "", printer.Formats)
	flags.BoolVar(&o.noHeader, "no-headers", false, "print no header")
	flags.BoolVarP(&o.watch, "watch", "w", false, "go on with what happens later")
	return cmd
}

// Complete reads the job or worker.
func (o *eventsOptions) Complete(args []string) error {
	if len(args) == 0 {
		return nil
	}
	refs, err := parseRefs(args, jobKind, workerKind)
	if err != nil {
		return err
	}
	if len(refs) > 1 {
		return errors.New("one job or worker at a time")
	}
	if refs[0].kind == jobKind {
		o.job = refs[0].name
	} else {
		o.worker = refs[0].name
	}
	return nil
}

// Validate checks the output.
func (o *eventsOptions) Validate() (err error) {
	o.format, err = printer.ParseFormat(o.output)
	return err
}

// followEvents prints the events there are, and then looks for those after
// the last one: at the page that held it, which is where later ones are.
func (o *getOptions) followEvents(ctx context.Context, c *client.Client, out *changes) error {
	tail := eventTail{client: c, params: wire.ListEventsParams{Job: textParam(o.job), Worker: o.workerID}}
	failing, begun := false, false
	for ctx.Err() == nil {
		events, err := tail.next(ctx)
		switch {
		case err != nil && (!errors.Is(err, client.ErrUnavailable) || !begun):
			return err
		case (err != nil) != failing:
			failing = !failing
			o.noteLost(err)
		}
		begun = true
		if err := out.print(eventObjects(events)); err != nil {
			return err
		}
		sleep(ctx, o.poll)
	}
	return ctx.Err()
}

func eventObjects(events []v1.Event) []object {
	objects := make([]object, len(events))
	for i, e := range events {
		objects[i] = object{kind: eventKind, name: fmt.Sprint(e.ID), value: e, cells: cellsOf(e, eventCells)}
	}
	return objects
}

// eventTail reads the events that it has not read yet.
type eventTail struct {
	client *client.Client
	params wire.ListEventsParams // Continue is the last page's
	last   int64                 // id
}

func (t *eventTail) next(ctx context.Context) ([]v1.Event, error) {
	var out []v1.Event
	limit := int32(pageSize)
	t.params.Limit = &limit
	for {
		page, err := t.client.ListEvents(ctx, t.params)
		if err != nil {
			return out, err
		}
		for _, e := range page.Items {
			if e.ID > t.last {
				t.last = e.ID
				out = append(out, e)
			}
		}
		if page.Metadata.Continue == "" {
			return out, nil
		}
		t.params.Continue = &page.Metadata.Continue
	}
}
