// Package migrate moves a database between versions of SciMesh's schema.
// Nothing else does: a coordinator that finds another version refuses to start.
package migrate

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/golang-migrate/migrate/v4"
	driver "github.com/golang-migrate/migrate/v4/database/pgx/v5"
	"github.com/golang-migrate/migrate/v4/source/iofs"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"scimesh.dev/scimesh/migrations"
)

// State is the version of a database's schema.
type State struct {
	// Version is the last migration applied; 0 for an empty database.
	Version uint
	// Dirty is true if a migration broke off half way.
	Dirty bool
	// Latest is the newest migration that this program knows.
	Latest uint
}

// Up applies all migrations that are missing.
func Up(ctx context.Context, url string) (State, error) {
	return run(ctx, url, (*migrate.Migrate).Up)
}

// Down takes the last steps migrations back; all of them if steps is 0. What
// their tables hold is lost.
func Down(ctx context.Context, url string, steps int) (State, error) {
	return run(ctx, url, func(m *migrate.Migrate) error {
		if steps > 0 {
			return m.Steps(-steps)
		}
		return m.Down()
	})
}

// Version reads the version and changes nothing but that the table of
// versions exists afterwards.
func Version(ctx context.Context, url string) (State, error) {
	return run(ctx, url, func(*migrate.Migrate) error { return nil })
}

func run(ctx context.Context, url string, change func(*migrate.Migrate) error) (State, error) {
	cc, err := pgx.ParseConfig(url)
	if err != nil {
		return State{}, errors.New("migrate: database URL is malformed") // the parser's error may hold a password
	}
	db := stdlib.OpenDB(*cc)
	defer db.Close()

	m, err := open(ctx, db)
	if err != nil {
		return State{}, err
	}
	defer m.Close()

	// golang-migrate stops between two migrations, never within one.
	stop := context.AfterFunc(ctx, func() { m.GracefulStop <- true })
	defer stop()

	if err := change(m); err != nil && !errors.Is(err, migrate.ErrNoChange) {
		return State{}, fmt.Errorf("migrate: %w", err)
	}
	st := State{Latest: migrations.Latest()}
	st.Version, st.Dirty, err = m.Version()
	if err != nil && !errors.Is(err, migrate.ErrNilVersion) {
		return State{}, fmt.Errorf("migrate: read version: %w", err)
	}
	return st, nil
}

func open(ctx context.Context, db *sql.DB) (*migrate.Migrate, error) {
	if err := db.PingContext(ctx); err != nil {
		return nil, errors.New("migrate: the database cannot be reached")
	}
	source, err := iofs.New(migrations.FS, ".")
	if err != nil {
		return nil, fmt.Errorf("migrate: %w", err)
	}
	target, err := driver.WithInstance(db, &driver.Config{})
	if err != nil {
		return nil, fmt.Errorf("migrate: %w", err)
	}
	m, err := migrate.NewWithInstance("iofs", source, "postgres", target)
	if err != nil {
		return nil, fmt.Errorf("migrate: %w", err)
	}
	return m, nil
}
