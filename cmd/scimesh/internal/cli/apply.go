package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"scimesh.dev/scimesh/api/client"
	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/cmd/scimesh/internal/printer"
)

// applyOptions are what `apply` is told.
type applyOptions struct {
	*session
	manifestFiles
	dryRun string
	output string

	format  printer.Format
	objects []object // applied
}

func newApply(s *session) *cobra.Command {
	o := &applyOptions{session: s}
	cmd := &cobra.Command{
		Use:   "apply -f FILE",
		Short: "Create jobs, or change what may change of them",
		Long: `Create the jobs of a file, of the files of a folder, or of standard input (-), or
change what may change of jobs that exist: labels, annotations, priority,
parallelism, suspend, activeDeadlineSeconds and ttlSecondsAfterFinished.

A file is YAML or JSON, with one or many documents, jobs or lists of jobs. All of
it is checked before anything is done, and every fault is told. An input that
spec.input.path names, relative to its file, is uploaded unless the coordinator
has these bytes already; what is stored names it by its SHA-256. Applying
something again is safe: what is the same stays unchanged.

A dry run of a job with a file also reads it and tells what would be planned: rows,
tasks, the form of the input, and of a graph pairs, edges and core-seconds.`,
		Example: `  scimesh apply -f job.yaml
  scimesh apply -f jobs/ -f more.json
  scimesh apply -f job.yaml --input molecules.tsv.gz
  generate-jobs | scimesh apply -f -
  scimesh apply -f job.yaml --dry-run=server`,
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	cmd.RunE = s.run(o)
	flags := cmd.Flags()
	flags.StringArrayVarP(&o.files, "filename", "f", nil, "file, folder, or - for standard input; may be repeated (required)")
	flags.BoolVarP(&o.recursive, "recursive", "R", false, "read the folders in a folder too")
	flags.StringVar(&o.input, "input", "", "file to read instead of the input that the one job names")
	flags.StringVar(&o.dryRun, "dry-run", "none", "none, or server: check everything at the coordinator and change nothing")
	flags.StringVarP(&o.output, "output", "o", "", "name|json|yaml|jsonpath=TEMPLATE: print the jobs instead of what was done")
	return cmd
}

// Complete takes no arguments.
func (o *applyOptions) Complete(args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("unexpected argument %q; files are named by -f", args[0])
	}
	return nil
}

// Validate checks the flags.
func (o *applyOptions) Validate() (err error) {
	if len(o.files) == 0 {
		return errors.New("-f: which file?")
	}
	if o.dryRun != "none" && o.dryRun != "server" {
		return fmt.Errorf("--dry-run %q: want none or server", o.dryRun)
	}
	o.format, err = printer.ParseFormat(o.output)
	if err == nil && o.format.Wide() {
		err = errors.New("--output wide: apply prints no table")
	}
	return err
}

// Run applies the jobs in their order. A job that is refused does not hold up the others.
func (o *applyOptions) Run(ctx context.Context) error {
	jobs, err := o.read(o.In)
	if err != nil {
		return err
	}
	c, err := o.connect()
	if err != nil {
		return err
	}
	var errs []error
	for _, m := range jobs {
		job, op, err := o.apply(ctx, c, m)
		if err != nil {
			errs = append(errs, o.refusal(m, err))
			if !answered(err) {
				break // it would not be different for the next
			}
			continue
		}
		if err := o.report(job, op); err != nil {
			return err
		}
		if err := o.preview(ctx, m, op); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(append(errs, o.printObjects(len(jobs)))...)
}

func (o *applyOptions) apply(ctx context.Context, c *client.Client, m manifest) (v1.Job, v1.Operation, error) {
	dry := o.dryRun == "server"
	files, err := m.parameterFiles(ctx)
	if err != nil {
		return v1.Job{}, "", err
	}
	if m.input == "" {
		if err := o.provideFiles(ctx, c, m, files); err != nil {
			return v1.Job{}, "", err
		}
		return c.ApplyJob(ctx, m.job, dry)
	}
	in, err := hashInput(ctx, m.input)
	if err != nil {
		return v1.Job{}, "", err
	}
	m.job.Spec.Input = v1.JobInput{SHA256: in.sha256, InputLayout: m.job.Spec.Input.InputLayout}
	if err := o.provideFiles(ctx, c, m, files); err != nil {
		return v1.Job{}, "", err
	}
	// The coordinator says first whether it will take the job: nobody wants to
	// upload a large file for a parameter that is misspelt.
	job, op, err := c.ApplyJob(ctx, m.job, true)
	switch {
	case err == nil && dry:
		return job, op, nil
	case lacksInput(err):
		if err := o.provide(ctx, c, m, in, dry); err != nil {
			return v1.Job{}, "", err
		}
		if dry {
			return m.job, v1.OperationCreated, nil
		}
	case err != nil:
		return v1.Job{}, "", err
	}
	return c.ApplyJob(ctx, m.job, false)
}

// provide uploads an input that the coordinator lacks, unless a job of that name
// exists, which then has another input that cannot be changed.
func (o *applyOptions) provide(ctx context.Context, c *client.Client, m manifest, in inputFile, dry bool) error {
	_, err := c.GetJob(ctx, m.job.Metadata.Name)
	switch {
	case err == nil:
		return fmt.Errorf("apply job %s: %w: spec.input: it exists with another input, which cannot be changed", m.job.Metadata.Name, client.ErrConflict)
	case !errors.Is(err, client.ErrNotFound):
		return err
	case dry:
		return nil
	}
	return o.upload(ctx, c, in)
}

// lacksInput reports whether a job was refused for nothing but an input that is not there.
func lacksInput(err error) bool {
	var answer *client.Error
	return errors.Is(err, client.ErrInvalid) && errors.As(err, &answer) &&
		len(answer.Details) == 1 && answer.Details[0].Field == "spec.input.sha256"
}

// refusal tells the file with every fault.
func (o *applyOptions) refusal(m manifest, err error) error {
	var answer *client.Error
	if errors.As(err, &answer) && len(answer.Details) > 0 {
		var lines []string
		for _, d := range answer.Details {
			lines = append(lines, fmt.Sprintf("%s: %s: %s", m.where, d.Field, d.Message))
		}
		return &exitError{code: ExitError, err: errors.New(strings.Join(lines, "\n"))}
	}
	return fmt.Errorf("%s: %w", m.where, o.explain(err))
}

// answered reports whether the coordinator, or this machine, refused this one job.
func answered(err error) bool {
	return !errors.Is(err, client.ErrUnavailable) && !errors.Is(err, client.ErrUnauthorized) &&
		!errors.Is(err, client.ErrForbidden) && !errors.Is(err, context.Canceled)
}

func (o *applyOptions) report(job v1.Job, op v1.Operation) error {
	if o.output != "" {
		o.objects = append(o.objects, object{kind: jobKind, name: job.Metadata.Name, value: job})
		return nil
	}
	suffix := ""
	if o.dryRun == "server" {
		suffix = " (server dry run)"
	}
	_, err := fmt.Fprintf(o.Out, "job/%s %s%s\n", printer.Safe(job.Metadata.Name), op, suffix)
	return err
}

// printObjects prints what was applied, as data.
func (o *applyOptions) printObjects(wanted int) error {
	switch {
	case o.output == "":
		return nil
	case o.format.IsName():
		return printNames(o.Out, o.objects)
	case wanted == 1 && len(o.objects) == 1:
		return o.printData(o.format, o.objects[0].value)
	case len(o.objects) == 0:
		return nil
	}
	return o.printData(o.format, listOf(o.objects, []*kind{jobKind}))
}
