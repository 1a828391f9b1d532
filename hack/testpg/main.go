// Command testpg runs a command with a PostgreSQL server of its own, whose
// connection string is in the variable TEST_DATABASE_URL:
//
//	go run ./hack/testpg -- go test ./store/...
//
// The server and its data are removed when the command ends, however it ends. If
// TEST_DATABASE_URL is set already, testpg only runs the command. It exits with
// the command's status.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"scimesh.dev/scimesh/store/pgcluster"
)

const (
	urlVariable = "TEST_DATABASE_URL"
	database    = "scimesh_test"
	stopWithin  = 10 * time.Second // a longer shutdown is cut short

	exitFailure = 1
	exitUsage   = 2
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Stderr))
}

func run(ctx context.Context, args []string, stderr io.Writer) int {
	flags := flag.NewFlagSet("testpg", flag.ContinueOnError)
	flags.SetOutput(stderr)
	safe := flags.Bool("fsync", false, "write to disk as a server does whose data matter (slower)")
	flags.Usage = func() {
		fmt.Fprintln(stderr, "usage: testpg [-fsync] -- COMMAND [ARGUMENT...]")
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		return exitUsage
	}
	if flags.NArg() == 0 {
		flags.Usage()
		return exitUsage
	}

	// The command receives a terminal's interrupt itself; testpg waits for it to end.
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)

	if os.Getenv(urlVariable) != "" {
		return runCommand(flags.Args(), os.Environ(), signals, stderr)
	}
	status, err := withServer(ctx, *safe, func(url string) int {
		return runCommand(flags.Args(), append(os.Environ(), urlVariable+"="+url), signals, stderr)
	})
	if err != nil {
		fmt.Fprintln(stderr, "testpg:", err)
		return max(status, exitFailure)
	}
	return status
}

// withServer calls use while a temporary server runs.
func withServer(ctx context.Context, safe bool, use func(url string) int) (status int, err error) {
	dir, err := os.MkdirTemp("", "scimesh-testpg-")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()

	cluster, err := pgcluster.Start(ctx, pgcluster.Options{
		Dir:    dir,
		Unsafe: !safe,
		Settings: map[string]string{
			// Test packages run side by side, each with pools of its own.
			"max_connections": "300",
			// Checks on blocks read and WAL written need its counters.
			"shared_preload_libraries": "pg_stat_statements",
			"max_wal_size":             "4GB",
		},
	})
	if err != nil {
		return 0, err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(ctx, stopWithin)
		defer cancel()
		err = errors.Join(err, cluster.Stop(ctx))
	}()
	if err := cluster.CreateDatabase(ctx, database); err != nil {
		return 0, err
	}
	return use(cluster.URL(database)), nil
}

// runCommand runs a command with this process's streams, passes signals on to
// it, and returns its exit status, 128 and the signal's number if it was killed.
func runCommand(args, env []string, signals <-chan os.Signal, stderr io.Writer) int {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, stderr
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(stderr, "testpg:", err)
		return exitFailure
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // its status is read below
		close(ended)
	}()
	for {
		select {
		case sig := <-signals:
			_ = cmd.Process.Signal(sig) // it may have ended by itself
		case <-ended:
			if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
				return 128 + int(ws.Signal())
			}
			return cmd.ProcessState.ExitCode()
		}
	}
}
