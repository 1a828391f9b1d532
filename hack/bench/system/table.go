//go:build linux

package main

import (
	"bytes"
	"context"
	_ "embed" // for the Python program
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// The query of the first search, and of the second.
const (
	imatinib  = "Cc1ccc(NC(=O)c2ccc(CN3CCN(C)CC3)cc2)cc1Nc1nccc(-c2cccnc2)n1"
	gefitinib = "COc1cc2ncnc(Nc3ccc(F)c(Cl)c3)c2cc1OCCCN1CCOCC1"
)

func (r *rig) jobs() []job {
	search := func(name, smiles string) job {
		return job{name, "similarity-search", fmt.Sprintf("{query_smiles: %q, top_k: 100}", smiles)}
	}
	list := []job{
		search("first-search", imatinib), search("second-search", gefitinib),
		{"graph", "similarity-graph", fmt.Sprintf(`{threshold: "0.7", max_rows: %d}`, r.graphRows)},
	}
	if r.whole {
		list = append(list, job{"whole-graph", "similarity-graph", `{threshold: "0.7"}`})
	}
	return list
}

// run measures the jobs one after the other and prints the table.
func (r *rig) run(ctx context.Context) error {
	w := tabwriter.NewWriter(r.out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "job\trows\tdistributed\tlocal\tratio\tCPU\tlocal CPU\tcoordinator\tPostgreSQL\tlocal peak\n")
	var first outcome
	for i, j := range r.jobs() {
		local, err := r.local(ctx, j)
		if err != nil {
			return err
		}
		spread, err := r.distributed(ctx, j)
		if err != nil {
			return err
		}
		if !bytes.Equal(local.csv, spread.csv) {
			return fmt.Errorf("%s: the distributed result has %d bytes and differs from the local one, which has %d", j.name, len(spread.csv), len(local.csv))
		}
		if i == 0 {
			first = spread
		}
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%.2f\t%s\t%s\t%.0f %%\t%.0f %%\t%d MB\n", j.name, spread.rows, seconds(spread.wall), seconds(local.wall),
			spread.wall.Seconds()/local.wall.Seconds(), seconds(spread.cpu), seconds(local.cpu),
			share(spread.parts.coordinator, spread.cpu), share(spread.parts.database, spread.cpu), local.peak>>20)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	coordinator, worker, err := r.memory()
	if err != nil {
		return err
	}
	fmt.Fprintf(r.out, "peak memory: coordinator %d MB, worker %d MB\n", coordinator>>20, worker>>20)
	return r.rdkit(ctx, first)
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.2f s", d.Seconds()) }

func share(part, whole time.Duration) float64 {
	return 100 * part.Seconds() / max(whole.Seconds(), 1e-9)
}

// search is the first search in one Python process, over the first rows. It
// prints how many it scored and the seconds it took, without starting Python.
//
//go:embed rdkit_search.py
var search string

// rdkit compares the first search with one Python process.
func (r *rig) rdkit(ctx context.Context, first outcome) error {
	if r.rdkitRows == 0 {
		return nil
	}
	out, err := exec.CommandContext(ctx, r.python, "-c", search, r.input, strconv.FormatInt(r.rdkitRows, 10), imatinib).Output()
	if err != nil {
		return fmt.Errorf("RDKit (hack/bootstrap python installs it, -rdkit-rows 0 leaves it out): %w", err)
	}
	fields := strings.Fields(string(out))
	if len(fields) != 2 {
		return fmt.Errorf("RDKit printed %q", out)
	}
	took, err := strconv.ParseFloat(fields[1], 64)
	if err != nil {
		return err
	}
	total, err := r.inputRows(ctx)
	if err != nil {
		return err
	}
	whole := took * float64(total) / float64(r.rdkitRows)
	fmt.Fprintf(r.out, "RDKit in one Python process, measured on %d rows: %.1f s; for all %d: %.0f s, %.0f times the first distributed search\n",
		r.rdkitRows, took, total, whole, whole/first.wall.Seconds())
	return nil
}

// inputRows is how many rows the first search read.
func (r *rig) inputRows(ctx context.Context) (int64, error) {
	out, err := r.platform.Scimesh(ctx, "get", "job", "first-search", "-o", "jsonpath={.status.ledger.rowsRead}")
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(strings.TrimSpace(out), 10, 64)
}
