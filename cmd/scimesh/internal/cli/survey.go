package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"scimesh.dev/scimesh/api/client"
	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/cmd/scimesh/internal/printer"
)

// survey is what a description of a job tells of its tasks.
type survey struct {
	running  []v1.Task
	troubled []v1.Task // with their attempts
	rows     int64     // of completed tasks
	seen     int
	all      bool // every task was looked at
}

// Bounds on a survey: a job may have a million tasks.
const (
	surveyTasks    = 10_000
	surveyRunning  = 20
	surveyTroubled = 20
)

// surveyTasks looks at the first tasks of a job.
func (o *describeOptions) surveyTasks(ctx context.Context, c *client.Client, job string) (survey, error) {
	s := survey{all: true}
	for task, err := range jobTasks(ctx, c, job) {
		if err != nil {
			return s, err
		}
		if s.seen++; s.seen > surveyTasks {
			s.seen, s.all = surveyTasks, false
			break
		}
		s.add(task)
	}
	for i, task := range s.troubled {
		full, err := c.GetTask(ctx, task.Metadata.UID.String())
		if err != nil {
			return s, err
		}
		s.troubled[i] = full
	}
	return s, nil
}

func (s *survey) add(task v1.Task) {
	st := task.Status
	if (st.Phase == v1.TaskRunning || st.Phase == v1.TaskLeased) && len(s.running) < surveyRunning {
		s.running = append(s.running, task)
	}
	if (st.Failures > 0 || st.LostLeases > 0 || st.Phase == v1.TaskFailed) && len(s.troubled) < surveyTroubled {
		s.troubled = append(s.troubled, task)
	}
	if st.Phase == v1.TaskCompleted {
		s.rows += processedRows(st.Metrics)
	}
}

// processedRows reads what workers measure.
func processedRows(metrics json.RawMessage) int64 {
	var m struct {
		ProcessedRows int64 `json:"processed_rows"`
	}
	if json.Unmarshal(metrics, &m) != nil {
		return 0 // another workload's metrics
	}
	return m.ProcessedRows
}

// title says of which tasks it is, where they are not all.
func (s survey) title(what string) string {
	if s.all {
		return what
	}
	return fmt.Sprintf("%s (of the first %d tasks)", what, s.seen)
}

func (s survey) active(now time.Time) printer.Table {
	t := printer.Table{Columns: []printer.Column{{Name: "TASK"}, {Name: "PHASE"}, {Name: "ATTEMPT"}, {Name: "PROGRESS"}, {Name: "WORKER"}, {Name: "DURATION"}}}
	for _, task := range s.running {
		cells := taskCells(task, now)
		t.Rows = append(t.Rows, append(slices.Clone(cells[:5]), cells[len(cells)-2]))
	}
	return t
}

// failures are the attempts that failed or were lost.
func (s survey) failures(now time.Time) printer.Table {
	t := attemptTable("TASK")
	for _, task := range s.troubled {
		for _, a := range task.Status.Attempts {
			if a.Outcome == v1.AttemptFailed || a.Outcome == v1.AttemptLost {
				t.Rows = append(t.Rows, append([]string{task.Metadata.Name}, attemptCells(a, now)...))
			}
		}
	}
	return t
}

func attemptTable(before ...string) printer.Table {
	var t printer.Table
	for _, name := range append(before, "ATTEMPT", "OUTCOME", "WORKER", "STARTED", "DURATION", "ERROR") {
		t.Columns = append(t.Columns, printer.Column{Name: name})
	}
	return t
}

func attemptCells(a v1.Attempt, now time.Time) []string {
	fault := a.ErrorCode
	if a.ErrorMessage != "" {
		fault += ": " + a.ErrorMessage
	}
	return []string{
		fmt.Sprint(a.Attempt), string(a.Outcome), cmp.Or(a.WorkerName, a.Worker.String()),
		age(a.StartedAt, now), duration(&a.StartedAt, a.EndedAt, now), fault,
	}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
