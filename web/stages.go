package web

import (
	"fmt"
	"time"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/store"
)

// stage is one step on the way of a Job from its input to its result.
type stage struct {
	Name string
	// State is done, active, failed, cancelled or waiting.
	State string
	// Detail says more, in a few words.
	Detail string
	// At is when the stage was over, or else when it began.
	At time.Time
	// Took is how long it lasted; 0 if that is not known.
	Took time.Duration
}

// stagesOf are the stages of a Job.
func stagesOf(j store.Job) []stage {
	planned := conditionTime(j, v1.JobConditionPlanned)
	if planned.IsZero() && j.Tasks.Total > 0 {
		planned = j.CreatedAt // the condition is not there, and the tasks are
	}
	reduced := conditionTime(j, v1.JobConditionReduced)
	stages := []stage{inputStage(j), planStage(j, planned), taskStage(j, planned, reduced), reduceStage(j, reduced), resultStage(j)}
	if j.Phase == v1.JobFailed || j.Phase == v1.JobCancelled {
		for i := range stages {
			if stages[i].State != "done" {
				stages[i].State, stages[i].At = string(j.Phase), j.CompletedAt
				break
			}
		}
		for i := range stages {
			if stages[i].State == "active" {
				stages[i].State = "waiting"
			}
		}
	}
	return stages
}

// conditionTime is when a condition became true; zero if it is not.
func conditionTime(j store.Job, kind string) time.Time {
	if c := v1.FindCondition(j.Conditions, kind); c != nil && c.Status == v1.ConditionTrue {
		return c.LastTransitionTime.Time
	}
	return time.Time{}
}

func inputStage(j store.Job) stage {
	s := stage{Name: "Input", State: "done", At: j.CreatedAt}
	switch {
	case j.Input != nil:
		s.Detail = byteSize(j.Input.SizeBytes)
	case len(j.Spec.Input.Chunks) > 0:
		s.Detail = plural(int64(len(j.Spec.Input.Chunks)), "chunk", "chunks")
	}
	return s
}

func planStage(j store.Job, planned time.Time) stage {
	s := stage{Name: "Planned", State: "waiting"}
	switch {
	case !planned.IsZero():
		s.State, s.At, s.Took = "done", planned, planned.Sub(j.CreatedAt)
		s.Detail = plural(j.Tasks.Total, "task", "tasks")
	case j.Phase == v1.JobPlanning:
		s.State, s.Detail = "active", "cutting the input"
	case j.Phase == v1.JobCreated:
		s.State, s.Detail = "active", "waiting for a planner"
	}
	return s
}

func taskStage(j store.Job, planned, reduced time.Time) stage {
	s := stage{Name: "Tasks", State: "waiting"}
	if planned.IsZero() {
		return s
	}
	s.Detail = fmt.Sprintf("%s of %s done", count(j.Tasks.Completed), count(j.Tasks.Total))
	switch {
	case j.Tasks.Completed == j.Tasks.Total:
		s.State = "done"
		if !reduced.IsZero() {
			s.At, s.Took = reduced, reduced.Sub(planned)
		}
	case j.Phase == v1.JobRunning:
		s.State, s.At = "active", planned
	}
	return s
}

func reduceStage(j store.Job, reduced time.Time) stage {
	s := stage{Name: "Reduced", State: "waiting"}
	switch {
	case !reduced.IsZero():
		s.State, s.At = "done", reduced
	case j.Phase == v1.JobReducing:
		s.State, s.Detail = "active", "merging the results"
	}
	return s
}

func resultStage(j store.Job) stage {
	s := stage{Name: "Result", State: "waiting"}
	if j.Phase == v1.JobCompleted && j.Result != nil {
		s.State, s.At, s.Detail = "done", j.CompletedAt, plural(j.Result.Rows, "row", "rows")
	}
	return s
}
