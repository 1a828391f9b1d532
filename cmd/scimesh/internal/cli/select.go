package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"scimesh.dev/scimesh/api/client"
	v1 "scimesh.dev/scimesh/api/v1"
)

// selection names jobs: by name, by file, by label, or all of them.
type selection struct {
	manifestFiles
	selector string
	all      bool
	refs     []ref
}

func (x *selection) addFlags(flags *pflag.FlagSet) {
	flags.StringArrayVarP(&x.files, "filename", "f", nil, "the jobs of this file or folder, or of standard input (-)")
	flags.BoolVarP(&x.recursive, "recursive", "R", false, "read the folders in a folder too")
	flags.StringVarP(&x.selector, "selector", "l", "", "the jobs with these labels, such as target=EGFR")
	flags.BoolVar(&x.all, "all", false, "all jobs")
}

// Complete reads the names.
func (x *selection) Complete(args []string) (err error) {
	x.refs, err = parseRefs(args, jobKind)
	return err
}

// Validate checks that jobs are named in one way.
func (x *selection) Validate() error {
	ways := 0
	for _, given := range []bool{len(x.refs) > 0, len(x.files) > 0, x.selector != "", x.all} {
		if given {
			ways++
		}
	}
	switch {
	case ways == 0:
		return errors.New("which jobs? Give names, -f, -l or --all")
	case ways > 1:
		return errors.New("names, -f, -l and --all go one at a time")
	}
	if _, err := v1.ParseSelector(x.selector); err != nil {
		return fmt.Errorf("--selector: %w", err)
	}
	return nil
}

// jobs returns the references of the jobs selected.
func (x *selection) jobs(ctx context.Context, s *session, c *client.Client) ([]ref, error) {
	if len(x.refs) > 0 {
		return x.refs, nil
	}
	if len(x.files) > 0 {
		return x.named(s)
	}
	var refs []ref
	for found, err := range jobKind.list(ctx, c, filter{selector: x.selector}) {
		if err != nil {
			return nil, err
		}
		refs = append(refs, ref{jobKind, found.name})
	}
	if len(refs) == 0 {
		s.note("No jobs found.")
	}
	return refs, nil
}

// named are the jobs of files, of which only the names matter.
func (x *selection) named(s *session) ([]ref, error) {
	jobs, err := x.decode(s.In)
	if err != nil {
		return nil, err
	}
	refs := make([]ref, len(jobs))
	for i, m := range jobs {
		if m.job.Metadata.Name == "" {
			return nil, fmt.Errorf("%s: metadata.name: a Job has a name", m.where)
		}
		refs[i] = ref{jobKind, m.job.Metadata.Name}
	}
	return refs, nil
}
