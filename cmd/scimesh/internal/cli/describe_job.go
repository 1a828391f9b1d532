package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sigs.k8s.io/yaml"

	"scimesh.dev/scimesh/api/client"
	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/cmd/scimesh/internal/printer"
)

func (o *describeOptions) describeJob(ctx context.Context, c *client.Client, name string) (*printer.Description, error) {
	job, err := c.GetJob(ctx, name)
	if err != nil {
		return nil, err
	}
	name = job.Metadata.UID.String() // the same job from here on
	tasks, err := o.surveyTasks(ctx, c, name)
	if err != nil {
		return nil, err
	}
	d := &printer.Description{}
	jobFields(d, job, o.now())
	speedFields(d, job, tasks, o.now())
	if err := parametersText(d, job); err != nil {
		return nil, err
	}
	err = errors.Join(
		d.Table("Conditions", conditionTable(job.Status.Conditions, o.now())),
		ledgerTable(d, job.Status.Ledger),
		o.addWhy(ctx, c, d, job),
		optionalTable(d, tasks.title("Tasks that run"), tasks.active(o.now())),
		optionalTable(d, tasks.title("Attempts that went wrong"), tasks.failures(o.now())),
	)
	if err != nil {
		return nil, err
	}
	return d, o.addEvents(ctx, c, d, filter{job: name})
}

func jobFields(d *printer.Description, j v1.Job, now time.Time) {
	st := j.Status
	d.Field("Name", j.Metadata.Name)
	d.Field("UID", j.Metadata.UID.String())
	d.Field("Labels", pairs(j.Metadata.Labels))
	d.Optional("Annotations", pairs(j.Metadata.Annotations))
	d.Field("Workload", j.Spec.Workload)
	d.Field("Phase", shownPhase(j))
	if st.ErrorCode != "" {
		d.Field("Error", st.ErrorCode+": "+st.ErrorMessage)
	}
	d.Field("Created", instant(&j.Metadata.CreationTimestamp, now))
	d.Optional("Started", instant(st.StartedAt, now))
	d.Optional("Ended", instant(st.CompletedAt, now))
	d.Optional("Duration", duration(st.StartedAt, st.CompletedAt, now))
	d.Field("Input", inputText(j))
	d.Field("Sharding", fmt.Sprintf("%d rows a task", j.Spec.Sharding.Rows))
	d.Field("Limits", limitsText(j.Spec))
	d.Optional("Engine", st.Engine)
	t := st.Tasks
	d.Field("Tasks", fmt.Sprintf("%d: %d pending, %d leased, %d running, %d completed, %d failed, %d cancelled",
		t.Total, t.Pending, t.Leased, t.Running, t.Completed, t.Failed, t.Cancelled))
	d.Optional("Result", fileText(st.Result))
	d.Optional("Rejects", fileText(st.Rejects))
}

func inputText(j v1.Job) string {
	in := j.Spec.Input
	switch {
	case j.Status.Input != nil:
		return fmt.Sprintf("sha256 %s (%s)", j.Status.Input.SHA256, printer.Bytes(j.Status.Input.SizeBytes))
	case in.Artifact != nil:
		return "artifact " + in.Artifact.String()
	case in.SHA256 != "":
		return "sha256 " + in.SHA256
	}
	return fmt.Sprintf("%d chunks that workers fetch", len(in.Chunks))
}

func limitsText(s v1.JobSpec) string {
	text := fmt.Sprintf("priority %d, %d attempts a task", s.Priority, s.MaxAttempts)
	if s.Parallelism > 0 {
		text += fmt.Sprintf(", at most %d tasks at once", s.Parallelism)
	}
	if s.ActiveDeadlineSeconds > 0 {
		text += ", fails " + printer.Duration(time.Duration(s.ActiveDeadlineSeconds)*time.Second) + " after it was created"
	}
	if s.TTLSecondsAfterFinished > 0 {
		text += ", is deleted " + printer.Duration(time.Duration(s.TTLSecondsAfterFinished)*time.Second) + " after its end"
	}
	return text
}

func fileText(r *v1.ResultRef) string {
	if r == nil {
		return ""
	}
	return fmt.Sprintf("artifact %s, %d rows, %s, sha256 %s", r.Artifact, r.Rows, printer.Bytes(r.SizeBytes), r.SHA256)
}

// speedFields adds throughput and time left, measured since the tasks were there.
func speedFields(d *printer.Description, j v1.Job, tasks survey, now time.Time) {
	start := j.Status.StartedAt
	if c := v1.FindCondition(j.Status.Conditions, v1.JobConditionPlanned); c != nil && c.Status == v1.ConditionTrue {
		start = &c.LastTransitionTime
	}
	end := now
	if j.Status.CompletedAt != nil {
		end = j.Status.CompletedAt.Time
	}
	completed := j.Status.Tasks.Completed
	if start == nil || completed == 0 || !end.After(start.Time) {
		return
	}
	elapsed := end.Sub(start.Time)
	text := speedText(float64(completed)/elapsed.Seconds(), "tasks")
	if rows := rowsDone(j, tasks); rows > 0 {
		text += ", " + speedText(float64(rows)/elapsed.Seconds(), "rows")
	}
	d.Field("Throughput", text)
	if open := j.Status.Tasks.Pending + j.Status.Tasks.Leased + j.Status.Tasks.Running; j.Status.Phase == v1.JobRunning && open > 0 {
		left := time.Duration(float64(elapsed) * float64(open) / float64(completed))
		d.Field("Time left", "about "+printer.Duration(left))
	}
}

// rowsDone is how many rows were computed; 0 if that is not known.
func rowsDone(j v1.Job, tasks survey) int64 {
	switch {
	case j.Status.Ledger != nil:
		return j.Status.Ledger.RowsRead
	case tasks.all:
		return tasks.rows
	}
	return 0
}

func parametersText(d *printer.Description, j v1.Job) error {
	text, err := yaml.JSONToYAML(j.Spec.Parameters)
	if err != nil {
		return fmt.Errorf("parameters of job %s: %w", j.Metadata.Name, err)
	}
	d.Text("Parameters", string(text))
	return nil
}

// ledgerTable accounts for every row of the input.
func ledgerTable(d *printer.Description, l *v1.Ledger) error {
	if l == nil {
		return nil
	}
	t := printer.Table{
		Columns: []printer.Column{{Name: "ROWS"}, {Name: "COUNT"}},
		Rows:    [][]string{{"read", fmt.Sprint(l.RowsRead)}, {"scored", fmt.Sprint(l.Scored)}},
	}
	for _, part := range []struct {
		name   string
		counts map[string]int64
	}{{"excluded", l.Excluded}, {"rejected", l.Rejected}} {
		for _, reason := range sortedKeys(part.counts) {
			t.Rows = append(t.Rows, []string{part.name + " " + reason, fmt.Sprint(part.counts[reason])})
		}
	}
	return d.Table("Ledger", t)
}

// optionalTable adds a table that has rows.
func optionalTable(d *printer.Description, title string, t printer.Table) error {
	if len(t.Rows) == 0 {
		return nil
	}
	return d.Table(title, t)
}

// addWhy adds what keeps a job that has not ended from running.
func (o *describeOptions) addWhy(ctx context.Context, c *client.Client, d *printer.Description, j v1.Job) error {
	if j.Status.Phase.Final() {
		return nil
	}
	list, err := c.WhyJob(ctx, j.Metadata.UID.String())
	if err != nil || len(list.Items) == 0 {
		return err
	}
	return d.Table("In the way", whyTable(list.Items, o.now()))
}
