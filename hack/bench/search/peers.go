package main

import (
	"bufio"
	_ "embed"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"scimesh.dev/scimesh/chem/tanimoto"
)

//go:embed peers.py
var peersScript string

// installPeers says how the programs of peers.py come to where they are looked for.
const installPeers = "python3 -m venv .cache/peers && .cache/peers/bin/pip install rdkit fpsim2 chemfp"

// answer is what another program finds and how long it takes. Hits are rows for a
// threshold, similarities for the nearest K.
type answer struct {
	Peer    string      `json:"peer"`
	Search  string      `json:"search"`
	Seconds []float64   `json:"seconds"`
	Hits    [][]float64 `json:"hits"`
	Missing string      `json:"missing"`
}

// comparison is the searches made beside other programs, few of them, since a
// search takes those long.
type comparison struct {
	*bench
	queries []int // rows
	passes  int
	answers []answer
	own     map[string]*answer
}

const (
	peerQueries   = 5
	peerPasses    = 3
	peerThreshold = "0.7"
)

var peerKs = []int{20, 100, 1000}

// comparePeers prints how many times faster the best kernel is than other programs.
func (b *bench) comparePeers(out io.Writer) error {
	c := &comparison{bench: b, passes: min(peerPasses, b.passes), own: map[string]*answer{}}
	for i := range min(peerQueries, b.queries) {
		c.queries = append(c.queries, i*(b.all.Len()/b.queries))
	}
	dir, err := os.MkdirTemp("", "scimesh-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	for _, ask := range []func(io.Writer, string) error{c.askPython, c.askPostgres} {
		if err := ask(out, dir); err != nil {
			return err
		}
	}
	return c.print(out)
}

// askPython runs peers.py with the interpreter that has most of the programs.
func (c *comparison) askPython(out io.Writer, dir string) error {
	python := ""
	for _, p := range []string{os.Getenv("PEERS_PYTHON"), ".cache/peers/bin/python", ".cache/venv/bin/python"} {
		if _, err := os.Stat(p); err == nil {
			python = p
			break
		}
	}
	if python == "" {
		_, err := fmt.Fprintln(out, "RDKit, FPSim2, chemfp are not here. To compare:", installPeers)
		return err
	}
	rows := filepath.Join(dir, "rows")
	if err := c.writeRows(rows); err != nil {
		return err
	}
	cmd := exec.Command(python, "-c", peersScript, "--rows", rows, "--queries", joined(c.queries), "--k", joined(peerKs),
		"--threshold", peerThreshold, "--passes", strconv.Itoa(c.passes))
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("%s: %w", python, err)
	}
	lines := json.NewDecoder(bufio.NewReader(stdout))
	for {
		var a answer
		if err := lines.Decode(&a); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return fmt.Errorf("answer of %s: %w", python, err)
		}
		if a.Missing != "" {
			fmt.Fprintf(out, "%s is not compared: it wants %s. All of them: %s\n", a.Peer, a.Missing, installPeers)
			continue
		}
		c.answers = append(c.answers, a)
	}
	return cmd.Wait()
}

func (c *comparison) writeRows(name string) error {
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(file, 1<<20)
	if err := binary.Write(w, binary.LittleEndian, c.rows); err != nil {
		return err
	}
	return errors.Join(w.Flush(), file.Close())
}

func joined(numbers []int) string {
	var texts []string
	for _, n := range numbers {
		texts = append(texts, strconv.Itoa(n))
	}
	return strings.Join(texts, ",")
}

// ownAnswer makes the searches with the best kernel.
func (c *comparison) ownAnswer(search string) (*answer, error) {
	if a := c.own[search]; a != nil {
		return a, nil
	}
	q := tanimoto.Query{Threshold: tanimoto.MustThreshold(peerThreshold)}
	if k, ok := strings.CutPrefix(search, "top "); ok {
		n, err := strconv.Atoi(k)
		if err != nil {
			return nil, err
		}
		q = tanimoto.Query{K: n}
	}
	a := &answer{Search: search}
	s := c.all.Searcher()
	for _, row := range c.queries {
		q.Fingerprint = c.rows[row*fingerprintWords:][:fingerprintWords]
		best := time.Duration(math.MaxInt64)
		var hits []tanimoto.Hit
		for range 10 * c.passes {
			clock := startClock()
			var err error
			if hits, err = s.Search(c.ctx, q); err != nil {
				return nil, err
			}
			best = min(best, clock.elapsed())
		}
		found := make([]float64, len(hits))
		for i, h := range hits {
			if found[i] = float64(h.Row); q.K > 0 {
				found[i] = h.Float64()
			}
		}
		if q.K == 0 {
			slices.Sort(found)
		}
		a.Seconds, a.Hits = append(a.Seconds, best.Seconds()), append(a.Hits, found)
	}
	c.own[search] = a
	return a, nil
}

func shortened(hits []float64) string {
	const few = 30
	return fmt.Sprintf("%d hits %.8g", len(hits), hits[:min(few, len(hits))])
}

func mean(numbers []float64) float64 {
	sum := 0.0
	for _, n := range numbers {
		sum += n
	}
	return sum / float64(len(numbers))
}

// printPairs compares all pairs with RDKit's bulk function in a loop over the
// molecules, each with those after it: as many comparisons as that takes, at the
// speed at which it searched.
func (c *comparison) printPairs(w io.Writer) {
	i := slices.IndexFunc(c.answers, func(a answer) bool { return strings.Contains(a.Peer, "Bulk") })
	j := slices.IndexFunc(c.measures, func(m *measure) bool { return strings.HasPrefix(m.name, "pairs") })
	if i < 0 || j < 0 {
		return
	}
	n := float64(c.some.Len())
	loop := mean(c.answers[i].Seconds) / float64(c.all.Len()) * n * (n - 1) / 2
	own := c.measures[j].seconds()
	fmt.Fprintf(w, "%s in a loop\t%s\t%.0f\t%.0f\t%.0f\t(extrapolated)\t\n", c.answers[i].Peer, c.measures[j].name, loop*1e3, own*1e3, loop/own)
}

// print compares the answers: they must be the same, but for similarities that a
// program gives in single precision.
func (c *comparison) print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "beside\tsearch\tits ms\tchem ms\ttimes faster\thits\t")
	var different []string
	for _, a := range c.answers {
		own, err := c.ownAnswer(a.Search)
		if err != nil {
			return err
		}
		verdict := "same"
		for i, hits := range a.Hits {
			if !slices.EqualFunc(hits, own.Hits[i], func(x, y float64) bool { return math.Abs(x-y) < 1e-6 }) {
				verdict = "OTHER"
				different = append(different, fmt.Sprintf("%s, %s, query %d: %s; chem finds %s", a.Peer, a.Search, i, shortened(hits), shortened(own.Hits[i])))
			}
		}
		fmt.Fprintf(w, "%s\t%s\t%.3f\t%.3f\t%.0f\t%s\t\n", a.Peer, a.Search, mean(a.Seconds)*1e3, mean(own.Seconds)*1e3,
			mean(a.Seconds)/mean(own.Seconds), verdict)
	}
	c.printPairs(w)
	if err := w.Flush(); err != nil {
		return err
	}
	if different != nil {
		return fmt.Errorf("other hits:\n%s", strings.Join(different, "\n"))
	}
	return nil
}
