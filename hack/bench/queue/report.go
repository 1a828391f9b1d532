//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/jackc/pgx/v5"
)

// The goals. Ratios are to peers in the same run.
const (
	minRiver    = 0.15
	maxBlocks   = 40
	maxWAL      = 2048
	maxIdleKiB  = 40
	maxClaimP99 = 50 * time.Millisecond
)

// minRaw is the goal for the HTTP cycle beside the raw one.
func minRaw(workers int) float64 {
	switch {
	case workers <= 8:
		return 0.6
	case workers <= 32:
		return 0.9
	default:
		return 2
	}
}

// line is one number of workers at one size of the table, measured several times.
type line struct {
	workers   int
	ended     int64
	measured  []measured
	river     []float64
	httpRates []float64
	rawRates  []float64
}

func (l *line) add(m measured) {
	l.measured = append(l.measured, m)
	l.httpRates, l.rawRates = append(l.httpRates, m.perSecond()), append(l.rawRates, m.raw)
}

// medianOf is the middle value, or the lower of the two.
func medianOf[T any](all []T, key func(T) float64) float64 {
	keys := make([]float64, len(all))
	for i, v := range all {
		keys[i] = key(v)
	}
	slices.Sort(keys)
	if len(keys) == 0 {
		return 0
	}
	return keys[(len(keys)-1)/2]
}

func same(v float64) float64 { return v }

// ratio is the median of the ratios of each pass.
func (l *line) ratio() float64 {
	return medianOf(l.measured, func(m measured) float64 { return m.perSecond() / m.raw })
}

func verdict(ok bool, goal string) string {
	if ok {
		return " (goal " + goal + ": met)"
	}
	return " (goal " + goal + ": MISSED)"
}

func mark(v float64, ok bool) string {
	if ok {
		return fmt.Sprintf("%.2f ✓", v)
	}
	return fmt.Sprintf("%.2f ✗", v)
}

// printTable prints all lines, with medians of the passes.
func (r *rig) printTable(lines []line) error {
	t := tabwriter.NewWriter(r.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "\nended\tworkers\traw/s\tHTTP/s\tHTTP:raw\tgoal\tRiver/s\tHTTP:River\tgoal\tclaim p50\tp99\tblocks a claim\tgoal\t\n")
	for i := range lines {
		l := &lines[i]
		if len(l.measured) == 0 {
			continue
		}
		ms := func(q float64) string {
			v := medianOf(l.measured, func(m measured) float64 { return float64(m.quantile(q)) })
			return fmt.Sprintf("%.1f ms", v/float64(time.Millisecond))
		}
		http, river := medianOf(l.httpRates, same), medianOf(l.river, same)
		blocks := medianOf(l.measured, func(m measured) float64 { return m.blocksPerTask })
		share, riverShare := "-", "-"
		if river > 0 {
			share = fmt.Sprintf("%.0f", river)
			riverShare = mark(http/river, http/river >= minRiver)
		}
		fmt.Fprintf(t, "%d\t%d\t%.0f\t%.0f\t%s\t≥ %.1f\t%s\t%s\t≥ %.2f\t%s\t%s\t%s\t≤ %d\t\n", l.ended, l.workers, medianOf(l.rawRates, same), http,
			mark(l.ratio(), l.ratio() >= minRaw(l.workers)), minRaw(l.workers), share, riverShare, minRiver, ms(.5), ms(.99), mark(blocks, blocks <= maxBlocks), maxBlocks)
	}
	fmt.Fprintf(t, "\n")
	return t.Flush()
}

// printMachine says on what the figures were taken.
func (r *rig) printMachine(ctx context.Context, db *pgx.Conn) error {
	load, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return err
	}
	fmt.Fprintf(r.out, "%s, %d processors, load before the run %s; %d passes of %d s, medians\n", runtime.Version(), runtime.NumCPU(),
		strings.Join(strings.Fields(string(load))[:3], " "), r.passes, r.seconds)
	rows, err := db.Query(ctx, `
		SELECT name || ' = ' || current_setting(name)
		FROM   pg_settings
		WHERE  name IN ('server_version', 'fsync', 'synchronous_commit', 'full_page_writes', 'wal_sync_method') OR source NOT IN ('default', 'override', 'client', 'session')
		AND    name !~ '^(lc_|log_|port|listen|unix|default_text|timezone|dynamic|DateStyle|TimeZone)'
		ORDER BY name`)
	if err != nil {
		return err
	}
	settings, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(r.out, "PostgreSQL: %s\n", strings.Join(settings, ", "))
	return err
}
