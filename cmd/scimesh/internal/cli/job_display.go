package cli

import (
	"fmt"
	"strings"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/cmd/scimesh/internal/printer"
	"scimesh.dev/scimesh/cmd/scimesh/internal/progress"
)

// jobDisplay shows how far jobs are.
type jobDisplay struct {
	*session
	*progress.Display
	rate progress.Rate
}

func newJobDisplay(s *session) *jobDisplay {
	return &jobDisplay{session: s, Display: s.display()}
}

// update shows one job by its tasks, and several together.
func (d *jobDisplay) update(targets []*target) {
	var tasks v1.TaskCounts
	ended, planned := 0, true
	for _, t := range targets {
		st := t.job.Status
		if t.end != nil || st.Phase.Final() {
			ended++
		}
		planned = planned && (st.Tasks.Total > 0 || st.Phase.Final())
		addCounts(&tasks, st.Tasks)
	}
	d.rate.Add(d.now(), tasks.Completed)
	s := progress.State{Label: fmt.Sprintf("%d of %d jobs ended", ended, len(targets)), Done: tasks.Completed, Total: tasks.Total}
	if len(targets) == 1 {
		s.Label, s.Step = "job/"+printer.Safe(targets[0].name), shownPhase(targets[0].job)
	}
	s.Detail = d.detail(tasks, planned)
	d.Show(s)
}

func (d *jobDisplay) detail(tasks v1.TaskCounts, planned bool) string {
	if tasks.Total == 0 {
		return ""
	}
	parts := []string{fmt.Sprintf("%d/%d tasks", tasks.Completed, tasks.Total)}
	if tasks.Failed > 0 {
		parts = append(parts, fmt.Sprintf("%d failed", tasks.Failed))
	}
	if speed := d.rate.PerSecond(); speed > 0 {
		parts = append(parts, speedText(speed, "tasks"))
	}
	if left, ok := d.rate.Left(tasks.Total); ok && planned && tasks.Completed < tasks.Total {
		parts = append(parts, printer.Duration(left)+" left")
	}
	return strings.Join(parts, "  ")
}

// end prints the end of a job: that is the output, all else is progress.
func (d *jobDisplay) end(text string) {
	d.Clear()
	fmt.Fprintln(d.Out, text)
}

func addCounts(sum *v1.TaskCounts, t v1.TaskCounts) {
	sum.Total += t.Total
	sum.Pending += t.Pending
	sum.Leased += t.Leased
	sum.Running += t.Running
	sum.Completed += t.Completed
	sum.Failed += t.Failed
	sum.Cancelled += t.Cancelled
}

// speedText prints a speed with three digits that matter: 31.2 tasks/s, 0.50 tasks/min.
func speedText(perSecond float64, unit string) string {
	value, per := perSecond, "s"
	if value < 0.1 {
		value, per = value*60, "min"
	}
	if value < 0.1 {
		value, per = value*60, "h"
	}
	digits := 0
	for limit := 100.0; value < limit && digits < 2; limit /= 10 {
		digits++
	}
	return fmt.Sprintf("%.*f %s/%s", digits, value, unit, per)
}
