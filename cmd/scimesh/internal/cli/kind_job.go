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

var jobKind = newKind(kind{
	singular: "job", plural: "jobs", short: []string{"j"}, apiKind: v1.KindJob,
	columns: []printer.Column{
		{Name: "NAME"}, {Name: "WORKLOAD"}, {Name: "PHASE"}, {Name: "TASKS"},
		{Name: "PRIORITY", Wide: true}, {Name: "FAILED", Wide: true}, {Name: "ROWS", Wide: true},
		{Name: "ENGINE", Wide: true}, {Name: "UID", Wide: true},
		{Name: "DURATION"}, {Name: "AGE"},
	},
	filters: []string{filterSelector, filterPhase, filterWorkload},
}, access[v1.Job]{
	name:  func(j v1.Job) string { return j.Metadata.Name },
	cells: jobCells,
	page: func(ctx context.Context, c *client.Client, f filter, limit int32, next *string) (v1.List[v1.Job], error) {
		p := jobParams(f)
		p.Limit, p.Continue = &limit, next
		return c.ListJobs(ctx, p)
	},
	get: func(ctx context.Context, c *client.Client, name string) (v1.Job, error) { return c.GetJob(ctx, name) },
})

// jobPhaseCell is where jobCells has the phase.
const jobPhaseCell = 2

// jobParams is a filter as the coordinator takes it.
func jobParams(f filter) wire.ListJobsParams {
	return wire.ListJobsParams{
		LabelSelector: textParam(f.selector), Workload: textParam(f.workload), Phase: phases[v1.JobPhase](f.phases),
	}
}

func jobCells(j v1.Job, now time.Time) []string {
	st := j.Status
	rows := ""
	if st.Result != nil {
		rows = fmt.Sprint(st.Result.Rows)
	}
	return []string{
		j.Metadata.Name, j.Spec.Workload, shownPhase(j), fmt.Sprintf("%d/%d", st.Tasks.Completed, st.Tasks.Total),
		fmt.Sprint(j.Spec.Priority), fmt.Sprint(st.Tasks.Failed), rows, st.Engine, j.Metadata.UID.String(),
		duration(st.StartedAt, st.CompletedAt, now), age(j.Metadata.CreationTimestamp, now),
	}
}

// shownPhase is the phase, or what keeps a Job from going through its phases.
func shownPhase(j v1.Job) string {
	switch {
	case j.Metadata.DeletionTimestamp != nil:
		return "deleting"
	case j.Status.Phase.Final():
	case j.Status.CancelRequested:
		return "cancelling"
	case j.Spec.Suspend:
		return "suspended"
	}
	return string(j.Status.Phase)
}

// duration is the time from start to end, or until now while there is no end.
func duration(start, end *v1.Time, now time.Time) string {
	switch {
	case start == nil:
		return ""
	case end == nil:
		return printer.Age(start.Time, now)
	}
	return printer.Age(start.Time, end.Time)
}

func age(t v1.Time, now time.Time) string { return printer.Age(t.Time, now) }

// textParam is a parameter that is left out where it is empty.
func textParam(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// phases are the values of a flag as the type of a parameter.
func phases[T ~string](values []string) []T {
	var out []T
	for _, v := range values {
		out = append(out, T(v))
	}
	return out
}
