package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"scimesh.dev/scimesh/api/client"
	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/api/wire"
	"scimesh.dev/scimesh/cmd/scimesh/internal/printer"
)

var workerKind = newKind(kind{
	singular: "worker", plural: "workers", short: []string{"w"}, apiKind: v1.KindWorker,
	columns: []printer.Column{
		{Name: "NAME"}, {Name: "PHASE"}, {Name: "TASKS"}, {Name: "WORKLOADS"},
		{Name: "CPUS", Wide: true}, {Name: "MEMORY", Wide: true}, {Name: "FAILURES", Wide: true},
		{Name: "ENGINE", Wide: true}, {Name: "UID", Wide: true},
		{Name: "SEEN"}, {Name: "AGE"},
	},
	filters: []string{filterPhase},
}, access[v1.Worker]{
	name:  func(w v1.Worker) string { return w.Metadata.Name },
	cells: workerCells,
	page: func(ctx context.Context, c *client.Client, f filter, limit int32, next *string) (v1.List[v1.Worker], error) {
		return c.ListWorkers(ctx, wire.ListWorkersParams{Phase: phases[v1.WorkerPhase](f.phases), Limit: &limit, Continue: next})
	},
	get: findWorker,
})

func workerCells(w v1.Worker, now time.Time) []string {
	st := w.Status
	phase := string(st.Phase)
	if quarantined(w, now) && st.Phase != v1.WorkerOffline {
		phase = "quarantined"
	}
	seen := ""
	if st.LastHeartbeatAt != nil {
		seen = age(*st.LastHeartbeatAt, now)
	}
	return []string{
		w.Metadata.Name, phase, fmt.Sprint(st.ActiveTasks), strings.Join(w.Spec.Capabilities, ","),
		fmt.Sprint(w.Spec.CPUCount), printer.Bytes(w.Spec.MemoryMB << 20), fmt.Sprint(st.ConsecutiveFailures),
		w.Spec.Engine, w.Metadata.UID.String(),
		seen, age(w.Metadata.CreationTimestamp, now),
	}
}

func quarantined(w v1.Worker, now time.Time) bool {
	return w.Status.QuarantinedUntil != nil && w.Status.QuarantinedUntil.After(now)
}

// findWorker returns the worker of that id, or the only one of that name:
// names of workers need not be unique.
func findWorker(ctx context.Context, c *client.Client, name string) (v1.Worker, error) {
	if id, err := uuid.Parse(name); err == nil {
		return c.GetWorker(ctx, id)
	}
	var found []v1.Worker
	limit := int32(pageSize)
	for w, err := range client.All(func(next *string) (v1.List[v1.Worker], error) {
		return c.ListWorkers(ctx, wire.ListWorkersParams{Limit: &limit, Continue: next})
	}) {
		if err != nil {
			return v1.Worker{}, err
		}
		if w.Metadata.Name == name {
			found = append(found, w)
		}
	}
	switch len(found) {
	case 0:
		return v1.Worker{}, fmt.Errorf("worker %s %w", name, client.ErrNotFound)
	case 1:
		return found[0], nil
	}
	ids := make([]string, len(found))
	for i, w := range found {
		ids[i] = w.Metadata.UID.String()
	}
	return v1.Worker{}, fmt.Errorf("%d workers have the name %s; name one by its id: %s", len(found), name, strings.Join(ids, ", "))
}
