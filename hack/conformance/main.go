//go:build unix

// Command conformance checks that a coordinator, or a worker, keeps the contract
// of docs/api-contract.md. It knows nothing of either's insides, so that any
// implementation can be checked.
//
//	conformance -operator-token T -worker-token T coordinator https://scimesh.example
//	conformance worker PROGRAM [ARGUMENT...]
//
// The coordinator is asked as a worker asks; Jobs named conformance-… come and go.
// The worker is started with SCIMESH_COORDINATOR_URL, SCIMESH_TOKEN and
// SCIMESH_WORK_DIR set, against a coordinator that the program plays.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
)

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	flags := flag.NewFlagSet("conformance", flag.ContinueOnError)
	operator := flags.String("operator-token", os.Getenv("SCIMESH_TOKEN"), "token of an operator, for Jobs")
	worker := flags.String("worker-token", "", "token of workers; default: the operator's")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var checks []check
	switch rest := flags.Args(); {
	case len(rest) == 2 && rest[0] == "coordinator":
		if *worker == "" {
			*worker = *operator
		}
		checks = newCoordinatorSuite(rest[1], *operator, *worker).checks()
	case len(rest) >= 2 && rest[0] == "worker":
		checks = newWorkerSuite(rest[1:], os.Stderr).checks()
	default:
		fmt.Fprintln(os.Stderr, "usage: conformance [flags] coordinator URL | worker PROGRAM [ARGUMENT...]")
		return 2
	}
	passed, failed := report(ctx, os.Stdout, checks)
	fmt.Printf("%d passed, %d failed\n", passed, failed)
	if failed > 0 {
		return 1
	}
	return 0
}
