// Package cli holds the commands of the scimesh binary, one file each. A
// command wires packages together and prints; it decides nothing.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"scimesh.dev/scimesh/cmd/scimesh/internal/printer"
)

// Exit codes. 4 to 7 are answers of `wait`.
const (
	ExitOK        = 0
	ExitError     = 1
	ExitUsage     = 2
	ExitFailed    = 4
	ExitCancelled = 5
	ExitTimeout   = 6
	ExitDeleted   = 7
)

// Streams are the standard streams of a command.
type Streams struct {
	In  io.Reader
	Out io.Writer
	Err io.Writer
}

// exitError carries an exit code out of a command. With a nil err nothing is printed.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// usageErrorf reports a wrong call: exit code 2.
func usageErrorf(format string, args ...any) error {
	return &exitError{code: ExitUsage, err: fmt.Errorf(format, args...)}
}

// Main runs the command line args and returns the exit code. The first SIGINT
// or SIGTERM cancels the command's context; a second one ends the process.
func Main(args []string, streams Streams) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // the next signal has its default effect

	return execute(ctx, NewRoot(streams), args, streams)
}

// execute runs a command line on a command tree and returns the exit code.
func execute(ctx context.Context, root *cobra.Command, args []string, streams Streams) int {
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return ExitOK
	}
	code := ExitError
	if exit, ok := errors.AsType[*exitError](err); ok {
		code = exit.code
		if exit.err == nil {
			return code
		}
	}
	fmt.Fprintf(streams.Err, "error: %s\n", printer.SafeLines(err.Error()))
	return code
}

// NewRoot returns the whole command tree on the given streams.
func NewRoot(streams Streams) *cobra.Command { return newRoot(streams, thisHost()) }

func newRoot(streams Streams, h host) *cobra.Command {
	s := &session{Streams: streams, host: h}
	root := &cobra.Command{
		Use:   "scimesh",
		Short: "Run large molecular computations on the machines of a research group",
		Long: `SciMesh cuts a molecular computation into tasks, hands them to workers on spare
machines, and returns one final CSV: byte for byte what a single process would
have written, whatever died on the way.`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usageErrorf("unknown command %q; see scimesh --help", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetIn(streams.In)
	root.SetOut(streams.Out)
	root.SetErr(streams.Err)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		return &exitError{code: ExitUsage, err: err}
	})
	root.AddGroup(
		&cobra.Group{ID: groupUse, Title: "Using SciMesh:"},
		&cobra.Group{ID: groupServe, Title: "Running SciMesh:"},
	)
	root.AddCommand(
		newMigrate(streams),
		newCoordinator(streams),
		newWorker(streams),
		newWorkload(streams),
		newUp(streams),
		newDebug(streams),
		newVersion(streams),
	)
	addClientCommands(root, s)
	return root
}

// Groups of commands in the help.
const (
	groupUse   = "use"
	groupServe = "serve"
)

// exactArgs is cobra.ExactArgs with exit code 2 and the command's own usage line.
func exactArgs(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != n {
			return usageErrorf("expected %d argument(s), got %d\nusage: %s", n, len(args), cmd.UseLine())
		}
		return nil
	}
}
