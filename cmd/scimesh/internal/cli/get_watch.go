package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"time"

	"scimesh.dev/scimesh/api/client"
	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/cmd/scimesh/internal/printer"
)

// follow prints the objects of one kind, and then each that changes.
func (o *getOptions) follow(ctx context.Context, c *client.Client) error {
	k := o.kinds[0]
	out := &changes{getOptions: o, stream: printer.Stream{Columns: k.columns, Wide: o.format.Wide(), Header: !o.noHeader}}
	var err error
	switch k {
	case jobKind:
		err = o.followJobs(ctx, c, out)
	case eventKind:
		err = o.followEvents(ctx, c, out)
	default:
		err = o.pollFor(ctx, c, k, out)
	}
	if ctx.Err() == nil {
		return err
	}
	return nil // Ctrl-C is how a watch ends
}

// followJobs watches at the coordinator.
func (o *getOptions) followJobs(ctx context.Context, c *client.Client, out *changes) error {
	f := &feed{session: o.session, client: c, params: jobParams(o.filter), lost: o.noteLost}
	var first []object
	synced := false
	for event, err := range f.events(ctx) {
		switch {
		case err != nil:
			return err
		case event.Type == v1.WatchSynced:
			synced = true
			if err := out.print(first); err != nil {
				return err
			}
		case !synced:
			first = append(first, jobObject(*event.Object, event.Type))
		default:
			if err := out.print([]object{jobObject(*event.Object, event.Type)}); err != nil {
				return err
			}
		}
	}
	return nil
}

// jobObject is a Job of an event. One that is gone is shown as deleted.
func jobObject(j v1.Job, event v1.WatchType) object {
	return object{kind: jobKind, name: j.Metadata.Name, value: j, cells: func(now time.Time) []string {
		cells := jobCells(j, now)
		if event == v1.WatchDeleted {
			cells[jobPhaseCell] = "deleted"
		}
		return cells
	}}
}

// noteLost tells that the connection is lost, and that it is back.
func (s *session) noteLost(err error) {
	if err == nil {
		s.note("The coordinator answers again.")
		return
	}
	s.note("Lost the coordinator, trying again: %s", printer.SafeLines(err.Error()))
}

// pollFor looks at the objects again and again.
func (o *getOptions) pollFor(ctx context.Context, c *client.Client, k *kind, out *changes) error {
	known := map[string][]byte{}
	failing := false
	for ctx.Err() == nil {
		var changed []object
		var err error
		for x, listErr := range k.list(ctx, c, o.filter) {
			if err = listErr; err != nil {
				break
			}
			now, marshalErr := json.Marshal(x.value)
			if marshalErr != nil {
				return marshalErr
			}
			key := identity(x)
			if !bytes.Equal(known[key], now) {
				known[key] = now
				changed = append(changed, x)
			}
		}
		switch {
		case err != nil && (!errors.Is(err, client.ErrUnavailable) || len(known) == 0):
			return err
		case (err != nil) != failing:
			failing = !failing
			o.noteLost(err)
		}
		if err := out.print(changed); err != nil {
			return err
		}
		sleep(ctx, o.poll)
	}
	return ctx.Err()
}

// identity tells objects apart: names of workers need not be unique.
func identity(x object) string {
	if w, ok := x.value.(v1.Worker); ok {
		return w.Metadata.UID.String()
	}
	return x.name
}

// changes prints objects in the format asked for, as they come.
type changes struct {
	*getOptions
	stream  printer.Stream
	printed bool
}

func (c *changes) print(objects []object) error {
	switch {
	case c.format.IsTable():
		return c.stream.Print(c.Out, c.rows(objects, false))
	case c.format.IsName():
		return printNames(c.Out, objects)
	}
	for _, x := range objects {
		if err := c.printNext(x); err != nil {
			return err
		}
	}
	return nil
}

// printNext prints an object apart from the one before.
func (c *changes) printNext(x object) error {
	separator := ""
	if c.printed {
		separator = c.format.Separator()
	}
	c.printed = true
	if _, err := io.WriteString(c.Out, separator); err != nil {
		return err
	}
	return c.printData(c.format, x.value)
}
