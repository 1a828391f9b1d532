-- What the benchmark fills the database with. Its ids are UUIDv7 made of a number:
-- ascending, and apart from those of other kinds.
CREATE FUNCTION bench_id(kind int, n bigint) RETURNS uuid LANGUAGE sql IMMUTABLE AS $$
    SELECT (lpad(to_hex(1600000000000 + kind::bigint * 100000000 + n / 16), 12, '0') || '7' || substr(h, 1, 3) || 'b' || substr(h, 4, 15))::uuid
    FROM   md5(kind || '-' || n) h
$$;

-- One input for all tasks, and the job that the simulated workers work on, with
-- its first task: the reducer would take a job without open tasks.
INSERT INTO artifacts (id, kind, filename, content_type, size_bytes, sha256)
VALUES (bench_id(0, 0), 'input', 'input.tsv', 'text/tab-separated-values', 1, repeat('0', 64));

INSERT INTO jobs (id, name, workload, spec, status, engine, input_artifact_id, plan, total_tasks, started_at)
VALUES (bench_id(1, 0), 'bench', 'similarity-search',
        ('{"workload": "similarity-search", "input": {"artifact": "' || bench_id(0, 0) || '"}, "maxAttempts": 3}')::jsonb,
        'running', 'bench/1', bench_id(0, 0), '{"shared": {"query_smiles": "CCO", "top_k": 20}}', 1, now());

INSERT INTO tasks (id, job_id, chunk_index, workload, input_artifact_id, input_sha256, max_attempts)
VALUES (bench_id(2, 0), bench_id(1, 0), 0, 'similarity-search', bench_id(0, 0), repeat('0', 64), 3);

-- The plain queue of three single-row statements: the columns that a task of the
-- first contract has, and the indexes that its statements need, each of them partial.
CREATE TABLE raw_tasks (
    id               uuid PRIMARY KEY,
    job_id           uuid NOT NULL,
    chunk_index      integer NOT NULL,
    workload         text NOT NULL,
    input_uri        text NOT NULL,
    input_sha256     text NOT NULL,
    parameters       jsonb NOT NULL,
    status           text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'leased', 'completed', 'failed', 'cancelled')),
    attempt          integer NOT NULL DEFAULT 0 CHECK (attempt >= 0),
    max_attempts     integer NOT NULL DEFAULT 3 CHECK (max_attempts > 0),
    lease_owner      text,
    lease_expires_at timestamptz,
    result_uri       text,
    result_sha256    text,
    metrics          jsonb,
    error_code       text,
    error_message    text,
    created_at       timestamptz NOT NULL DEFAULT now(),
    started_at       timestamptz,
    completed_at     timestamptz,
    version          integer NOT NULL DEFAULT 1,
    UNIQUE (job_id, chunk_index),
    CHECK (status <> 'completed' OR (result_uri IS NOT NULL AND result_sha256 IS NOT NULL)),
    CHECK (status <> 'leased' OR (lease_owner IS NOT NULL AND lease_expires_at IS NOT NULL))
) WITH (fillfactor = 85, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX raw_tasks_claim_idx ON raw_tasks (created_at, chunk_index) WHERE status = 'pending';
CREATE INDEX raw_tasks_job_idx ON raw_tasks (job_id);
