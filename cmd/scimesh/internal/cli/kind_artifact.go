package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"scimesh.dev/scimesh/api/client"
	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/api/wire"
	"scimesh.dev/scimesh/cmd/scimesh/internal/printer"
)

var artifactKind = newKind(kind{
	singular: "artifact", plural: "artifacts", short: []string{"a"}, apiKind: v1.KindArtifact,
	columns: []printer.Column{
		{Name: "NAME"}, {Name: "KIND"}, {Name: "JOB"}, {Name: "FILE"}, {Name: "SIZE"},
		{Name: "TASK", Wide: true}, {Name: "ATTEMPT", Wide: true}, {Name: "TYPE", Wide: true}, {Name: "ENGINE", Wide: true}, {Name: "SHA256", Wide: true},
		{Name: "AGE"},
	},
	filters: []string{filterJob, filterKind},
}, access[v1.Artifact]{
	name:  func(a v1.Artifact) string { return a.Metadata.Name },
	cells: artifactCells,
	page: func(ctx context.Context, c *client.Client, f filter, limit int32, next *string) (v1.List[v1.Artifact], error) {
		return c.ListArtifacts(ctx, wire.ListArtifactsParams{
			Job: textParam(f.job), Kind: phases[v1.ArtifactKind](f.kinds), Limit: &limit, Continue: next,
		})
	},
	get: func(ctx context.Context, c *client.Client, name string) (v1.Artifact, error) {
		id, err := uuid.Parse(name)
		if err != nil {
			return v1.Artifact{}, fmt.Errorf("artifact %s: not the id of an artifact", name)
		}
		return c.GetArtifact(ctx, id)
	},
})

func artifactCells(a v1.Artifact, now time.Time) []string {
	task, attempt := "", ""
	if a.Spec.Task != nil {
		task, attempt = a.Spec.Task.String(), fmt.Sprint(a.Spec.Attempt)
	}
	return []string{
		a.Metadata.Name, string(a.Spec.Kind), a.Spec.Job, a.Spec.Filename, printer.Bytes(a.Spec.SizeBytes),
		task, attempt, a.Spec.ContentType, a.Spec.Engine, a.Spec.SHA256,
		age(a.Metadata.CreationTimestamp, now),
	}
}
