// Command search measures package tanimoto against the limit of every search that
// reads fingerprints as rows: R, the time to read them all from memory once,
// measured in the same run. One core, the fastest of interleaved passes for each
// query, for each kernel that the processor can run.
//
//	go run ./hack/bench/search [-n N] [-pairs N] [-queries N] [-passes N] [-data FOLDER] [-peers=false]
//
// Two more tables say what two goroutines gain, and how many times faster chem is
// than RDKit's BulkTanimotoSimilarity, FPSim2, chemfp and RDKit's cartridge for
// PostgreSQL, as far as they are installed: for the same fingerprints, with the
// same hits, which is checked.
//
// FOLDER holds chembl.tsv.gz, second column SMILES; by default it is
// ../shared/data. Without it the molecules of Debian's package rdkit-data serve,
// or else the medicines of manifests/data; where molecules are fewer than N they
// are repeated, which makes many hits equal. Figures to be compared want
// -n 1000000 -pairs 200000, or as many molecules as there are.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"text/tabwriter"
	"time"

	"scimesh.dev/scimesh/chem/tanimoto"
)

const (
	fingerprintBits  = 2048
	fingerprintWords = fingerprintBits / 64
)

// options are the flags.
type options struct {
	n, pairs, queries, passes int
	data                      string
	peers                     bool
}

func main() {
	var o options
	flag.IntVar(&o.n, "n", 100_000, "fingerprints to search")
	flag.IntVar(&o.pairs, "pairs", 20_000, "fingerprints of which all pairs are compared")
	flag.IntVar(&o.queries, "queries", 20, "queries a pass")
	flag.IntVar(&o.passes, "passes", 5, "passes, of which the fastest counts")
	flag.StringVar(&o.data, "data", "../shared/data", "folder of chembl.tsv.gz")
	flag.BoolVar(&o.peers, "peers", true, "compare with other programs")
	flag.Parse()
	if err := run(os.Stdout, o); err != nil {
		fmt.Fprintln(os.Stderr, "bench/search:", err)
		os.Exit(1)
	}
}

func run(out io.Writer, o options) error {
	if o.n < 1 || o.pairs < 1 || o.queries < 1 || o.passes < 1 {
		return fmt.Errorf("every number must be at least 1")
	}
	rows, molecules, err := load(o.data, o.n)
	if err != nil {
		return err
	}
	runtime.LockOSThread() // processor time is that of the thread
	start := time.Now()
	x, err := tanimoto.Build(rows, fingerprintBits)
	if err != nil {
		return err
	}
	some, err := tanimoto.Build(rows[:min(o.pairs, o.n)*fingerprintWords], fingerprintBits)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%d fingerprints of %d molecules, indexed in %.1f s\n", x.Len(), molecules, time.Since(start).Seconds())

	b := &bench{options: o, rows: rows, all: x, some: some, ctx: context.Background()}
	if err := b.measure(); err != nil {
		return err
	}
	if err := b.print(out); err != nil {
		return err
	}
	if err := b.measureTwo(out); err != nil || !o.peers {
		return err
	}
	return b.comparePeers(out)
}

// healthy is what one core of today's processors reads from memory, in GB/s, if
// nothing else does.
const healthy = 20

// print writes the table: how many times faster than R.
func (b *bench) print(out io.Writer) error {
	r := b.read.Seconds()
	speed := float64(len(b.rows)*8) / r / 1e9
	fmt.Fprintf(out, "R = %.3f ms: %.1f GB/s, %.0f million fingerprints a second\n", r*1e3, speed, float64(b.all.Len())/r/1e6)
	if speed < healthy {
		fmt.Fprintf(out, "An idle machine reads %d GB/s or more: with other work on this one, times R flatter.\n", healthy)
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "kernel\tsearch\ttime µs\thits\ttimes R\tgoal\t\t")
	for _, m := range b.measures {
		verdict := "met"
		if m.timesR(r) < m.goal {
			verdict = "missed"
		}
		fmt.Fprintf(w, "%s\t%s\t%.1f\t%.0f\t%.1f\t%.0f\t%s\t\n",
			m.kernel, m.name, m.seconds()*1e6, m.meanHits(), m.timesR(r), m.goal, verdict)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(out, `Goals are for a million fingerprints. All pairs of n are compared with reading
n/2 times the n rows; RDKit's bulk function in a loop reaches about 0.04 of that.`)
	return err
}
