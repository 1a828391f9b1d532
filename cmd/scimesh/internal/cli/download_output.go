package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"scimesh.dev/scimesh/api/client"
	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/api/wire"
)

// outputOf finds the file of a format that a job made beside its result.
func outputOf(ctx context.Context, c *client.Client, j v1.Job, format string) (source, error) {
	asked := j.Spec.Output.Formats
	switch {
	case !slices.Contains(asked, format) && len(asked) == 0:
		return source{}, fmt.Errorf("job %s asked for no further formats", j.Metadata.Name)
	case !slices.Contains(asked, format):
		return source{}, fmt.Errorf("job %s asked for no format %s, but for %s", j.Metadata.Name, format, strings.Join(asked, ", "))
	case j.Status.Phase != v1.JobCompleted:
		return source{}, unfinished(j, format)
	}
	w, err := c.GetWorkload(ctx, j.Spec.Workload)
	if err != nil {
		return source{}, err
	}
	i := slices.IndexFunc(w.Spec.Formats, func(f v1.OutputFormat) bool { return f.Name == format })
	if i < 0 {
		return source{}, fmt.Errorf("the coordinator's workload %s knows no format %s", j.Spec.Workload, format)
	}
	name := w.Spec.Formats[i].Filename
	limit := int32(100)
	list, err := c.ListArtifacts(ctx, wire.ListArtifactsParams{Job: textParam(j.Metadata.Name), Kind: []v1.ArtifactKind{v1.ArtifactOutput}, Limit: &limit})
	if err != nil {
		return source{}, err
	}
	for _, a := range list.Items {
		if a.Spec.Filename == name {
			return source{v1.ArtifactRef{Artifact: a.Metadata.UID, SHA256: a.Spec.SHA256, SizeBytes: a.Spec.SizeBytes}, j.Metadata.Name + "." + localName(name)}, nil
		}
	}
	return source{}, fmt.Errorf("job %s has no file of format %s", j.Metadata.Name, format)
}
