//go:build linux

package main

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/jackc/pgx/v5"
)

//go:embed data.sql
var dataSQL string

// data fills the database. It is not for several goroutines at once.
type data struct {
	db    *pgx.Conn
	ended int64
}

func newData(ctx context.Context, db *pgx.Conn) (*data, error) {
	if _, err := db.Exec(ctx, `CREATE EXTENSION pg_stat_statements`); err != nil {
		return nil, err
	}
	_, err := db.Exec(ctx, dataSQL)
	return &data{db: db}, err
}

const addPendingSQL = `
WITH job AS (
    UPDATE jobs SET total_tasks = total_tasks + $1 WHERE id = bench_id(1, 0) RETURNING id, total_tasks - $1 AS first
)
INSERT INTO tasks (id, job_id, chunk_index, workload, input_artifact_id, input_sha256, max_attempts)
SELECT bench_id(2, job.first + n), job.id, job.first + n, 'similarity-search', bench_id(0, 0), repeat('0', 64), 3
FROM   job, generate_series(0, $1::bigint - 1) n`

const addRawPendingSQL = `
INSERT INTO raw_tasks (id, job_id, chunk_index, workload, input_uri, input_sha256, parameters)
SELECT bench_id(3, first + n), bench_id(1, 0), first + n, 'similarity-search', 'artifacts/input', repeat('0', 64), '{"top_k": 20}'
FROM   (SELECT count(*) AS first FROM raw_tasks WHERE job_id = bench_id(1, 0)) f, generate_series(0, $1::bigint - 1) n`

// topUp makes sure that both queues hold at least n pending tasks.
func (d *data) topUp(ctx context.Context, n int64) error {
	for _, queue := range []struct{ table, insert string }{{"tasks", addPendingSQL}, {"raw_tasks", addRawPendingSQL}} {
		var pending int64
		if err := d.db.QueryRow(ctx, `SELECT count(*) FROM `+queue.table+` WHERE status = 'pending'`).Scan(&pending); err != nil {
			return err
		}
		if pending >= n {
			continue
		}
		if _, err := d.db.Exec(ctx, queue.insert, n-pending); err != nil {
			return fmt.Errorf("fill %s: %w", queue.table, err)
		}
		if _, err := d.db.Exec(ctx, `VACUUM (ANALYZE) `+queue.table); err != nil {
			return err
		}
	}
	return nil
}

// jobSize is how many ended tasks a job of history has.
const jobSize = 10000

// History is written without its triggers, which would check three million times
// that rows of this very script exist.
var historySQL = []string{
	`SET session_replication_role = replica`,
	`INSERT INTO jobs (id, name, workload, spec, status, engine, input_artifact_id, result_artifact_id, plan, total_tasks, completed_tasks, started_at, completed_at)
	 SELECT bench_id(4, n), 'ended-' || n, 'similarity-search', ('{"workload": "similarity-search", "input": {"artifact": "' || bench_id(0, 0) || '"}, "maxAttempts": 3}')::jsonb,
	        'completed', 'bench/1', bench_id(0, 0), bench_id(0, 0), '{"shared": {"query_smiles": "CCO", "top_k": 20}}', @size, @size, now(), now()
	 FROM   generate_series(0, @jobs::bigint - 1) n`,
	`INSERT INTO tasks (id, job_id, chunk_index, workload, input_artifact_id, input_sha256, max_attempts, status, attempt, leased_at, started_at, completed_at, completed_by, result_artifact_id, metrics)
	 SELECT bench_id(5, n), bench_id(4, n / @size), n % @size, 'similarity-search', bench_id(0, 0), repeat('0', 64), 3, 'completed', 1, now(), now(), now(), bench_id(7, n % 100), bench_id(6, n), '{"rows": 1}'
	 FROM   generate_series(0, @jobs::bigint * @size - 1) n`,
	`DROP INDEX artifacts_sha256_idx`,
	`INSERT INTO artifacts (id, job_id, task_id, attempt, kind, filename, content_type, size_bytes, sha256, body)
	 SELECT bench_id(6, n), bench_id(4, n / @size), bench_id(5, n), 1, 'partial_result', 'partial.csv', 'text/csv', 180, h, repeat('x', 180)::bytea
	 FROM   generate_series(0, @jobs::bigint * @size - 1) n, LATERAL (SELECT md5('a' || n) || md5('b' || n) AS h) d`,
	`CREATE INDEX artifacts_sha256_idx ON artifacts (sha256)`,
	`INSERT INTO raw_tasks (id, job_id, chunk_index, workload, input_uri, input_sha256, parameters, status, attempt, result_uri, result_sha256, started_at, completed_at)
	 SELECT bench_id(8, n), bench_id(4, n / @size), n % @size, 'similarity-search', 'artifacts/input', repeat('0', 64), '{"top_k": 20}', 'completed', 1, 'artifacts/result', repeat('0', 64), now(), now()
	 FROM   generate_series(0, @jobs::bigint * @size - 1) n`,
	`RESET session_replication_role`,
	`VACUUM (ANALYZE) tasks`, `VACUUM (ANALYZE) artifacts`, `VACUUM (ANALYZE) jobs`, `VACUUM (ANALYZE) raw_tasks`,
	`CHECKPOINT`,
}

// addHistory adds n ended tasks to both queues, with the artifacts that
// the schema asks for.
func (d *data) addHistory(ctx context.Context, n int64) error {
	args := pgx.NamedArgs{"size": jobSize, "jobs": (n + jobSize - 1) / jobSize}
	for _, sql := range historySQL {
		if _, err := d.db.Exec(ctx, sql, pgx.QueryExecModeSimpleProtocol, args); err != nil {
			return fmt.Errorf("%.60s…: %w", sql, err)
		}
	}
	d.ended += n
	return nil
}

// Every task that ended has one result and was the first attempt, no attempt
// ended in another way, and the job counted each task once.
const checkSQL = `
SELECT (SELECT count(*) FROM tasks WHERE job_id = j.id AND status = 'completed' AND attempt = 1),
       (SELECT count(*) FROM attempts a JOIN tasks t ON t.id = a.task_id WHERE t.job_id = j.id),
       (SELECT count(*) FROM artifacts WHERE job_id = j.id AND kind = 'partial_result'),
       j.completed_tasks
FROM   jobs j
WHERE  j.id = bench_id(1, 0)`

// check compares what the database holds with the number of tasks that workers
// claimed and delivered.
func (d *data) check(ctx context.Context, delivered int64) error {
	var completed, attempts, artifacts, counted int64
	if err := d.db.QueryRow(ctx, checkSQL).Scan(&completed, &attempts, &artifacts, &counted); err != nil {
		return err
	}
	if completed != delivered || attempts != 0 || artifacts != delivered || counted != delivered {
		return fmt.Errorf("workers delivered %d tasks; the database holds %d tasks completed at their first attempt, %d lost attempts, %d results, and the job counts %d",
			delivered, completed, attempts, artifacts, counted)
	}
	return nil
}
