package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"scimesh.dev/scimesh/api/client"
	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/api/wire"
	"scimesh.dev/scimesh/cmd/scimesh/internal/printer"
)

var workloadKind = newKind(kind{
	singular: "workload", plural: "workloads", short: []string{"wl"}, apiKind: v1.KindWorkload,
	columns: []printer.Column{
		{Name: "NAME"}, {Name: "VERSION"}, {Name: "INPUTS", Wide: true}, {Name: "OUTPUTS", Wide: true}, {Name: "DESCRIPTION"},
	},
}, access[v1.Workload]{
	name: func(w v1.Workload) string { return w.Metadata.Name },
	cells: func(w v1.Workload, _ time.Time) []string {
		return []string{w.Metadata.Name, w.Spec.Version, strings.Join(w.Spec.Inputs, "; "), strings.Join(w.Spec.Outputs, "; "), w.Spec.Description}
	},
	page: func(ctx context.Context, c *client.Client, _ filter, _ int32, _ *string) (v1.List[v1.Workload], error) {
		return c.ListWorkloads(ctx)
	},
	get: func(ctx context.Context, c *client.Client, name string) (v1.Workload, error) {
		return c.GetWorkload(ctx, name)
	},
})

var controllerKind = newKind(kind{
	singular: "controller", plural: "controllers", short: []string{"c"}, apiKind: "Controller",
	columns: []printer.Column{
		{Name: "NAME"}, {Name: "QUEUE"}, {Name: "RUNNING"}, {Name: "RETRIES"}, {Name: "RECONCILES"}, {Name: "ERRORS"},
		{Name: "LAST-ERROR", Wide: true}, {Name: "ERROR-AGE"}, {Name: "SUCCESS-AGE"},
	},
}, access[v1.ControllerStatus]{
	name:  func(s v1.ControllerStatus) string { return s.Name },
	cells: controllerCells,
	page: func(ctx context.Context, c *client.Client, _ filter, _ int32, _ *string) (v1.List[v1.ControllerStatus], error) {
		return c.ListControllers(ctx)
	},
	get: func(ctx context.Context, c *client.Client, name string) (v1.ControllerStatus, error) {
		all, err := c.ListControllers(ctx)
		if err != nil {
			return v1.ControllerStatus{}, err
		}
		for _, s := range all.Items {
			if s.Name == name {
				return s, nil
			}
		}
		return v1.ControllerStatus{}, fmt.Errorf("controller %s %w", name, client.ErrNotFound)
	},
})

func controllerCells(s v1.ControllerStatus, now time.Time) []string {
	return []string{
		s.Name, fmt.Sprint(s.QueueDepth), fmt.Sprint(s.InFlight), fmt.Sprint(s.Retries), fmt.Sprint(s.Reconciles), fmt.Sprint(s.Errors),
		s.LastError, optionalAge(s.LastErrorAt, now), optionalAge(s.LastSuccessAt, now),
	}
}

func optionalAge(t *v1.Time, now time.Time) string {
	if t == nil {
		return ""
	}
	return age(*t, now)
}

// eventKind is printed as kubectl does: the time first, the sentence last.
var eventKind = newKind(kind{
	singular: "event", plural: "events", short: []string{"ev"}, apiKind: v1.KindEvent,
	columns: []printer.Column{
		{Name: "AGE"}, {Name: "TYPE"}, {Name: "REASON"}, {Name: "OBJECT"}, {Name: "TASK", Wide: true}, {Name: "WORKER", Wide: true}, {Name: "MESSAGE"},
	},
	filters: []string{filterJob, filterWorker},
}, access[v1.Event]{
	name:  func(e v1.Event) string { return fmt.Sprint(e.ID) },
	cells: eventCells,
	page: func(ctx context.Context, c *client.Client, f filter, limit int32, next *string) (v1.List[v1.Event], error) {
		return c.ListEvents(ctx, wire.ListEventsParams{Job: textParam(f.job), Worker: f.workerID, Limit: &limit, Continue: next})
	},
})

func eventCells(e v1.Event, now time.Time) []string {
	task, worker := "", ""
	if e.Task != nil {
		task = e.Task.String()
	}
	if e.Worker != nil {
		worker = e.Worker.String()
	}
	subject := ""
	switch {
	case e.Job != "":
		subject = "job/" + e.Job
	case worker != "":
		subject = "worker/" + worker
	}
	return []string{age(e.CreatedAt, now), string(e.Type), e.Reason, subject, task, worker, e.Message}
}
