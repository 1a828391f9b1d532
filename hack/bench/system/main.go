//go:build linux

// Command system measures what a user waits for: searches and graphs over a real
// table of molecules, by two workers and a coordinator on this machine, beside
// the same jobs in one process and beside RDKit in Python. Each pair of results
// must be equal, byte for byte.
//
//	go run ./hack/bench/system -input chembl.tsv.gz
//	go run ./hack/bench/system -input chembl.tsv.gz -whole=false -graph-rows 50000
//
// Wall times depend on what else the machine does; processor times hardly do.
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

	"scimesh.dev/scimesh/hack/internal/platform"
)

type options struct {
	input, binary, dir, python string
	workers                    int
	graphRows, rdkitRows       int64
	whole                      bool
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var o options
	flag.StringVar(&o.input, "input", "", "table of molecules (required)")
	flag.IntVar(&o.workers, "workers", 2, "workers, and threads of a local run")
	flag.Int64Var(&o.graphRows, "graph-rows", 200_000, "rows of the smaller graph")
	flag.BoolVar(&o.whole, "whole", true, "also the graph of all rows")
	flag.Int64Var(&o.rdkitRows, "rdkit-rows", 50_000, "rows that RDKit searches; 0 leaves it out")
	flag.StringVar(&o.python, "python", filepath.Join(".cache", "venv", "bin", "python"), "a Python that has RDKit")
	flag.StringVar(&o.binary, "binary", "", "the scimesh program (default: built from this tree)")
	flag.StringVar(&o.dir, "dir", "", "folder for the run (default: a temporary one)")
	flag.Parse()
	if err := measure(ctx, o, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "system:", err)
		stop()
		os.Exit(1) //nolint:gocritic // stop was called
	}
}

func measure(ctx context.Context, o options, out io.Writer) (err error) {
	if o.input, err = filepath.Abs(o.input); err != nil {
		return err
	}
	if _, err := os.Stat(o.input); err != nil {
		return fmt.Errorf("-input: %w", err)
	}
	if o.dir == "" {
		if o.dir, err = os.MkdirTemp("", "scimesh-system-"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(o.dir)) }()
	}
	// Where this runs as root, PostgreSQL runs as another user.
	if err := os.Chmod(o.dir, 0o755); err != nil { //nolint:gosec // nothing in it is secret but files of their own mode
		return err
	}
	if o.binary == "" {
		o.binary = filepath.Join(o.dir, "scimesh")
		build := exec.CommandContext(ctx, "go", "build", "-o", o.binary, "scimesh.dev/scimesh/cmd/scimesh")
		build.Stderr = os.Stderr
		if err := build.Run(); err != nil {
			return fmt.Errorf("build scimesh: %w", err)
		}
	}
	p, err := platform.Start(ctx, platform.Options{Dir: o.dir, Binary: o.binary})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	r := &rig{options: o, platform: p, out: out}
	defer r.stop()
	if err := r.start(ctx); err != nil {
		return err
	}
	return r.run(ctx)
}
