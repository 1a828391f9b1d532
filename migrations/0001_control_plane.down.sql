DROP TABLE coordinators;
DROP TABLE events;
DROP TABLE task_logs;
DROP TABLE attempts;
ALTER TABLE artifacts DROP CONSTRAINT artifacts_job_id_fkey, DROP CONSTRAINT artifacts_task_id_fkey;
DROP TABLE tasks;
DROP TABLE jobs;
DROP TABLE artifacts;
DROP TABLE workers;
