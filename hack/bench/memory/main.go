//go:build linux

// Command memory measures how much memory the processes take whose inputs are
// large: a coordinator that receives and plans a table of a gigabyte, and a
// worker, for two sizes of shard. The table is computed while it is uploaded.
// Peaks are those of the kernel (VmHWM). The run fails where the coordinator
// exceeds its goal, or where a worker takes too much for the size of its shard.
//
//	go run ./hack/bench/memory
//	go run ./hack/bench/memory -bytes 100000000
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
	"path/filepath"
	"syscall"

	"scimesh.dev/scimesh/api/client"
	"scimesh.dev/scimesh/hack/internal/platform"
)

type options struct {
	bytes, workerBytes int64
	rows               [2]int64
	binary, dir        string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var o options
	flag.Int64Var(&o.bytes, "bytes", 1<<30, "size of the table that is uploaded and planned")
	flag.Int64Var(&o.workerBytes, "worker-bytes", 64<<20, "size of the table that a worker searches, once for each size of shard")
	flag.Int64Var(&o.rows[0], "small-shard", 20000, "rows of the smaller shards")
	flag.Int64Var(&o.rows[1], "large-shard", 400000, "rows of the larger shards")
	flag.StringVar(&o.binary, "binary", "", "the scimesh program (default: built from this tree)")
	flag.StringVar(&o.dir, "dir", "", "folder for the run (default: a temporary one)")
	flag.Parse()
	if err := measure(ctx, o, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "memory:", err)
		stop()
		os.Exit(1) //nolint:gocritic // stop was called
	}
}

func measure(ctx context.Context, o options, out io.Writer) (err error) {
	if o.dir == "" {
		if o.dir, err = os.MkdirTemp("", "scimesh-memory-"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(o.dir)) }()
	}
	// Where this runs as root, PostgreSQL runs as another user.
	if err := errors.Join(os.MkdirAll(o.dir, 0o755), os.Chmod(o.dir, 0o755)); err != nil {
		return err
	}
	if o.binary == "" {
		o.binary = filepath.Join(o.dir, "scimesh")
		out, err := exec.CommandContext(ctx, "go", "build", "-o", o.binary, "scimesh.dev/scimesh/cmd/scimesh").CombinedOutput()
		if err != nil {
			return fmt.Errorf("build scimesh: %w: %s", err, out)
		}
	}
	p, err := platform.Start(ctx, platform.Options{Dir: o.dir, Binary: o.binary})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	c, err := client.New(p.URL(), p.OperatorToken(), client.Options{})
	if err != nil {
		return err
	}
	r := &rig{options: o, platform: p, client: c, out: out}
	if err := r.coordinatorPeak(ctx); err != nil {
		return err
	}
	return r.workerPeaks(ctx)
}
