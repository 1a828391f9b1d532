package cli

import (
	"context"
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"

	"scimesh.dev/scimesh/api/client"
	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/cmd/scimesh/internal/printer"
)

func (o *describeOptions) describeTask(ctx context.Context, c *client.Client, name string) (*printer.Description, error) {
	task, err := c.GetTask(ctx, name)
	if err != nil {
		return nil, err
	}
	d := &printer.Description{}
	o.taskFields(d, task)
	for _, part := range []struct {
		title string
		json  []byte
	}{{"Parameters", task.Spec.Parameters}, {"Metrics", task.Status.Metrics}} {
		if len(part.json) == 0 || string(part.json) == "{}" {
			continue
		}
		text, err := yaml.JSONToYAML(part.json)
		if err != nil {
			return nil, fmt.Errorf("%s of task %s: %w", strings.ToLower(part.title), name, err)
		}
		d.Text(part.title, string(text))
	}
	attempts := attemptTable()
	for _, a := range task.Status.Attempts {
		attempts.Rows = append(attempts.Rows, attemptCells(a, o.now()))
	}
	if err := d.Table("Attempts", attempts); err != nil {
		return nil, err
	}
	if entries := whyTask(task, o.now()); len(entries) > 0 && !task.Status.Phase.Final() {
		return d, d.Table("In the way", whyTable(entries, o.now()))
	}
	return d, nil
}

func (o *describeOptions) taskFields(d *printer.Description, task v1.Task) {
	st, now := task.Status, o.now()
	d.Field("Name", task.Metadata.Name)
	d.Field("UID", task.Metadata.UID.String())
	d.Field("Job", task.Spec.Job)
	d.Field("Chunk", fmt.Sprint(task.Spec.ChunkIndex))
	d.Field("Workload", task.Spec.Workload)
	d.Field("Phase", string(st.Phase))
	d.Optional("Progress", taskProgress(task))
	if st.ErrorCode != "" {
		d.Field("Error", st.ErrorCode+": "+st.ErrorMessage)
	}
	d.Field("Attempt", fmt.Sprintf("%d; %d failures and %d lost leases of at most %d each", st.Attempt, st.Failures, st.LostLeases, task.Spec.MaxAttempts))
	d.Optional("Worker", st.WorkerName)
	d.Optional("Lease ends", instant(st.LeaseExpiresAt, now))
	d.Optional("Not before", instant(st.NotBefore, now))
	d.Optional("Started", instant(st.StartedAt, now))
	d.Optional("Ended", instant(st.CompletedAt, now))
	d.Optional("Duration", duration(st.StartedAt, st.CompletedAt, now))
	d.Field("Input", "sha256 "+task.Spec.InputSHA256)
	if r := st.Result; r != nil {
		d.Field("Result", fmt.Sprintf("artifact %s, %s, sha256 %s", r.Artifact, printer.Bytes(r.SizeBytes), r.SHA256))
	}
}
