package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"scimesh.dev/scimesh/api/client"
	"scimesh.dev/scimesh/cmd/scimesh/internal/printer"
)

func (o *describeOptions) describeWorker(ctx context.Context, c *client.Client, name string) (*printer.Description, error) {
	w, err := findWorker(ctx, c, name)
	if err != nil {
		return nil, err
	}
	d, now := &printer.Description{}, o.now()
	d.Field("Name", w.Metadata.Name)
	d.Field("UID", w.Metadata.UID.String())
	d.Field("Phase", workerCells(w, now)[1])
	d.Field("Registered", instant(&w.Metadata.CreationTimestamp, now))
	d.Field("Last seen", instant(w.Status.LastHeartbeatAt, now))
	d.Field("Workloads", strings.Join(w.Spec.Capabilities, ", "))
	d.Field("Engine", w.Spec.Engine)
	d.Field("Machine", fmt.Sprintf("%d CPUs, %s", w.Spec.CPUCount, printer.Bytes(w.Spec.MemoryMB<<20)))
	d.Field("Tasks", fmt.Sprint(w.Status.ActiveTasks))
	d.Field("Failures", fmt.Sprintf("%d tasks in a row", w.Status.ConsecutiveFailures))
	if quarantined(w, now) {
		d.Field("Quarantine", "until "+instant(w.Status.QuarantinedUntil, now))
	}
	f := filter{workerID: &w.Metadata.UID}
	tasks := printer.Table{Columns: taskKind.columns}
	for task, err := range taskKind.list(ctx, c, f) {
		if err != nil {
			return nil, err
		}
		tasks.Rows = append(tasks.Rows, task.cells(now))
	}
	err = errors.Join(
		d.Table("Conditions", conditionTable(w.Status.Conditions, now)),
		d.Table("Tasks that it holds", tasks),
	)
	if err != nil {
		return nil, err
	}
	return d, o.addEvents(ctx, c, d, f)
}
