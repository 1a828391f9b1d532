// Package storetest gives tests a private PostgreSQL database with SciMesh's
// schema, and builders for what lies in it. The server is the one that
// TEST_DATABASE_URL names; its user must be allowed to create databases.
package storetest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"scimesh.dev/scimesh/migrations"
	"scimesh.dev/scimesh/store"
	"scimesh.dev/scimesh/store/migrate"
)

// New returns a Store on a private database, which is dropped when the test
// ends. Options change the configuration before the Store is opened.
func New(t testing.TB, options ...func(*store.Config)) *store.Store {
	t.Helper()
	return Open(t, NewDatabase(t), options...)
}

// Open returns a Store on the database at url, closed when the test ends.
func Open(t testing.TB, url string, options ...func(*store.Config)) *store.Store {
	t.Helper()
	cfg := store.Config{URL: url}
	for _, option := range options {
		option(&cfg)
	}
	s, err := store.Open(t.Context(), cfg)
	if err != nil {
		t.Fatalf("open the test's database: %v", err)
	}
	t.Cleanup(s.Close)
	return s
}

// NewDatabase creates a migrated database that is dropped when the test ends,
// and returns its URL.
func NewDatabase(t testing.TB) string {
	t.Helper()
	return createDatabase(t, template(t))
}

// NewEmptyDatabase is NewDatabase without the schema.
func NewEmptyDatabase(t testing.TB) string {
	t.Helper()
	return createDatabase(t, "template0")
}

// ServerURL returns TEST_DATABASE_URL. Without it the test is skipped, or
// fails where CI=true.
func ServerURL(t testing.TB) string {
	t.Helper()
	server := os.Getenv("TEST_DATABASE_URL")
	switch {
	case server != "":
		return server
	case os.Getenv("CI") == "true":
		t.Fatal("TEST_DATABASE_URL is not set")
	default:
		t.Skip("TEST_DATABASE_URL is not set")
	}
	return ""
}

// Conn returns a plain connection to the database at url, for what a Store
// cannot do, closed when the test ends.
func Conn(t testing.TB, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

func createDatabase(t testing.TB, template string) string {
	t.Helper()
	server := ServerURL(t)
	name := "scimesh_test_" + strings.ReplaceAll(store.NewID().String(), "-", "")
	admin(t, server, func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, "CREATE DATABASE "+name+" TEMPLATE "+template)
		return err
	})
	t.Cleanup(func() {
		admin(t, server, func(ctx context.Context, conn *pgx.Conn) error {
			_, err := conn.Exec(ctx, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)")
			return err
		})
	})
	return withDatabase(t, server, name)
}

// template returns the name of a migrated database to copy, making it if no
// test on this server has. Its name holds the hash of the migrations, so a
// changed schema makes a new one; a lock keeps test processes apart.
func template(t testing.TB) string {
	t.Helper()
	server := ServerURL(t)
	name := "scimesh_template_" + schemaHash(t)
	admin(t, server, func(ctx context.Context, conn *pgx.Conn) error {
		if _, err := conn.Exec(ctx, `SELECT pg_advisory_lock(hashtext($1))`, name); err != nil {
			return err
		}
		var ready bool
		err := conn.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1 AND NOT datallowconn)`, name).Scan(&ready)
		if err != nil || ready {
			return err
		}
		if _, err := conn.Exec(ctx, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)"); err != nil {
			return err
		}
		if _, err := conn.Exec(ctx, "CREATE DATABASE "+name+" TEMPLATE template0"); err != nil {
			return err
		}
		if _, err := migrate.Up(ctx, withDatabase(t, server, name)); err != nil {
			return err
		}
		// A template that takes no connections can always be copied.
		_, err = conn.Exec(ctx, "ALTER DATABASE "+name+" ALLOW_CONNECTIONS false")
		return err
	})
	return name
}

func schemaHash(t testing.TB) string {
	t.Helper()
	h := sha256.New()
	err := fs.WalkDir(migrations.FS, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := migrations.FS.ReadFile(path)
		fmt.Fprintf(h, "%s %d\n", path, len(data))
		h.Write(data)
		return err
	})
	if err != nil {
		t.Fatalf("read migrations: %v", err)
	}
	return hex.EncodeToString(h.Sum(nil))[:16]
}

// admin runs fn on a connection of its own to the server's database.
func admin(t testing.TB, server string, fn func(ctx context.Context, conn *pgx.Conn) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, server)
	if err != nil {
		t.Fatalf("connect to TEST_DATABASE_URL: %v", err)
	}
	defer conn.Close(ctx)
	if err := fn(ctx, conn); err != nil {
		t.Fatalf("prepare the test's database: %v", err)
	}
}

// withDatabase replaces the database in a connection URL.
func withDatabase(t testing.TB, server, name string) string {
	t.Helper()
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal("TEST_DATABASE_URL is not a URL")
	}
	u.Path = "/" + name
	return u.String()
}
