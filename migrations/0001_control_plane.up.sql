-- The control plane: workers, jobs, tasks, attempts, artifacts, events.
-- All times are timestamptz; all ids are UUIDv7 made by the coordinator, so that
-- primary keys grow with time. States are text with a CHECK: an enum type cannot lose a value.

--
-- Rules for one column are domains: they are checked when the column is written. A
-- CHECK of the table is read from its text and prepared by every statement that
-- changes a row, whichever column it changes; with a rule for each column, that was a
-- fifth of the time of a claim.
CREATE DOMAIN natural_int AS integer CHECK (VALUE >= 0);
CREATE DOMAIN positive_int AS integer CHECK (VALUE > 0);
CREATE DOMAIN natural_bigint AS bigint CHECK (VALUE >= 0);
CREATE DOMAIN fraction AS real CHECK (VALUE BETWEEN 0 AND 1);
CREATE DOMAIN json_object AS jsonb CHECK (jsonb_typeof(VALUE) = 'object');
CREATE DOMAIN json_array AS jsonb CHECK (jsonb_typeof(VALUE) = 'array');
CREATE DOMAIN sha256_hex AS text CHECK (VALUE ~ '^[0-9a-f]{64}$');
CREATE DOMAIN dns_label AS text CHECK (VALUE ~ '^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$');
CREATE DOMAIN job_status AS text
    CHECK (VALUE IN ('created', 'planning', 'running', 'reducing', 'completed', 'failed', 'cancelled'));
CREATE DOMAIN task_status AS text
    CHECK (VALUE IN ('pending', 'leased', 'running', 'completed', 'failed', 'cancelled'));
CREATE DOMAIN artifact_kind AS text
    CHECK (VALUE IN ('input', 'shard', 'partial_result', 'final_result', 'rejects', 'output', 'log'));

CREATE TABLE workers (
    id                   uuid PRIMARY KEY,
    name                 text NOT NULL CHECK (name <> ''),
    capabilities         jsonb NOT NULL CHECK (jsonb_typeof(capabilities) = 'array'),
    engine               text NOT NULL DEFAULT '',
    cpu_count            integer NOT NULL CHECK (cpu_count > 0),
    memory_mb            bigint NOT NULL CHECK (memory_mb > 0),
    status               text NOT NULL DEFAULT 'online' CHECK (status IN ('online', 'busy', 'offline')),
    last_heartbeat_at    timestamptz NOT NULL DEFAULT now(),
    failure_streak       uuid[] NOT NULL DEFAULT '{}',
    quarantines          integer NOT NULL DEFAULT 0 CHECK (quarantines >= 0),
    quarantined_until    timestamptz,
    quarantine_reason    text NOT NULL DEFAULT '',
    created_at           timestamptz NOT NULL DEFAULT now(),
    updated_at           timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);

COMMENT ON COLUMN workers.engine IS 'what computes the fingerprints; a job never mixes engines';
COMMENT ON COLUMN workers.failure_streak IS 'distinct tasks failed since the last success or quarantine';
COMMENT ON COLUMN workers.quarantines IS 'quarantines since the last success; each one is longer than the one before';

CREATE INDEX workers_name_idx ON workers (name, id);

CREATE TABLE artifacts (
    id           uuid PRIMARY KEY,
    job_id       uuid,
    task_id      uuid,
    attempt      positive_int,
    kind         artifact_kind NOT NULL,
    filename     text NOT NULL,
    content_type text NOT NULL,
    size_bytes   natural_bigint NOT NULL,
    sha256       sha256_hex NOT NULL,
    created_at   timestamptz NOT NULL DEFAULT now(),
    body         bytea,
    CHECK (octet_length(body) = size_bytes),
    CHECK (kind <> 'partial_result' OR (task_id IS NOT NULL AND attempt IS NOT NULL))
);

COMMENT ON TABLE artifacts IS 'The row is written after its blob is durable and deleted before the blob: a row never points at nothing.';
COMMENT ON COLUMN artifacts.sha256 IS 'key in the blob store too: equal bytes share one blob';
COMMENT ON COLUMN artifacts.body IS 'the bytes, if they are few; else NULL, and they are in the blob store';

-- Bodies are small, many and of no repetition: not worth the time to compress.
ALTER TABLE artifacts ALTER COLUMN body SET STORAGE EXTERNAL;

CREATE UNIQUE INDEX artifacts_task_kind_key ON artifacts (task_id, kind) WHERE task_id IS NOT NULL;
CREATE INDEX artifacts_job_idx ON artifacts (job_id, kind) WHERE job_id IS NOT NULL;
-- A quarter of a digest finds it as well as all of it.
CREATE INDEX artifacts_sha256_idx ON artifacts (left(sha256, 16));
CREATE INDEX artifacts_upload_idx ON artifacts (created_at) WHERE kind = 'input' AND job_id IS NULL;

CREATE TABLE jobs (
    id                         uuid PRIMARY KEY,
    name                       dns_label NOT NULL UNIQUE,
    labels                     json_object NOT NULL DEFAULT '{}',
    annotations                json_object NOT NULL DEFAULT '{}',
    workload                   text NOT NULL,
    workload_version           text NOT NULL DEFAULT '',
    spec                       jsonb NOT NULL,
    parameters                 jsonb NOT NULL DEFAULT '{}',
    generation                 natural_bigint NOT NULL DEFAULT 1,
    status                     job_status NOT NULL DEFAULT 'created',
    priority                   integer NOT NULL DEFAULT 0,
    parallelism                natural_int NOT NULL DEFAULT 0,
    suspend                    boolean NOT NULL DEFAULT false,
    max_attempts               positive_int NOT NULL DEFAULT 3,
    active_deadline_seconds    natural_bigint NOT NULL DEFAULT 0,
    ttl_seconds_after_finished natural_bigint NOT NULL DEFAULT 0,
    engine                     text,
    input_artifact_id          uuid REFERENCES artifacts (id),
    result_artifact_id         uuid REFERENCES artifacts (id),
    rejects_artifact_id        uuid REFERENCES artifacts (id),
    plan                       jsonb,
    total_tasks                natural_bigint NOT NULL DEFAULT 0,
    completed_tasks            natural_bigint NOT NULL DEFAULT 0,
    failed_tasks               natural_bigint NOT NULL DEFAULT 0,
    cancelled_tasks            natural_bigint NOT NULL DEFAULT 0,
    conditions                 json_array NOT NULL DEFAULT '[]',
    ledger                     jsonb,
    result_rows                bigint,
    rejects_rows               bigint,
    step_owner                 uuid,
    step_expires_at            timestamptz,
    step_failures              natural_int NOT NULL DEFAULT 0,
    unsettled                  boolean NOT NULL DEFAULT false,
    cancel_requested_at        timestamptz,
    deletion_requested_at      timestamptz,
    error_code                 text NOT NULL DEFAULT '',
    error_message              text NOT NULL DEFAULT '',
    created_at                 timestamptz NOT NULL DEFAULT now(),
    started_at                 timestamptz,
    completed_at               timestamptz,
    updated_at                 timestamptz NOT NULL DEFAULT now(),
    version                    bigint NOT NULL DEFAULT 1,
    CHECK (completed_tasks + failed_tasks + cancelled_tasks <= total_tasks),
    CHECK (status <> 'completed' OR (result_artifact_id IS NOT NULL AND completed_tasks = total_tasks)),
    CHECK ((status IN ('completed', 'failed', 'cancelled')) = (completed_at IS NOT NULL)),
    CHECK ((step_owner IS NULL) = (step_expires_at IS NULL))
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);

COMMENT ON COLUMN jobs.engine IS 'the engine of the first worker that claimed a task; NULL until then';
COMMENT ON COLUMN jobs.plan IS 'what the planner left: {shared, notes, rowsRead, rejects, more}';
COMMENT ON COLUMN jobs.step_owner IS 'the coordinator process that plans or reduces now; another may take the step once step_expires_at has passed';

COMMENT ON COLUMN jobs.unsettled IS 'ended, and open tasks are still to be cancelled; a column of its own, because an index over the counters would make every update of them touch all indexes';

-- No index holds or mentions the counters: so counting a completed task is a heap-only update.
CREATE INDEX jobs_open_idx ON jobs (priority DESC, created_at, id) WHERE status IN ('created', 'planning', 'running', 'reducing');
CREATE INDEX jobs_status_idx ON jobs (status, created_at, id);
CREATE INDEX jobs_created_idx ON jobs (created_at, id);
CREATE INDEX jobs_labels_idx ON jobs USING gin (labels jsonb_path_ops);
CREATE INDEX jobs_ended_idx ON jobs (completed_at) WHERE completed_at IS NOT NULL AND ttl_seconds_after_finished > 0;
CREATE INDEX jobs_deleting_idx ON jobs (deletion_requested_at) WHERE deletion_requested_at IS NOT NULL;
CREATE INDEX jobs_unsettled_idx ON jobs (id) WHERE unsettled;
-- For the foreign keys: removing an artifact looks for jobs that name it.
CREATE INDEX jobs_input_idx ON jobs (input_artifact_id) WHERE input_artifact_id IS NOT NULL;
CREATE INDEX jobs_result_idx ON jobs (result_artifact_id) WHERE result_artifact_id IS NOT NULL;
CREATE INDEX jobs_rejects_idx ON jobs (rejects_artifact_id) WHERE rejects_artifact_id IS NOT NULL;

ALTER TABLE artifacts ADD FOREIGN KEY (job_id) REFERENCES jobs (id) DEFERRABLE INITIALLY DEFERRED;

-- What never changes comes first: so an update logs the rest of the row alone.
CREATE TABLE tasks (
    id                 uuid PRIMARY KEY,
    job_id             uuid NOT NULL REFERENCES jobs (id),
    chunk_index        natural_int NOT NULL,
    workload           text NOT NULL,
    input_artifact_id  uuid,
    input_uri          text,
    input_sha256       sha256_hex NOT NULL,
    inputs             json_array,
    parameters         json_object NOT NULL DEFAULT '{}',
    notes              jsonb,
    max_attempts       positive_int NOT NULL,
    created_at         timestamptz NOT NULL DEFAULT now(),
    status             task_status NOT NULL DEFAULT 'pending',
    attempt            natural_int NOT NULL DEFAULT 0,
    version            bigint NOT NULL DEFAULT 1,
    failures           natural_int NOT NULL DEFAULT 0,
    lost_leases        natural_int NOT NULL DEFAULT 0,
    not_before         timestamptz,
    last_failed_by     uuid,
    lease_owner        uuid,
    lease_expires_at   timestamptz,
    leased_at          timestamptz,
    progress           fraction,
    started_at         timestamptz,
    completed_at       timestamptz,
    completed_by       uuid,
    result_artifact_id uuid,
    metrics            jsonb,
    error_code         text NOT NULL DEFAULT '',
    error_message      text NOT NULL DEFAULT '',
    CONSTRAINT tasks_job_chunk_key UNIQUE (job_id, chunk_index),
    CHECK ((input_artifact_id IS NULL) <> (input_uri IS NULL)),
    CHECK (last_failed_by IS NULL OR not_before IS NOT NULL),
    CONSTRAINT tasks_lease_check CHECK ((lease_owner IS NULL) = (lease_expires_at IS NULL)),
    CONSTRAINT tasks_result_check CHECK ((completed_by IS NULL) = (result_artifact_id IS NULL)),
    CONSTRAINT tasks_state_check CHECK (CASE
        WHEN lease_owner IS NOT NULL THEN status IN ('leased', 'running') AND completed_at IS NULL AND completed_by IS NULL
        WHEN completed_at IS NULL THEN status = 'pending' AND completed_by IS NULL
        WHEN completed_by IS NULL THEN status IN ('failed', 'cancelled')
        ELSE status = 'completed' END)
) WITH (fillfactor = 85, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000,
        autovacuum_vacuum_cost_delay = 0);

COMMENT ON COLUMN tasks.attempt IS 'fencing token: grows by one with each claim; every change by a worker names it';
COMMENT ON COLUMN tasks.failures IS 'attempts that ended in a failure; the task fails at max_attempts';
COMMENT ON COLUMN tasks.lost_leases IS 'attempts whose lease expired; the task fails at max_attempts of them';
COMMENT ON COLUMN tasks.last_failed_by IS 'worker of the last failed attempt; others are preferred for the next one';
COMMENT ON COLUMN tasks.not_before IS 'earliest time of the next attempt; set whenever last_failed_by is';
COMMENT ON COLUMN tasks.notes IS 'the planner''s notes for the reducer; workers never see them';
COMMENT ON COLUMN tasks.lease_expires_at IS 'renewed by heartbeats, so no index holds it: else no renewal could be a heap-only update';
COMMENT ON COLUMN tasks.input_artifact_id IS 'the shard: an artifact of this very task, written and removed with it';
COMMENT ON COLUMN tasks.result_artifact_id IS 'a partial_result of this task and attempt; such an artifact is removed with its task, or when the task is to be done again';
COMMENT ON COLUMN tasks.completed_by IS 'worker of the attempt that completed the task; that attempt is not in attempts';

-- A queue in one table is often given an index (status, lease_expires_at, created_at).
-- Here it is split by who reads it, and no part mentions status, lease_expires_at or
-- progress: what heartbeats change would otherwise be in an index, whatever its
-- predicate, and no heartbeat could be a heap-only update. By the constraints above,
--   pending            is  lease_owner IS NULL AND completed_at IS NULL,
--   leased or running  is  lease_owner IS NOT NULL.
--
-- Serves the claim, which works within one job, in its order alone: ended tasks
-- are not in it, so a claim costs the same with none or with ten million of them.
CREATE INDEX tasks_claim_idx ON tasks (job_id, chunk_index)
    WHERE lease_owner IS NULL AND completed_at IS NULL AND last_failed_by IS NULL;
-- Tasks that have failed and wait for another attempt.
CREATE INDEX tasks_retry_idx ON tasks (job_id, not_before)
    WHERE lease_owner IS NULL AND completed_at IS NULL AND last_failed_by IS NOT NULL;
-- Leased tasks alone: the reaper's scan, the count against parallelism, a worker's tasks.
CREATE INDEX tasks_lease_idx ON tasks (job_id, lease_owner) WHERE lease_owner IS NOT NULL;
-- Tasks do not refer to artifacts by a foreign key, which would need an index and a
-- look at both tables for each result: an artifact refers to its task, and a
-- completion takes no artifact but one of its task and attempt.

ALTER TABLE artifacts ADD FOREIGN KEY (task_id) REFERENCES tasks (id) DEFERRABLE INITIALLY DEFERRED;

CREATE TABLE attempts (
    task_id       uuid NOT NULL REFERENCES tasks (id),
    attempt       integer NOT NULL CHECK (attempt > 0),
    worker_id     uuid NOT NULL,
    outcome       text NOT NULL CHECK (outcome IN ('failed', 'lost', 'released', 'cancelled')),
    error_code    text NOT NULL DEFAULT '',
    error_message text NOT NULL DEFAULT '',
    started_at    timestamptz NOT NULL,
    ended_at      timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (task_id, attempt)
);

COMMENT ON TABLE attempts IS 'Leases that ended without a result. The live one, and the one that completed the task, are in tasks.';

-- What a worker failed or lost last, for people.
CREATE INDEX attempts_worker_idx ON attempts (worker_id, ended_at);

CREATE TABLE task_logs (
    task_id    uuid NOT NULL REFERENCES tasks (id),
    attempt    integer NOT NULL CHECK (attempt > 0),
    seq        integer NOT NULL CHECK (seq >= 0),
    "offset"   bigint NOT NULL CHECK ("offset" >= 0),
    body       bytea NOT NULL,
    final      boolean NOT NULL DEFAULT false,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (task_id, attempt, seq)
);

COMMENT ON COLUMN task_logs."offset" IS 'byte position of body in the log of its attempt';
COMMENT ON COLUMN task_logs.final IS 'no chunk follows';

CREATE TABLE events (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    job_id     uuid,
    task_id    uuid,
    worker_id  uuid,
    type       text NOT NULL CHECK (type IN ('Normal', 'Warning')),
    reason     text NOT NULL CHECK (reason ~ '^[A-Z][A-Za-z0-9]*$'),
    message    text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
);

CREATE INDEX events_job_idx ON events (job_id, id) WHERE job_id IS NOT NULL;
CREATE INDEX events_worker_idx ON events (worker_id, id) WHERE worker_id IS NOT NULL;
CREATE INDEX events_created_idx ON events USING brin (created_at);

CREATE TABLE coordinators (
    id         uuid PRIMARY KEY,
    started_at timestamptz NOT NULL DEFAULT now(),
    seen_at    timestamptz NOT NULL DEFAULT now()
);

COMMENT ON TABLE coordinators IS 'Processes that serve now. After a gap in which none did, leases that lived when the last one was seen are extended: an outage of the coordinator costs no task an attempt.';

CREATE TABLE sessions (
    digest     bytea PRIMARY KEY CHECK (length(digest) = 32),
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL CHECK (expires_at > created_at)
);

COMMENT ON TABLE sessions IS 'People who are signed in to the dashboard. Any coordinator knows them; to delete a row signs its owner out everywhere.';
COMMENT ON COLUMN sessions.digest IS 'HMAC-SHA256 of the cookie under the operator''s token: a stolen row opens nothing, and a new token ends all sessions';

CREATE TABLE workloads (
    name       text PRIMARY KEY,
    version    text NOT NULL,
    spec       jsonb NOT NULL CHECK (jsonb_typeof(spec) = 'object'),
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now()
);

COMMENT ON TABLE workloads IS 'workloads whose code is with workers, as these described them when they registered';
