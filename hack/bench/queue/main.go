//go:build linux

// Command queue measures the task queue as workers meet it: how many cycles of
// claim, heartbeat, upload and result a second a coordinator serves over HTTP,
// to how many workers, beside two peers in the same run on the same machine and
// the same PostgreSQL server:
//
//   - the raw cycle: claim, heartbeat and completion as three single-row
//     statements of pgbench, without HTTP and without a result;
//   - River, a job queue on PostgreSQL in Go, with jobs that do nothing
//     (in a module of its own, skipped where that cannot be had).
//
// The coordinator is the real program in a process of its own. PostgreSQL is a
// private server that writes to disk as one does whose data matter. Every
// simulated worker has one connection and makes the calls of the contract.
// The run fails if any task was ever given to two workers, or if the database
// does not hold exactly what the workers delivered.
//
//	go run ./hack/bench/queue                          the table, a quarter of an hour
//	go run ./hack/bench/queue -workers 32 -ended 0     one line of it
//	go run ./hack/bench/queue -connections 10000       also the claim's latency under many connections
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// options are what is measured.
type options struct {
	workers     []int
	ended       []int64
	seconds     int
	passes      int
	riverJobs   int
	connections int
	idle        int
	binary      string
	dir         string
	statements  bool
	coordinator []string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	o, err := parse(os.Args[1:], os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return
	case err != nil:
		os.Exit(2)
	}
	if err := bench(ctx, o, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "queue:", err)
		stop()
		os.Exit(1) //nolint:gocritic // stop was called
	}
}

func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	var workers, ended, env string
	f := flag.NewFlagSet("queue", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.StringVar(&workers, "workers", "8,32,256,1000", "numbers of workers")
	f.StringVar(&ended, "ended", "0,3000000", "ended tasks in the table, ascending")
	f.IntVar(&o.seconds, "seconds", 10, "length of each measurement")
	f.IntVar(&o.passes, "passes", 3, "measurements of each; their medians are shown")
	f.IntVar(&o.riverJobs, "river-jobs", 100000, "jobs for River in each pass; 0 leaves it out")
	f.IntVar(&o.connections, "connections", 0, "also measure the claim with so many workers whose tasks take 20 s, at one cycle in 25 s each")
	f.IntVar(&o.idle, "idle", 2000, "idle workers that wait for tasks, for the memory that each costs; 0 leaves it out")
	f.StringVar(&o.binary, "binary", "", "the scimesh program (default: built from this tree)")
	f.StringVar(&o.dir, "dir", "", "folder for the run, on the disk to be measured (default: a temporary one)")
	f.BoolVar(&o.statements, "statements", false, "show the costliest statements of each run")
	f.StringVar(&env, "coordinator-env", "", "settings of the coordinator, NAME=VALUE,…")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	counts, err := numbers(workers)
	for _, n := range counts {
		o.workers = append(o.workers, int(n))
	}
	if err == nil {
		o.ended, err = numbers(ended)
	}
	if err == nil && (f.NArg() > 0 || o.seconds < 1 || o.passes < 1) {
		err = errors.New("seconds and passes must be positive, and there are no arguments beside flags")
	}
	if env != "" {
		o.coordinator = strings.Split(env, ",")
	}
	if err != nil {
		fmt.Fprintln(stderr, "queue:", err)
	}
	return o, err
}

func numbers(list string) ([]int64, error) {
	var all []int64
	for field := range strings.SplitSeq(list, ",") {
		n, err := strconv.ParseInt(strings.TrimSpace(field), 10, 64)
		if err != nil || n < 0 {
			return nil, fmt.Errorf("%q is no list of numbers", list)
		}
		all = append(all, n)
	}
	return all, nil
}

func (o options) length() time.Duration { return time.Duration(o.seconds) * time.Second }
