package pgcluster_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"scimesh.dev/scimesh/store/pgcluster"
)

// tempDir returns an empty folder that another user than root can reach, which
// that of t.TempDir is not.
func tempDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "scimesh-pgcluster-") //nolint:usetesting // root's t.TempDir is closed to the server's user
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// start starts a cluster that ends with the test. Without PostgreSQL the test
// is skipped, but not in CI.
func start(t *testing.T, opts pgcluster.Options) *pgcluster.Cluster {
	t.Helper()
	c, err := pgcluster.Start(t.Context(), opts)
	if errors.Is(err, pgcluster.ErrNotInstalled) && os.Getenv("CI") == "" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return c
}

func connect(t *testing.T, c *pgcluster.Cluster) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), c.URL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.WithoutCancel(t.Context())) })
	return conn
}

func execSQL(t *testing.T, c *pgcluster.Cluster, sql string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), c.URL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func query(t *testing.T, c *pgcluster.Cluster, sql string) []string {
	t.Helper()
	rows, err := connect(t, c).Query(t.Context(), sql)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	values, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return values
}

func port(t *testing.T, c *pgcluster.Cluster) string {
	t.Helper()
	u, err := url.Parse(c.URL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	return u.Port()
}

func TestNewCluster(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	c := start(t, pgcluster.Options{Dir: dir, Settings: map[string]string{
		"shared_preload_libraries": "pg_stat_statements",
		"application_name":         `it's a \ "name"`,
	}})
	for setting, want := range map[string]string{
		"fsync":                    "on",
		"full_page_writes":         "on",
		"data_checksums":           "on",
		"timezone":                 "UTC",
		"server_encoding":          "UTF8",
		"lc_collate":               "C",
		"listen_addresses":         "127.0.0.1",
		"unix_socket_directories":  "",
		"shared_preload_libraries": "pg_stat_statements",
	} {
		// lc_collate is a column of pg_database since version 16.
		sql := "SELECT setting FROM pg_settings WHERE lower(name) = '" + setting + "'"
		if setting == "lc_collate" {
			sql = "SELECT datcollate FROM pg_database WHERE datname = 'postgres'"
		}
		if diff := cmp.Diff([]string{want}, query(t, c, sql)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", setting, diff)
		}
	}
	if diff := cmp.Diff([]string{`it's a \ "name"`}, query(t, c, "SELECT reset_val FROM pg_settings WHERE name = 'application_name'")); diff != "" {
		t.Errorf("quoted setting (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"B", "Z", "a", "é", "😀"}, query(t, c, "SELECT * FROM unnest(ARRAY['a', '😀', 'é', 'B', 'Z']) AS x ORDER BY x")); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
	for path, want := range map[string]os.FileMode{"": 0o700, "password": 0o600, "postgres.log": 0o600, "lock": 0o600, "data": 0o700} {
		info, err := os.Stat(filepath.Join(dir, path))
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("mode of %q is %o, want %o", path, got, want)
		}
	}
}

func TestRefusesOtherPasswords(t *testing.T) {
	t.Parallel()
	c := start(t, pgcluster.Options{Dir: tempDir(t), Unsafe: true})
	for _, user := range []string{pgcluster.Superuser, "postgres"} {
		addr := fmt.Sprintf("postgres://%s:guess@127.0.0.1:%s/postgres?sslmode=disable", user, port(t, c))
		conn, err := pgx.Connect(t.Context(), addr)
		if err == nil {
			conn.Close(t.Context())
			t.Errorf("user %s got in with a guessed password", user)
		}
	}
}

func TestCreateDatabase(t *testing.T) {
	t.Parallel()
	c := start(t, pgcluster.Options{Dir: tempDir(t), Unsafe: true})
	const name = `odd "name"; --`
	for range 2 {
		if err := c.CreateDatabase(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{name}, query(t, c, "SELECT datname FROM pg_database WHERE datname LIKE 'odd%'")); diff != "" {
		t.Errorf("databases (-want +got):\n%s", diff)
	}
}

func TestStopAndStartAgain(t *testing.T) {
	t.Parallel()
	opts := pgcluster.Options{Dir: tempDir(t), Unsafe: true}
	c := start(t, opts)
	execSQL(t, c, "CREATE TABLE kept AS SELECT 'here' AS t")
	if err := c.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if c.Running() {
		t.Error("still running after Stop")
	}
	before := port(t, c)
	c = start(t, opts)
	if got := port(t, c); got != before {
		t.Errorf("port changed from %s to %s", before, got)
	}
	if diff := cmp.Diff([]string{"here"}, query(t, c, "SELECT t FROM kept")); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
}

func TestHurriedStopLosesNothing(t *testing.T) {
	t.Parallel()
	opts := pgcluster.Options{Dir: tempDir(t)}
	c := start(t, opts)
	execSQL(t, c, "CREATE TABLE kept AS SELECT 'here' AS t")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Stop(ended); err != nil {
		t.Fatal(err)
	}
	if c.Running() {
		t.Error("still running after Stop")
	}
	if diff := cmp.Diff([]string{"here"}, query(t, start(t, opts), "SELECT t FROM kept")); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
}

func TestSecondOwnerIsRefused(t *testing.T) {
	t.Parallel()
	opts := pgcluster.Options{Dir: tempDir(t), Unsafe: true}
	start(t, opts)
	if _, err := pgcluster.Start(t.Context(), opts); !errors.Is(err, pgcluster.ErrInUse) {
		t.Errorf("second Start returned %v, want ErrInUse", err)
	}
}

func TestOccupiedPortIsReplaced(t *testing.T) {
	t.Parallel()
	opts := pgcluster.Options{Dir: tempDir(t), Unsafe: true}
	c := start(t, opts)
	if err := c.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	occupied := port(t, c)
	l, err := net.Listen("tcp4", "127.0.0.1:"+occupied)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if got := port(t, start(t, opts)); got == occupied {
		t.Errorf("started on port %s, which another program occupies", got)
	}
}

func TestUnfinishedInitializationIsRepeated(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	if err := os.MkdirAll(filepath.Join(dir, "data.new", "base"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "lock"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	start(t, pgcluster.Options{Dir: dir, Unsafe: true})
	if _, err := os.Stat(filepath.Join(dir, "data.new")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("data.new is still there: %v", err)
	}
}

func TestBadStartsLeaveNothingBehind(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	for name, tc := range map[string]struct {
		settings map[string]string
		want     string
	}{
		"a value that the server refuses": {map[string]string{"max_connections": "many"}, "max_connections"},
		"a name that is none":             {map[string]string{"port = 1\nfsync": "off"}, "no name of a setting"},
		"a value of two lines":            {map[string]string{"port": "1\nfsync = off"}, "more than one line"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := pgcluster.Start(t.Context(), pgcluster.Options{Dir: dir, Unsafe: true, Settings: tc.settings})
			if errors.Is(err, pgcluster.ErrNotInstalled) && os.Getenv("CI") == "" {
				t.Skip(err)
			}
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Fatalf("Start returned %v, want an error that holds %q", err, tc.want)
			}
		})
	}
	start(t, pgcluster.Options{Dir: dir, Unsafe: true})
}

func TestForeignFolderIsRefused(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	if err := os.WriteFile(filepath.Join(dir, "thesis.tex"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := pgcluster.Start(t.Context(), pgcluster.Options{Dir: dir}); err == nil || !strings.Contains(err.Error(), "thesis.tex") {
		t.Errorf("Start returned %v, want an error that names thesis.tex", err)
	}
}

func TestClosedParentFolderIsNamed(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root's server runs as another user")
	}
	parent := filepath.Join(tempDir(t), "closed")
	if err := os.Mkdir(parent, 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := pgcluster.Start(t.Context(), pgcluster.Options{Dir: filepath.Join(parent, "pg")})
	if err == nil || !strings.Contains(err.Error(), "cannot enter "+filepath.Dir(parent)) {
		t.Errorf("Start returned %v, want an error that names %s", err, filepath.Dir(parent))
	}
}
