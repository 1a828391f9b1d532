package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"

	"k8s.io/apimachinery/pkg/util/validation/field"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/cmd/scimesh/internal/printer"
	"scimesh.dev/scimesh/workloads"
	"scimesh.dev/scimesh/workloads/local"
)

// preview prints what would be planned of a job that a dry run would create. The
// coordinator lacks its input, or need not be kept busy with it, so it is read here.
func (o *applyOptions) preview(ctx context.Context, m manifest, op v1.Operation) error {
	// How many edges are allowed is the coordinator's to say, when the job is planned.
	w, ok := builtinWith(math.MaxInt64).Get(m.job.Spec.Workload)
	if o.dryRun != "server" || o.output != "" || op != v1.OperationCreated || m.input == "" || !ok {
		return nil
	}
	files, err := m.parameterFiles(ctx)
	if err != nil {
		return err
	}
	job := m.job
	v1.Default(&job)
	parameters, faults := w.Validate(field.NewPath("spec", "parameters"), job.Spec.Parameters)
	if len(faults) > 0 {
		return nil // the coordinator takes parameters that this program does not know
	}
	summary, err := local.Preview(ctx, w, workloads.PlanRequest{
		Open:       func(context.Context) (io.ReadCloser, error) { return os.Open(m.input) },
		Parameters: parameters, Sharding: job.Spec.Sharding, Layout: job.Spec.Input.InputLayout, OpenFile: openFiles(files),
	})
	if err != nil {
		if _, ok := errors.AsType[*workloads.Error](err); ok {
			return &exitError{code: ExitError, err: fmt.Errorf("%s: job %s would fail: %w", m.where, printer.Safe(job.Metadata.Name), err)}
		}
		return err
	}
	_, err = fmt.Fprintf(o.Out, "  %s\n", printer.Safe(summary))
	return err
}
