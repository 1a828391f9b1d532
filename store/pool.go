package store

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"scimesh.dev/scimesh/migrations"
)

// poolConfig turns a Config into pgx's. Each session limits its own
// statements, so that a client that vanished holds no lock and no snapshot:
// an old snapshot keeps dead rows alive and slows every claim.
func poolConfig(cfg Config) (*pgxpool.Config, error) {
	pc, err := pgxpool.ParseConfig(cfg.URL)
	if err != nil {
		// The parser quotes its input, which may hold a password.
		return nil, fmt.Errorf("%w: database URL is malformed", ErrInvalid)
	}
	pc.MaxConns = cfg.MaxConns
	pc.AfterConnect = func(_ context.Context, c *pgx.Conn) error {
		registerUUID(c.TypeMap())
		return nil
	}
	pc.MaxConnIdleTime = 5 * time.Minute
	pc.HealthCheckPeriod = 15 * time.Second
	setParam(pc.ConnConfig, "application_name", "scimesh")
	setParam(pc.ConnConfig, "timezone", "UTC")
	setParam(pc.ConnConfig, "statement_timeout", millis(cfg.QueryTimeout))
	setParam(pc.ConnConfig, "lock_timeout", millis(cfg.QueryTimeout))
	setParam(pc.ConnConfig, "idle_in_transaction_session_timeout", millis(2*cfg.QueryTimeout))
	if pc.ConnConfig.ConnectTimeout == 0 {
		pc.ConnConfig.ConnectTimeout = 5 * time.Second
	}
	return pc, nil
}

// batchConfig is the configuration of the connections for what workers do in
// batches: claim, record and complete. One batch runs at a time, so they
// need few. Their statements are right only with one plan, which reads rows by
// primary keys or by the claim's own index in its order; but the planner,
// whose statistics of a queue are stale by nature, may take the table for nearly
// empty and read and sort all of it for each batch. So it is left no choice, and
// made once for all: to plan such a statement takes longer than to run it.
func batchConfig(cfg Config) (*pgxpool.Config, error) {
	pc, err := poolConfig(cfg)
	if err != nil {
		return nil, err
	}
	pc.MaxConns = 4
	for _, name := range []string{"enable_sort", "enable_bitmapscan", "enable_seqscan", "enable_hashjoin", "enable_mergejoin"} {
		pc.ConnConfig.RuntimeParams[name] = "off"
	}
	pc.ConnConfig.RuntimeParams["plan_cache_mode"] = "force_generic_plan"
	return pc, nil
}

// renewConfig is batchConfig for renewals, which do not wait for the disk. A
// renewal that a crash of the server takes back leaves the lease as the one
// before set it, which the worker renews again long before it expires.
func renewConfig(cfg Config) (*pgxpool.Config, error) {
	pc, err := batchConfig(cfg)
	if err != nil {
		return nil, err
	}
	pc.MaxConns = 1
	pc.ConnConfig.RuntimeParams["synchronous_commit"] = "off"
	return pc, nil
}

// setParam sets a run-time parameter unless the URL does.
func setParam(c *pgx.ConnConfig, name, value string) {
	if _, ok := c.RuntimeParams[name]; !ok {
		c.RuntimeParams[name] = value
	}
}

func millis(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// checkSchema returns ErrSchemaVersion unless the database was migrated to
// exactly the version that this program embeds.
func (s *Store) checkSchema(ctx context.Context) error {
	var version int64
	var dirty bool
	err := s.pool.QueryRow(ctx, `SELECT version, dirty FROM schema_migrations`).Scan(&version, &dirty)
	var pgErr *pgconn.PgError
	switch {
	case errors.Is(err, pgx.ErrNoRows), errors.As(err, &pgErr) && pgErr.Code == "42P01":
		return fmt.Errorf("%w: the database is empty, version %d is needed: run scimesh migrate up", ErrSchemaVersion, migrations.Latest())
	case err != nil:
		return fmt.Errorf("check schema version: %w", translate(err))
	case dirty:
		return fmt.Errorf("%w: a migration to version %d broke off; repair the database, then run scimesh migrate up", ErrSchemaVersion, version)
	case version < int64(migrations.Latest()):
		return fmt.Errorf("%w: the database has version %d, version %d is needed: run scimesh migrate up", ErrSchemaVersion, version, migrations.Latest())
	case version > int64(migrations.Latest()):
		return fmt.Errorf("%w: the database has version %d, this program knows %d: run a newer scimesh", ErrSchemaVersion, version, migrations.Latest())
	}
	return nil
}
