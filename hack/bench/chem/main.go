// Command chem times package chem beside RDKit: parsing, perception and
// fingerprint of the same molecules by one core each, in interleaved passes of
// which the fastest counts. Both are measured in processor time, so that other
// work on the machine disturbs them little and equally.
//
//	go run ./hack/bench/chem [-passes N] [-sample N] [-data FOLDER]
//
// FOLDER holds chembl.tsv.gz and queries.tsv (drugs), second column SMILES; by
// default it is ../shared/data. Without it the molecules of Debian's package
// rdkit-data are taken. RDKit is the one in .cache/venv, or that of the
// interpreter named in ORACLE_PYTHON.
package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	_ "embed"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"text/tabwriter"

	"scimesh.dev/scimesh/chem"
)

//go:embed rdkit_passes.py
var rdkitPasses string

func main() {
	passes := flag.Int("passes", 15, "passes over each set, RDKit and chem in turn")
	size := flag.Int("sample", 10_000, "molecules sampled from a large set")
	data := flag.String("data", "../shared/data", "folder of chembl.tsv.gz and queries.tsv")
	flag.Parse()
	if err := run(os.Stdout, *passes, *size, *data); err != nil {
		fmt.Fprintln(os.Stderr, "bench/chem:", err)
		os.Exit(1)
	}
}

// set is a list of molecules under a name.
type set struct {
	name    string
	strings [][]byte
}

func run(out io.Writer, passes, size int, data string) error {
	sets, err := load(size, data)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "molecules\tnumber\tRDKit µs\tchem µs\tratio\tallocs\t")
	version := ""
	for _, s := range sets {
		r, err := compare(s, passes)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		version = r.version
		fmt.Fprintf(w, "%s\t%d\t%.2f\t%.3f\t%.1f\t%.0f\t\n", s.name, len(s.strings), r.rdkit, r.chem, r.rdkit/r.chem, r.allocs)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "RDKit %s in Python, %s; processor time a molecule, fastest of %d passes\n",
		version, chem.EngineName, passes)
	return err
}

// load reads the sets that there are.
func load(size int, data string) ([]set, error) {
	chembl, err := column(filepath.Join(data, "chembl.tsv.gz"), 1, "\t", 1)
	if err == nil {
		drugs, err := column(filepath.Join(data, "queries.tsv"), 1, "\t", 1)
		return []set{{"chembl", sample(chembl, size)}, {"drugs", drugs}}, err
	}
	const debian = "/usr/share/RDKit/Data/"
	nci, err := column(debian+"NCI/first_5K.smi", 0, "\t", 0)
	if err != nil {
		return nil, fmt.Errorf("neither %s nor the package rdkit-data is there: %w", data, err)
	}
	wehi, err := column(debian+"Pains/test_data/wehi_mols.csv", 1, `"`, 0)
	return []set{{"nci", nci}, {"wehi", sample(wehi, size)}}, err
}

// column reads one column of a table, plain or gzip.
func column(name string, index int, separator string, header int) ([][]byte, error) {
	file, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	if z, err := gzip.NewReader(bytes.NewReader(file)); err == nil {
		if file, err = io.ReadAll(z); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	var out [][]byte
	for i, l := range bytes.Split(file, []byte("\n")) {
		if f := bytes.Split(l, []byte(separator)); i >= header && len(f) > index && len(f[index]) > 0 {
			out = append(out, f[index])
		}
	}
	return out, nil
}

func sample(s [][]byte, n int) [][]byte {
	r := rand.New(rand.NewPCG(7, 7))
	r.Shuffle(len(s), func(i, j int) { s[i], s[j] = s[j], s[i] })
	out := make([][]byte, min(n, len(s)))
	for i := range out {
		out[i] = bytes.Clone(s[i]) // side by side, not scattered over the table
	}
	return out
}

// result holds microseconds a molecule.
type result struct {
	version     string
	rdkit, chem float64
	allocs      float64
}

// compare lets RDKit and chem pass over the set in turn.
func compare(s set, passes int) (result, error) {
	r := result{rdkit: 1e99, chem: 1e99}
	rdkit, err := start(s.strings)
	if err != nil {
		return r, err
	}
	defer rdkit.stop()
	r.version = rdkit.version
	e := chem.New(chem.Options{})
	fp := make([]uint64, e.Words())
	// One pass of chem takes about as long as one of RDKit, so that both meet the
	// same disturbances.
	repeats := max(1, 200_000/len(s.strings))
	n := float64(len(s.strings))
	for range passes {
		seconds, err := rdkit.pass()
		if err != nil {
			return r, err
		}
		r.rdkit = min(r.rdkit, seconds/n*1e6)
		before := processorTime()
		for range repeats {
			for _, m := range s.strings {
				_ = e.Fingerprint(fp, m) // what is refused is timed too
			}
		}
		r.chem = min(r.chem, (processorTime()-before).Seconds()/n/float64(repeats)*1e6)
	}
	r.allocs = allocations(func() {
		for _, m := range s.strings {
			_ = e.Fingerprint(fp, m)
		}
	}) / n
	return r, nil
}

// process is RDKit at work.
type process struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	version string
}

func start(molecules [][]byte) (*process, error) {
	python := os.Getenv("ORACLE_PYTHON")
	if python == "" {
		python = ".cache/venv/bin/python"
	}
	p := &process{cmd: exec.Command(python, "-c", rdkitPasses)}
	p.cmd.Stderr = os.Stderr
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.out = bufio.NewReader(out)
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("RDKit: %w (hack/bootstrap python)", err)
	}
	text := fmt.Appendln(nil, len(molecules))
	for _, m := range molecules {
		text = append(append(text, m...), '\n')
	}
	if _, err := p.in.Write(text); err != nil {
		return nil, err
	}
	p.version, err = p.line()
	return p, err
}

func (p *process) line() (string, error) {
	l, err := p.out.ReadString('\n')
	return strings.TrimSpace(l), err
}

// pass is the time of one pass in seconds.
func (p *process) pass() (float64, error) {
	if _, err := io.WriteString(p.in, "\n"); err != nil {
		return 0, err
	}
	l, err := p.line()
	if err != nil {
		return 0, err
	}
	return strconv.ParseFloat(l, 64)
}

// stop lets RDKit end; what it measured is already known.
func (p *process) stop() {
	_ = p.in.Close()
	_ = p.cmd.Wait()
}
