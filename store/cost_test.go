package store_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"scimesh.dev/scimesh/store"
	"scimesh.dev/scimesh/store/storetest"
)

// fillQueue adds tasks to a running job by SQL: ended ones below, pending ones
// above. Tens of thousands of tasks through the store would take minutes.
func fillQueue(t testing.TB, conn *pgx.Conn, job store.Job, ended, pending int) {
	t.Helper()
	exec(t, conn, `SET session_replication_role = replica`) // no foreign key checks: they are most of the time
	exec(t, conn, `
		INSERT INTO tasks (id, job_id, chunk_index, workload, input_uri, input_sha256, status, attempt, max_attempts, completed_at)
		SELECT gen_random_uuid(), $1, n, $2, 'https://example.org/' || n, repeat('a', 64),
		       CASE WHEN n < $3::int THEN 'cancelled' ELSE 'pending' END, 0, 3, CASE WHEN n < $3::int THEN now() END
		FROM   generate_series(0, $3::int + $4::int - 1) n`, job.ID, storetest.Workload, ended, pending)
	exec(t, conn, `
		UPDATE jobs SET status = 'running', total_tasks = $2, cancelled_tasks = $3, started_at = now(),
		       plan = '{"shared": {}, "rowsRead": 0}'
		WHERE id = $1`, job.ID, ended+pending, ended)
}

func exec(t testing.TB, conn *pgx.Conn, sql string, args ...any) {
	t.Helper()
	if _, err := conn.Exec(context.Background(), sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func count(t testing.TB, conn *pgx.Conn, sql string) (n int64) {
	t.Helper()
	if err := conn.QueryRow(context.Background(), sql).Scan(&n); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return n
}

// blocksRead is the number of blocks that statements have hit or read in this
// database, all relations together. The connections whose work counts must be closed,
// so that their statistics are in.
func blocksRead(t testing.TB, conn *pgx.Conn) int64 {
	t.Helper()
	exec(t, conn, `SELECT pg_stat_force_next_flush()`) // its own work is in from now on
	exec(t, conn, `SELECT pg_stat_clear_snapshot()`)
	return count(t, conn, `
		SELECT sum(heap_blks_read + heap_blks_hit + coalesce(idx_blks_read, 0) + coalesce(idx_blks_hit, 0)
		           + coalesce(toast_blks_read, 0) + coalesce(toast_blks_hit, 0))::bigint
		FROM   pg_statio_user_tables`)
}

// A claim must read few blocks whatever the table holds and whatever vacuum
// and ANALYZE have done: entries of claimed tasks pile up at the head of the
// index, and a table without statistics must not lead to another plan.
func TestClaimReadsFewBlocks(t *testing.T) {
	if testing.Short() {
		t.Skip("fills tables with 350,000 tasks")
	}
	const limit, claims = 40, 1000
	measure := func(t *testing.T, url string, conn *pgx.Conn, w store.Worker) {
		before, updated := blocksRead(t, conn), count(t, conn, updatedTasksSQL)
		s := storetest.Open(t, url)
		for range claims {
			storetest.Claim(t, s, w)
		}
		s.Close()
		waitForStats(t, conn, updated+claims)
		per := float64(blocksRead(t, conn)-before) / claims
		t.Logf("%.1f blocks a claim", per)
		if per > limit {
			t.Errorf("%.1f blocks a claim, want at most %d", per, limit)
		}
	}
	for _, tc := range []struct {
		name           string
		ended, pending int
	}{
		{"ended and pending tasks", 200_000, 50_000},
		{"pending tasks alone", 0, 50_000},
		{"ended tasks and a few pending", 50_000, 5_000},
	} {
		t.Run(tc.name, func(t *testing.T) {
			url := storetest.NewDatabase(t)
			conn := storetest.Conn(t, url)
			exec(t, conn, `ALTER TABLE tasks SET (autovacuum_enabled = false)`)
			s := storetest.Open(t, url)
			fillQueue(t, conn, storetest.MakeJob(t, s, "large"), tc.ended, tc.pending)
			w := storetest.MakeWorker(t, s, "w")
			s.Close()
			t.Run("without statistics", func(t *testing.T) { measure(t, url, conn, w) })
			exec(t, conn, `ANALYZE`)
			t.Run("analyzed, not vacuumed", func(t *testing.T) { measure(t, url, conn, w) })
			exec(t, conn, `VACUUM ANALYZE`)
			t.Run("vacuumed", func(t *testing.T) { measure(t, url, conn, w) })
		})
	}
}

const updatedTasksSQL = `SELECT coalesce(sum(n_tup_upd), 0)::bigint FROM pg_stat_user_tables WHERE relname = 'tasks'`

// waitForStats waits until the statistics of closed connections are in.
func waitForStats(t testing.TB, conn *pgx.Conn, updates int64) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for time.Now().Before(deadline) {
		exec(t, conn, `SELECT pg_stat_clear_snapshot()`)
		if count(t, conn, updatedTasksSQL) >= updates &&
			count(t, conn, `SELECT count(*) FROM pg_stat_activity WHERE application_name = 'scimesh' AND datname = current_database()`) == 0 {
			return
		}
		<-time.After(20 * time.Millisecond) // the server offers nothing to wait for
	}
	t.Fatal("the statistics of the claims did not come in")
}

// WAL is what replication and backup pay for a task. The bytes are the least of several
// rounds: so full-page images, which come once after each checkpoint, and
// whatever else the server does meanwhile, do not count.
func TestCycleWritesLittleWAL(t *testing.T) {
	const leaseLimit, wholeLimit = 1536, 2304 // bytes
	const rounds, cycles = 8, 50
	url := storetest.NewDatabase(t)
	conn := storetest.Conn(t, url)
	s := storetest.Open(t, url)
	fillQueue(t, conn, storetest.MakeJob(t, s, "wal"), 0, rounds*cycles)
	w := storetest.MakeWorker(t, s, "w")
	written := func(fn func()) int64 {
		const sql = `SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint`
		before := count(t, conn, sql)
		fn()
		return (count(t, conn, sql) - before) / cycles
	}
	lease, upload := int64(1<<62), int64(1<<62)
	for r := range rounds {
		var tasks []store.LeasedTask
		var artifacts []store.Artifact
		begin := written(func() {
			for range cycles {
				task := storetest.Claim(t, s, w)
				if _, err := s.RenewLease(t.Context(), store.RenewLeaseParams{Lease: task.Lease}); err != nil {
					t.Fatal(err)
				}
				tasks = append(tasks, task)
			}
		})
		upload = min(upload, written(func() {
			for i, task := range tasks {
				artifacts = append(artifacts, storetest.Record(t, s, task, fmt.Sprintf("round %d result %d", r, i)))
			}
		}))
		end := written(func() {
			for i, task := range tasks {
				a := artifacts[i]
				if _, err := s.CompleteTask(t.Context(), store.CompleteTaskParams{Lease: task.Lease, ArtifactID: a.ID, SHA256: a.SHA256}); err != nil {
					t.Fatal(err)
				}
			}
		})
		lease = min(lease, begin+end)
	}
	t.Logf("claim, heartbeat and completion write %d bytes of WAL; the artifact's row %d", lease, upload)
	if lease > leaseLimit {
		t.Errorf("claim, heartbeat and completion write %d bytes of WAL, want at most %d", lease, leaseLimit)
	}
	if lease+upload > wholeLimit {
		t.Errorf("the whole cycle writes %d bytes of WAL, want at most %d", lease+upload, wholeLimit)
	}
}
