package cli

import (
	"fmt"
	"slices"
	"strings"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/cmd/scimesh/internal/printer"
)

// goal is what `wait` waits for. The zero value is the end of a job.
type goal struct {
	deleted   bool
	phase     v1.JobPhase
	condition string
	status    v1.ConditionStatus
}

// phaseOrder is the way of a job that goes well.
var phaseOrder = []v1.JobPhase{v1.JobCreated, v1.JobPlanning, v1.JobRunning, v1.JobReducing, v1.JobCompleted}

func parseGoal(s string) (goal, error) {
	what, value, _ := strings.Cut(s, "=")
	switch {
	case s == "end":
		return goal{}, nil
	case s == "delete":
		return goal{deleted: true}, nil
	case what == "phase":
		phase := v1.JobPhase(value)
		if !slices.Contains(phaseOrder, phase) && !phase.Final() {
			return goal{}, fmt.Errorf("--for: there is no phase %q", value)
		}
		return goal{phase: phase}, nil
	case what == "condition" && value != "":
		condition, status, given := strings.Cut(value, "=")
		if !given {
			status = string(v1.ConditionTrue)
		}
		return goal{condition: condition, status: v1.ConditionStatus(status)}, nil
	}
	return goal{}, fmt.Errorf("--for %q: want end, delete, phase=PHASE, or condition=TYPE[=STATUS]", s)
}

// reached is how waiting for a job ends now; nil if it goes on.
func (g goal) reached(j v1.Job) *outcome {
	phase := j.Status.Phase
	switch {
	case g.deleted:
		return nil
	case g.phase != "" && g.past(phase):
		return &outcome{ExitOK, "is " + string(phase)}
	case g.condition != "":
		if c := v1.FindCondition(j.Status.Conditions, g.condition); c != nil && c.Status == g.status {
			return &outcome{ExitOK, fmt.Sprintf("has %s=%s", c.Type, c.Status)}
		}
	}
	if !phase.Final() {
		return nil
	}
	end := endOf(j)
	if end.code == ExitOK && (g.phase != "" || g.condition != "") {
		return &outcome{ExitError, "completed without " + g.String()}
	}
	return &end
}

// past reports whether a job in phase has reached the phase that is the goal.
func (g goal) past(phase v1.JobPhase) bool {
	if phase == g.phase {
		return true
	}
	at, wanted := slices.Index(phaseOrder, phase), slices.Index(phaseOrder, g.phase)
	return wanted >= 0 && at >= wanted
}

// gone is the end of a job that is deleted.
func (g goal) gone() outcome {
	if g.deleted {
		return outcome{ExitOK, "deleted"}
	}
	return outcome{ExitDeleted, "was deleted"}
}

// String is the goal as the flag has it.
func (g goal) String() string {
	switch {
	case g.deleted:
		return "delete"
	case g.phase != "":
		return "phase=" + string(g.phase)
	case g.condition != "":
		return fmt.Sprintf("condition=%s=%s", g.condition, g.status)
	}
	return "end"
}

// endOf tells how a job ended.
func endOf(j v1.Job) outcome {
	st := j.Status
	took := ""
	if st.StartedAt != nil && st.CompletedAt != nil {
		took = " after " + printer.Age(st.StartedAt.Time, st.CompletedAt.Time)
	}
	switch {
	case st.Phase == v1.JobCancelled && j.Metadata.DeletionTimestamp != nil:
		return outcome{ExitDeleted, "was deleted"} // which cancels it first
	case st.Phase == v1.JobCompleted:
		rows := ""
		if st.Result != nil {
			rows = fmt.Sprintf(": %d rows", st.Result.Rows)
		}
		return outcome{ExitOK, "completed" + took + rows}
	case st.Phase == v1.JobFailed:
		return outcome{ExitFailed, fmt.Sprintf("failed%s: %s: %s", took, st.ErrorCode, st.ErrorMessage)}
	}
	return outcome{ExitCancelled, "was cancelled" + took}
}
