package cli

import (
	"errors"
	"fmt"
	"os/exec"

	"github.com/spf13/cobra"
)

// workloadProgram is the command of the Python worker that tests workloads.
const workloadProgram = "scimesh-workload"

func newWorkload(streams Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "workload",
		Short:   "Help with writing workloads",
		GroupID: groupServe,
		Args:    exactArgs(0),
	}
	cmd.AddCommand(newWorkloadTest(streams))
	return cmd
}

func newWorkloadTest(streams Streams) *cobra.Command {
	return &cobra.Command{
		Use:   "test DIR",
		Short: "Check that a workload in Python may be distributed",
		Long: `Check the workload whose pyproject.toml is in DIR: that its plans are
deterministic, that its result is the same for several shardings and orders,
that a task computed again gives the same bytes, and that its errors are fit for
users. DIR/example holds an input and parameters.json.

The checks are in the program scimesh-workload, which is installed with the Python
worker and must be found in PATH.`,
		Example: `  scimesh workload test python/examples/two-shard`,
		Args:    exactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			program, err := exec.LookPath(workloadProgram)
			if err != nil {
				return usageErrorf("%s is not in PATH; it is installed with the Python worker (pip install ./python)", workloadProgram)
			}
			run := exec.CommandContext(cmd.Context(), program, "test", args[0])
			run.Stdout, run.Stderr = streams.Out, streams.Err
			var exit *exec.ExitError
			switch err := run.Run(); {
			case errors.As(err, &exit) && exit.ExitCode() == 2:
				return usageErrorf("%s cannot be tested", args[0])
			case errors.As(err, &exit):
				return fmt.Errorf("the workload in %s must not be distributed as it is", args[0])
			default:
				return err
			}
		},
	}
}
