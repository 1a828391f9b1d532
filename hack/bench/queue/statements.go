//go:build linux

package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// statement is a row of pg_stat_statements.
type statement struct {
	Query  string
	Calls  int64
	Rows   int64
	Blocks int64 // of the shared buffers, found there or read
	WAL    int64 // bytes, with full-page images
	Images int64 // full-page images
	Millis float64
}

const statementsSQL = `
SELECT query, calls, rows, shared_blks_hit + shared_blks_read AS blocks, wal_bytes::bigint AS wal, wal_fpi AS images, total_exec_time AS millis
FROM   pg_stat_statements
WHERE  dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
AND    query NOT LIKE '%raw_tasks%'
AND    query NOT LIKE '%pg_stat_statements%'
AND    query NOT LIKE '%bench_id%'
ORDER BY total_exec_time DESC`

// resetStatements begins a measurement.
func (d *data) resetStatements(ctx context.Context) error {
	_, err := d.db.Exec(ctx, `SELECT pg_stat_statements_reset()`)
	return err
}

// statements returns what the coordinator's statements cost since the reset.
func (d *data) statements(ctx context.Context) ([]statement, error) {
	rows, err := d.db.Query(ctx, statementsSQL)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []statement
	for rows.Next() {
		var s statement
		if err := rows.Scan(&s.Query, &s.Calls, &s.Rows, &s.Blocks, &s.WAL, &s.Images, &s.Millis); err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, rows.Err()
}

// isClaim tells the statement that leases fresh tasks from the others.
func (s statement) isClaim() bool {
	return strings.Contains(s.Query, "SKIP LOCKED") && strings.Contains(s.Query, "chunk_index >=")
}

// cost is what a cycle costs the database.
type cost struct {
	blocksPerTask float64 // that the claim reads, divided by the tasks it leased
	blocksPerCall float64 // that the claim reads, whatever it leased
	tasksPerCall  float64
	wal           float64 // bytes a cycle of all statements
	images        int64
}

func costOf(all []statement, cycles int) cost {
	var c cost
	var wal, blocks, calls, tasks int64
	for _, s := range all {
		wal += s.WAL
		c.images += s.Images
		if s.isClaim() {
			blocks, calls, tasks = blocks+s.Blocks, calls+s.Calls, tasks+s.Rows
		}
	}
	if calls > 0 && tasks > 0 {
		c.blocksPerTask, c.blocksPerCall = float64(blocks)/float64(tasks), float64(blocks)/float64(calls)
		c.tasksPerCall = float64(tasks) / float64(calls)
	}
	if cycles > 0 {
		c.wal = float64(wal) / float64(cycles)
	}
	return c
}

// printStatements lists the costliest statements, for tuning.
func printStatements(w io.Writer, all []statement) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "ms\tcalls\trows\tblocks\tWAL\timages\t  statement")
	for _, s := range all[:min(12, len(all))] {
		fmt.Fprintf(t, "%.0f\t%d\t%d\t%d\t%d\t%d\t  %.70s\n", s.Millis, s.Calls, s.Rows, s.Blocks, s.WAL, s.Images, strings.Join(strings.Fields(s.Query), " "))
	}
	return t.Flush()
}
