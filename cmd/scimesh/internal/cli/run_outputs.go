package cli

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"scimesh.dev/scimesh/workloads/local"
)

// outputFiles are the files of a run beside its result.
type outputFiles []*atomicFile

// createOutputs makes the files that the job asks for beside its result.
func (o *runOptions) createOutputs(req *local.Request) (outputFiles, error) {
	if len(req.Formats) == 0 {
		return nil, nil
	}
	if o.outputs == "" {
		return nil, errors.New("--output-dir: spec.output.formats asks for more files; which folder are they for?")
	}
	var files outputFiles
	req.Outputs = map[string]io.Writer{}
	for _, format := range req.Workload.Describe().Formats {
		if !slices.Contains(req.Formats, format.Name) {
			continue
		}
		f, err := o.create(filepath.Join(o.outputs, format.Filename))
		if err != nil {
			files.abort()
			return nil, fmt.Errorf("--output-dir: %w", err)
		}
		files = append(files, f)
		req.Outputs[format.Name] = f
	}
	return files, nil
}

func (f outputFiles) commit() error {
	var errs []error
	for _, file := range f {
		errs = append(errs, file.commit())
	}
	return errors.Join(errs...)
}

func (f outputFiles) abort() {
	for _, file := range f {
		file.abort()
	}
}
