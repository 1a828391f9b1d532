package store_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"scimesh.dev/scimesh/migrations"
	"scimesh.dev/scimesh/store"
	"scimesh.dev/scimesh/store/migrate"
	"scimesh.dev/scimesh/store/storetest"
)

func TestMigrationsGoUpDownAndUp(t *testing.T) {
	url := storetest.NewEmptyDatabase(t)
	conn := storetest.Conn(t, url)
	tables := func() int64 {
		return count(t, conn, `SELECT count(*) FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'schema_migrations'`)
	}
	want := migrate.State{Latest: migrations.Latest()}
	if got, err := migrate.Version(t.Context(), url); err != nil || got != want {
		t.Errorf("empty database: %+v, %v, want %+v", got, err, want)
	}
	open := func() error {
		s, err := store.Open(t.Context(), store.Config{URL: url})
		if err == nil {
			s.Close()
		}
		return err
	}
	if err := open(); !errors.Is(err, store.ErrSchemaVersion) || !strings.Contains(err.Error(), "scimesh migrate up") {
		t.Errorf("open an empty database: %v, want ErrSchemaVersion and what to run", err)
	}
	want.Version = want.Latest
	for range 2 { // the second time there is nothing to do
		if got, err := migrate.Up(t.Context(), url); err != nil || got != want {
			t.Fatalf("up: %+v, %v, want %+v", got, err, want)
		}
	}
	if err := open(); err != nil {
		t.Error(err)
	}
	full := tables()
	if got, err := migrate.Down(t.Context(), url, 1); err != nil || got.Version != want.Latest-1 {
		t.Errorf("one step down: %+v, %v", got, err)
	}
	if _, err := migrate.Down(t.Context(), url, 0); err != nil {
		t.Error(err)
	}
	if n := tables(); n != 0 {
		t.Errorf("%d tables left after all migrations were taken back", n)
	}
	if got, err := migrate.Up(t.Context(), url); err != nil || got != want || tables() != full {
		t.Errorf("up again: %+v, %v, %d tables, want %d", got, err, tables(), full)
	}
	exec(t, conn, `UPDATE schema_migrations SET version = version + 1`)
	if err := open(); !errors.Is(err, store.ErrSchemaVersion) || !strings.Contains(err.Error(), "newer") {
		t.Errorf("open a newer database: %v, want ErrSchemaVersion", err)
	}
	exec(t, conn, `UPDATE schema_migrations SET version = version - 1, dirty = true`)
	if err := open(); !errors.Is(err, store.ErrSchemaVersion) {
		t.Errorf("open a half migrated database: %v, want ErrSchemaVersion", err)
	}
}

func TestOpenNamesNoSecret(t *testing.T) {
	for _, url := range []string{"postgres://u:hunter2@%zz/db", "postgres://u:hunter2@127.0.0.1:1/db", "host=127.0.0.1 port=1 password=hunter2 sslmode=wrong"} {
		_, err := store.Open(t.Context(), store.Config{URL: url})
		if err == nil || strings.Contains(err.Error(), "hunter2") || (!errors.Is(err, store.ErrInvalid) && !errors.Is(err, store.ErrUnavailable)) {
			t.Errorf("%v", err)
		}
	}
	if _, err := migrate.Up(t.Context(), "postgres://u:hunter2@%zz/db"); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("%v", err)
	}
}

// Every rule of the schema refuses what breaks it.
func TestSchemaRefusesInvalidStates(t *testing.T) {
	url := storetest.NewDatabase(t)
	s := storetest.Open(t, url)
	conn := storetest.Conn(t, url)
	job := storetest.MakeRunningJob(t, s, "job", 2)
	w := storetest.MakeWorker(t, s, "w")
	task := storetest.Claim(t, s, w)
	storetest.Complete(t, s, task, "result")

	for sql, code := range map[string]string{
		`INSERT INTO tasks (id, job_id, chunk_index, workload, input_uri, input_sha256, max_attempts) SELECT gen_random_uuid(), job_id, chunk_index, 'w', 'u', input_sha256, 1 FROM tasks`: "23505",
		`UPDATE tasks SET attempt = -1`:                                                                        "23514",
		`UPDATE tasks SET max_attempts = 0`:                                                                    "23514",
		`UPDATE tasks SET chunk_index = -1 WHERE chunk_index = 1`:                                              "23514",
		`UPDATE tasks SET status = 'lost' WHERE chunk_index = 1`:                                               "23514",
		`UPDATE tasks SET status = 'leased' WHERE chunk_index = 1`:                                             "23514",
		`UPDATE tasks SET status = 'running', lease_owner = id WHERE chunk_index = 1`:                          "23514",
		`UPDATE tasks SET lease_expires_at = now() WHERE chunk_index = 1`:                                      "23514",
		`UPDATE tasks SET lease_owner = id, lease_expires_at = now() WHERE chunk_index = 1`:                    "23514",
		`UPDATE tasks SET status = 'completed', completed_at = now(), completed_by = id WHERE chunk_index = 1`: "23514",
		`UPDATE tasks SET result_artifact_id = NULL WHERE chunk_index = 0`:                                     "23514",
		`UPDATE tasks SET completed_by = NULL WHERE chunk_index = 0`:                                           "23514",
		`UPDATE tasks SET completed_at = NULL WHERE chunk_index = 0`:                                           "23514",
		`UPDATE tasks SET completed_at = now() WHERE chunk_index = 1`:                                          "23514",
		`UPDATE tasks SET input_uri = 'https://example.org'`:                                                   "23514",
		`UPDATE tasks SET input_sha256 = 'A'`:                                                                  "23514",
		`UPDATE tasks SET parameters = '[]'`:                                                                   "23514",
		`UPDATE tasks SET progress = 1.5`:                                                                      "23514",
		`UPDATE tasks SET last_failed_by = id, not_before = NULL`:                                              "23514",
		`UPDATE tasks SET job_id = id`:                                                                         "23503",
		`DELETE FROM jobs`:                                                                                     "23503",
		`UPDATE jobs SET name = 'Not a label'`:                                                                 "23514",
		`UPDATE jobs SET status = 'waiting'`:                                                                   "23514",
		`UPDATE jobs SET status = 'completed', completed_at = now()`:                                           "23514",
		`UPDATE jobs SET status = 'failed'`:                                                                    "23514",
		`UPDATE jobs SET completed_at = now()`:                                                                 "23514",
		`UPDATE jobs SET completed_tasks = 3`:                                                                  "23514",
		`UPDATE jobs SET failed_tasks = -1`:                                                                    "23514",
		`UPDATE jobs SET step_owner = id`:                                                                      "23514",
		`UPDATE jobs SET max_attempts = 0`:                                                                     "23514",
		`UPDATE jobs SET labels = '[]'`:                                                                        "23514",
		`UPDATE jobs SET conditions = '{}'`:                                                                    "23514",
		`UPDATE jobs SET input_artifact_id = id`:                                                               "23503",
		`INSERT INTO jobs (id, name, workload, spec) SELECT gen_random_uuid(), name, 'w', '{}' FROM jobs`:      "23505",
		`UPDATE workers SET status = 'asleep'`:                                                                 "23514",
		`UPDATE workers SET cpu_count = 0`:                                                                     "23514",
		`UPDATE workers SET name = ''`:                                                                         "23514",
		`UPDATE workers SET capabilities = '{}'`:                                                               "23514",
		`UPDATE artifacts SET sha256 = 'x'`:                                                                    "23514",
		`UPDATE artifacts SET size_bytes = -1`:                                                                 "23514",
		`UPDATE artifacts SET kind = 'other'`:                                                                  "23514",
		`UPDATE artifacts SET attempt = NULL WHERE kind = 'partial_result'`:                                    "23514",
		`UPDATE artifacts SET kind = 'shard' WHERE kind = 'partial_result'`:                                    "23505",
		`INSERT INTO attempts (task_id, attempt, worker_id, outcome, started_at) SELECT id, 1, id, 'completed', now() FROM tasks`: "23514",
		`INSERT INTO events (type, reason, message) VALUES ('Normal', 'not camel case', '')`:                                      "23514",
	} {
		_, err := conn.Exec(t.Context(), sql)
		var pgErr *pgconn.PgError
		if !errors.As(err, &pgErr) || pgErr.Code != code {
			t.Errorf("%s: %v, want SQLSTATE %s", sql, err, code)
		}
	}
	if getJob(t, s, job.Name).Tasks.Completed != 1 {
		t.Error("a refused statement changed the job")
	}
	verify(t, s)
}
