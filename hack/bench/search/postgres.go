package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"time"
	"unsafe"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"scimesh.dev/scimesh/store/pgcluster"
)

// askPostgres searches with RDKit's cartridge in a private server, if there is one.
func (c *comparison) askPostgres(out io.Writer, _ string) (err error) {
	postgresDir, err := os.MkdirTemp("", "scimesh-bench-postgres-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(postgresDir)) }()
	cluster, err := pgcluster.Start(c.ctx, pgcluster.Options{Dir: postgresDir, Unsafe: true, EndWithOwner: true})
	if errors.Is(err, pgcluster.ErrNotInstalled) {
		_, err = fmt.Fprintln(out, "PostgreSQL is not here. To compare: hack/bootstrap postgres")
		return err
	}
	if err != nil {
		return err
	}
	defer func() { _ = cluster.Stop(context.WithoutCancel(c.ctx)) }()
	db, err := pgx.Connect(c.ctx, cluster.URL("postgres"))
	if err != nil {
		return err
	}
	defer func() { _ = db.Close(c.ctx) }()
	if _, err := db.Exec(c.ctx, "CREATE EXTENSION rdkit"); err != nil {
		if pg, ok := errors.AsType[*pgconn.PgError](err); !ok || pg.Code != "0A000" && pg.Code != "58P01" {
			return err
		}
		_, err = fmt.Fprintln(out, "RDKit's cartridge is not here. To compare: apt-get install postgresql-15-rdkit (Debian; for another version likewise)")
		return err
	}
	if err := c.loadPostgres(db); err != nil {
		return fmt.Errorf("cartridge: %w", err)
	}
	var version string
	if err := db.QueryRow(c.ctx, "SELECT rdkit_toolkit_version()").Scan(&version); err != nil {
		return err
	}
	peer := "RDKit " + version + ", cartridge for PostgreSQL"
	if err := c.searchPostgres(db, peer, "threshold "+peerThreshold,
		"SELECT row::float8 FROM fingerprints WHERE fp % bfp_from_binary_text($1) ORDER BY row"); err != nil {
		return err
	}
	// By its index it would be faster (ORDER BY fp <%> …), but does not find the nearest.
	return c.searchPostgres(db, peer, fmt.Sprintf("top %d", peerKs[0]), fmt.Sprintf(
		"SELECT tanimoto_sml(fp, bfp_from_binary_text($1)) AS score FROM fingerprints ORDER BY score DESC LIMIT %d", peerKs[0]))
}

// loadPostgres fills a table with the fingerprints and indexes it.
func (c *comparison) loadPostgres(db *pgx.Conn) error {
	if _, err := db.Exec(c.ctx, "CREATE UNLOGGED TABLE raw (row int4, bytes bytea)"); err != nil {
		return err
	}
	row := 0
	_, err := db.CopyFrom(c.ctx, pgx.Identifier{"raw"}, []string{"row", "bytes"}, pgx.CopyFromFunc(func() ([]any, error) {
		if row == c.all.Len() {
			return nil, nil
		}
		row++
		return []any{int32(row - 1), c.bytesOf(row - 1)}, nil
	}))
	if err != nil {
		return err
	}
	for _, sql := range []string{
		"CREATE UNLOGGED TABLE fingerprints AS SELECT row, bfp_from_binary_text(bytes) AS fp FROM raw",
		"DROP TABLE raw",
		"SET maintenance_work_mem = '1GB'",
		"CREATE INDEX ON fingerprints USING gist (fp)",
		"ANALYZE fingerprints",
		"SET max_parallel_workers_per_gather = 0",
		"SET jit = off",
		"SET rdkit.tanimoto_threshold = " + peerThreshold,
	} {
		if _, err := db.Exec(c.ctx, sql); err != nil {
			return fmt.Errorf("%s: %w", sql, err)
		}
	}
	return nil
}

// bytesOf is a row as RDKit writes it; its words are little-endian here, as
// everywhere that the cartridge runs.
func (c *comparison) bytesOf(row int) []byte {
	words := c.rows[row*fingerprintWords:][:fingerprintWords]
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), 8*len(words))
}

func (c *comparison) searchPostgres(db *pgx.Conn, peer, search, sql string) error {
	a := answer{Peer: peer, Search: search}
	for _, row := range c.queries {
		best := time.Duration(math.MaxInt64)
		var hits []float64
		for range c.passes {
			start := time.Now()
			rows, err := db.Query(c.ctx, sql, c.bytesOf(row))
			if err != nil {
				return fmt.Errorf("%s: %w", sql, err)
			}
			if hits, err = pgx.CollectRows(rows, pgx.RowTo[float64]); err != nil {
				return fmt.Errorf("%s: %w", sql, err)
			}
			best = min(best, time.Since(start))
		}
		if search == "threshold "+peerThreshold {
			slices.Sort(hits)
		}
		a.Seconds, a.Hits = append(a.Seconds, best.Seconds()), append(a.Hits, hits)
	}
	c.answers = append(c.answers, a)
	return nil
}
