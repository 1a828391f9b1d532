package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"scimesh.dev/scimesh/api/client"
)

// parameterFiles replaces each parameter {path: FILE} by {sha256: …} of the file,
// which is looked for beside the manifest, and returns the files. A coordinator
// knows a file by its digest alone.
func (m *manifest) parameterFiles(ctx context.Context) ([]inputFile, error) {
	var values map[string]json.RawMessage
	if err := json.Unmarshal(m.job.Spec.Parameters, &values); err != nil {
		values = nil // what is wrong with it is told elsewhere
	}
	var files []inputFile
	for _, name := range slices.Sorted(maps.Keys(values)) {
		path, ok := pathOnly(values[name])
		if !ok {
			continue
		}
		path = filepath.FromSlash(path)
		if !filepath.IsAbs(path) {
			path = filepath.Join(m.dir, path)
		}
		in, err := hashInput(ctx, path)
		if err != nil {
			return nil, fmt.Errorf("%s: spec.parameters.%s.path: %w", m.where, name, err)
		}
		files = append(files, in)
		values[name] = json.RawMessage(`{"sha256":"` + in.sha256 + `"}`)
	}
	if len(files) == 0 {
		return nil, nil
	}
	var err error
	m.job.Spec.Parameters, err = json.Marshal(values)
	return files, err
}

// pathOnly returns the path of a value that is an object of nothing but a path.
func pathOnly(value json.RawMessage) (string, bool) {
	var fields map[string]any
	if json.Unmarshal(value, &fields) != nil || len(fields) != 1 {
		return "", false
	}
	path, ok := fields["path"].(string)
	return path, ok && path != ""
}

// provideFiles uploads the files that parameters name, once the coordinator has said
// that it would take the job.
func (o *applyOptions) provideFiles(ctx context.Context, c *client.Client, m manifest, files []inputFile) error {
	if len(files) == 0 || o.dryRun == "server" {
		return nil
	}
	if _, _, err := c.ApplyJob(ctx, m.job, true); err != nil && !lacksInput(err) {
		return err
	}
	for _, in := range files {
		if err := o.upload(ctx, c, in); err != nil {
			return err
		}
	}
	return nil
}

// openFiles opens files by their digests.
func openFiles(files []inputFile) func(context.Context, string) (io.ReadCloser, error) {
	return func(_ context.Context, sha256 string) (io.ReadCloser, error) {
		for _, in := range files {
			if in.sha256 == sha256 {
				return os.Open(in.path)
			}
		}
		return nil, errors.New("the parameters name a file that a coordinator holds; name it by its path")
	}
}
