package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/validation/field"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/cmd/scimesh/internal/printer"
	"scimesh.dev/scimesh/cmd/scimesh/internal/progress"
	"scimesh.dev/scimesh/workloads"
	"scimesh.dev/scimesh/workloads/local"
)

// runOptions are what `run` is told.
type runOptions struct {
	*session
	manifestFiles
	output  string
	rejects string
	outputs string
	tempDir string
	threads int
	verbose bool
}

func newRun(s *session) *cobra.Command {
	o := &runOptions{session: s}
	cmd := &cobra.Command{
		Use:   "run -f FILE -o FILE",
		Short: "Run a whole job in this one process, without a coordinator",
		Long: `Run a whole job in this one process: plan, compute every task, merge. No
coordinator is asked. The result is what a distributed run gives, byte for byte.

The output appears once all of it is written; a file that was there is replaced. If
no row is rejected, the file of --rejects is empty.`,
		Example: `  scimesh run -f job.yaml -o neighbours.csv
  scimesh run -f job.yaml --input molecules.tsv.gz -o - --rejects rejects.csv`,
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	cmd.RunE = s.run(o)
	flags := cmd.Flags()
	flags.StringArrayVarP(&o.files, "filename", "f", nil, "file with one job, or - for standard input (required)")
	flags.StringVar(&o.input, "input", "", "file to read instead of the input that the job names")
	flags.StringVarP(&o.output, "output", "o", "", "file of the result, or - for standard output (required)")
	flags.StringVar(&o.rejects, "rejects", "", "file of the rows that were rejected")
	flags.StringVar(&o.outputs, "output-dir", "", "folder of the files that spec.output.formats asks for")
	flags.StringVar(&o.tempDir, "temp-dir", "", "where the shards are written (default: the system's)")
	flags.IntVar(&o.threads, "threads", runtime.GOMAXPROCS(0), "threads that compute")
	flags.BoolVarP(&o.verbose, "verbose", "v", false, "print the logs of the tasks")
	return cmd
}

// Complete takes no arguments.
func (o *runOptions) Complete(args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("unexpected argument %q; the job is named by -f", args[0])
	}
	return nil
}

// Validate checks the flags.
func (o *runOptions) Validate() error {
	switch {
	case len(o.files) != 1:
		return errors.New("-f: one file with one job")
	case o.output == "":
		return errors.New("-o: which file is to be written?")
	case o.rejects != "" && filepath.Clean(o.rejects) == filepath.Clean(o.output):
		return errors.New("--rejects: the result goes there")
	case o.threads < 1:
		return errors.New("--threads: at least 1")
	}
	return nil
}

// Run computes.
func (o *runOptions) Run(ctx context.Context) error {
	jobs, err := o.read(o.In)
	if err != nil {
		return err
	}
	if len(jobs) != 1 {
		return fmt.Errorf("%s: one job is expected, and there are %d", o.files[0], len(jobs))
	}
	m := jobs[0]
	files, err := m.parameterFiles(ctx)
	if err != nil {
		return err
	}
	req, err := o.request(m)
	if err != nil {
		return err
	}
	req.Plan.OpenFile = openFiles(files)
	out, err := o.create(o.output)
	if err != nil {
		return err
	}
	defer out.abort()
	rejects, err := o.create(o.rejects)
	if err != nil {
		return err
	}
	defer rejects.abort()
	req.Output, req.Rejects = out, rejects
	outputs, err := o.createOutputs(&req)
	if err != nil {
		return err
	}
	defer outputs.abort()

	display := o.display()
	defer display.Close()
	o.report(&req, m, display)
	result, err := local.Run(ctx, req)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return &exitError{code: ExitError, err: fmt.Errorf("job %s: %w", m.job.Metadata.Name, err)}
	}
	if err := errors.Join(out.commit(), rejects.commit(), outputs.commit()); err != nil {
		return err
	}
	l := result.Ledger
	display.Line(fmt.Sprintf("job/%s completed: %d rows; read %d, scored %d, excluded %d, rejected %d",
		printer.Safe(m.job.Metadata.Name), result.Rows, l.RowsRead, l.Scored, sum(l.Excluded), sum(l.Rejected)))
	return nil
}

// request checks the job as a coordinator would, and turns it into one.
func (o *runOptions) request(m manifest) (local.Request, error) {
	spec := m.job.Spec
	path := field.NewPath("spec")
	w, ok := builtin().Get(spec.Workload)
	if !ok {
		fault := v1.UnknownWorkload(path.Child("workload"), spec.Workload, builtin().Names())
		return local.Request{}, fmt.Errorf("%s: %s: %s", m.where, fault.Field, v1.FieldMessage(fault))
	}
	parameters, faults := w.Validate(path.Child("parameters"), spec.Parameters)
	if len(faults) > 0 {
		lines := make([]string, len(faults))
		for i, f := range faults {
			lines[i] = fmt.Sprintf("%s: %s: %s", m.where, f.Field, v1.FieldMessage(f))
		}
		return local.Request{}, errors.New(strings.Join(lines, "\n"))
	}
	req := local.Request{Workload: w, TempDir: o.tempDir, Threads: o.threads, Formats: spec.Output.Formats}
	req.Plan = workloads.PlanRequest{Parameters: parameters, Sharding: spec.Sharding, Chunks: spec.Input.Chunks, Layout: spec.Input.InputLayout}
	switch {
	case m.input != "":
		req.Plan.Open = func(context.Context) (io.ReadCloser, error) { return os.Open(m.input) }
	case len(spec.Input.Chunks) > 0:
		req.OpenChunk = o.openChunk
	default:
		return local.Request{}, fmt.Errorf("%s: spec.input: names what a coordinator holds; name a file with --input", m.where)
	}
	return req, nil
}

// report shows how far the run is.
func (o *runOptions) report(req *local.Request, m manifest, display *progress.Display) {
	label := "job/" + printer.Safe(m.job.Metadata.Name)
	var size int64
	if info, err := os.Stat(m.input); err == nil {
		size = info.Size()
	}
	req.Plan.Progress = func(read int64) {
		display.Show(progress.State{Label: label, Step: "planning", Done: read, Total: size, Detail: printer.Bytes(read)})
	}
	var rate progress.Rate
	rate.Add(o.now(), 0)
	req.Progress = func(done, total int) {
		rate.Add(o.now(), int64(done))
		detail := fmt.Sprintf("%d/%d tasks", done, total)
		if left, ok := rate.Left(int64(total)); ok && done < total {
			detail += "  " + printer.Duration(left) + " left"
		}
		display.Show(progress.State{Label: label, Step: "running", Done: int64(done), Total: int64(total), Detail: detail})
	}
	if o.verbose {
		req.Logf = func(format string, args ...any) { display.Line(printer.Safe(fmt.Sprintf(format, args...))) }
	}
}

func sum(counts map[string]int64) (total int64) {
	for _, n := range counts {
		total += n
	}
	return total
}
