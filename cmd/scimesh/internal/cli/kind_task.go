package cli

import (
	"context"
	"fmt"
	"time"

	"scimesh.dev/scimesh/api/client"
	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/api/wire"
	"scimesh.dev/scimesh/cmd/scimesh/internal/printer"
)

var taskKind = newKind(kind{
	singular: "task", plural: "tasks", short: []string{"t"}, apiKind: v1.KindTask,
	columns: []printer.Column{
		{Name: "NAME"}, {Name: "PHASE"}, {Name: "ATTEMPT"}, {Name: "PROGRESS"}, {Name: "WORKER"},
		{Name: "FAILURES", Wide: true}, {Name: "LOST", Wide: true}, {Name: "RETRY-IN", Wide: true},
		{Name: "ERROR", Wide: true}, {Name: "UID", Wide: true},
		{Name: "DURATION"}, {Name: "AGE"},
	},
	filters: []string{filterJob, filterPhase, filterWorker},
}, access[v1.Task]{
	name:  func(t v1.Task) string { return t.Metadata.Name },
	cells: taskCells,
	page: func(ctx context.Context, c *client.Client, f filter, limit int32, next *string) (v1.List[v1.Task], error) {
		return c.ListTasks(ctx, wire.ListTasksParams{
			Job: textParam(f.job), Worker: f.workerID, Phase: phases[v1.TaskPhase](f.phases), Limit: &limit, Continue: next,
		})
	},
	get: func(ctx context.Context, c *client.Client, name string) (v1.Task, error) { return c.GetTask(ctx, name) },
})

func taskCells(t v1.Task, now time.Time) []string {
	st := t.Status
	worker := st.WorkerName
	if worker == "" && st.LeaseOwner != nil {
		worker = st.LeaseOwner.String()
	}
	return []string{
		t.Metadata.Name, string(st.Phase), fmt.Sprint(st.Attempt), taskProgress(t), worker,
		fmt.Sprint(st.Failures), fmt.Sprint(st.LostLeases), retryIn(t, now), st.ErrorCode, t.Metadata.UID.String(),
		taskDuration(st, now), age(t.Metadata.CreationTimestamp, now),
	}
}

// taskDuration is empty for a task that waits, even if it was begun before.
func taskDuration(st v1.TaskStatus, now time.Time) string {
	if st.Phase == v1.TaskPending {
		return ""
	}
	return duration(st.StartedAt, st.CompletedAt, now)
}

func taskProgress(t v1.Task) string {
	switch {
	case t.Status.Phase == v1.TaskCompleted:
		return "100%"
	case t.Status.Phase == v1.TaskRunning && t.Status.Progress != nil:
		return fmt.Sprintf("%.0f%%", 100**t.Status.Progress)
	}
	return ""
}

// retryIn is how long a task that failed waits yet.
func retryIn(t v1.Task, now time.Time) string {
	if t.Status.Phase != v1.TaskPending || t.Status.NotBefore == nil || !t.Status.NotBefore.After(now) {
		return ""
	}
	return printer.Duration(t.Status.NotBefore.Sub(now))
}
