package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// MaxLogChunk and MaxLogBytes bound one chunk and the whole log of an attempt.
const (
	MaxLogChunk = 64 << 10
	MaxLogBytes = 1 << 20
)

// logGrace is how long after an attempt has ended its worker may add to its log.
const logGrace = 10 * time.Minute

// logMarker ends a log that has grown too long.
const logMarker = "\n[the log was cut here: it reached its limit]\n"

const logOwnerSQL = `
SELECT EXISTS (
    SELECT FROM tasks
    WHERE  id = @task AND attempt = @attempt
    AND    (lease_owner IS NOT DISTINCT FROM @worker
            OR completed_by IS NOT DISTINCT FROM @worker AND completed_at > coalesce(@now::timestamptz, now()) - @grace::interval)
) OR EXISTS (
    SELECT FROM attempts
    WHERE  task_id = @task AND attempt = @attempt AND worker_id = @worker
    AND    ended_at > coalesce(@now::timestamptz, now()) - @grace::interval
)`

const lastLogSQL = `
SELECT seq, "offset" + length(body) AS size, final
FROM   task_logs
WHERE  task_id = @task
AND    attempt = @attempt
ORDER BY seq DESC
LIMIT  1`

const appendLogSQL = `
INSERT INTO task_logs (task_id, attempt, seq, "offset", body, final, created_at)
VALUES (@task, @attempt, @seq, @offset, @body, @final, coalesce(@now::timestamptz, now()))
ON CONFLICT DO NOTHING`

// AppendLog adds a chunk to the log of an attempt, live or ended within the
// last ten minutes. A chunk that is there already is left as it is; one that
// would leave a gap is ErrConflict. Past MaxLogBytes the log ends with a
// marker and further chunks are dropped.
func (s *Store) AppendLog(ctx context.Context, p AppendLogParams) (err error) {
	defer wrapf(&err, "append to log of task %s", p.Task)
	if len(p.Body) > MaxLogChunk || p.Seq < 0 {
		return fmt.Errorf("%w: a chunk has at most %d bytes and a sequence number from 0", ErrInvalid, MaxLogChunk)
	}
	args := pgx.NamedArgs{
		"task": p.Task, "worker": p.Worker, "attempt": p.Attempt, "seq": p.Seq, "body": p.Body, "final": p.Final,
		"now": s.now(), "grace": logGrace,
	}
	if p.Body == nil {
		args["body"] = []byte{}
	}
	return s.inTx(ctx, func(tx pgx.Tx) error {
		var owner bool
		if err := tx.QueryRow(ctx, logOwnerSQL, args).Scan(&owner); err != nil {
			return err
		}
		if !owner {
			return ErrLeaseLost
		}
		var last int32
		var size int64
		var final bool
		err := tx.QueryRow(ctx, lastLogSQL, args).Scan(&last, &size, &final)
		if errors.Is(err, pgx.ErrNoRows) {
			last, err = -1, nil
		}
		switch {
		case err != nil:
			return err
		case p.Seq <= last || final:
			return nil // there already, or dropped because the log has ended
		case p.Seq != last+1:
			return fmt.Errorf("%w: chunk %d comes next", ErrConflict, last+1)
		}
		if size+int64(len(p.Body)) > MaxLogBytes {
			args["body"], args["final"] = []byte(logMarker), true
		}
		args["offset"] = size
		_, err = tx.Exec(ctx, appendLogSQL, args)
		return err
	})
}

const readLogSQL = `
SELECT "offset", body, final
FROM   task_logs
WHERE  task_id = @task
AND    attempt = @attempt
AND    ("offset" + length(body) > @offset OR final)
ORDER BY seq
LIMIT  @chunks`

// An attempt's log ends with the attempt if the worker cannot add to it any more.
const logEndedSQL = `
SELECT EXISTS (
    SELECT FROM attempts
    WHERE  task_id = @task AND attempt = @attempt
    AND    (outcome = 'lost' OR ended_at <= coalesce(@now::timestamptz, now()) - @grace::interval)
) OR EXISTS (
    SELECT FROM tasks
    WHERE  id = @task AND attempt = @attempt AND completed_by IS NOT NULL
    AND    completed_at <= coalesce(@now::timestamptz, now()) - @grace::interval
)`

// ReadLog returns the log of an attempt from a byte offset, at most about
// limit bytes. An attempt without a log, or one that does not exist, has an empty one.
func (s *Store) ReadLog(ctx context.Context, task uuid.UUID, attempt int32, offset int64, limit int) (_ LogChunk, err error) {
	defer wrapf(&err, "read log of task %s", task)

	chunk := LogChunk{Attempt: attempt, Offset: offset}
	args := pgx.NamedArgs{
		"task": task, "attempt": attempt, "offset": offset, "chunks": MaxLogBytes/MaxLogChunk + 1,
		"now": s.now(), "grace": logGrace,
	}
	rows, err := s.pool.Query(ctx, readLogSQL, args)
	if err != nil {
		return chunk, err
	}
	var at int64
	var body []byte
	var final bool
	full := false
	_, err = pgx.ForEachRow(rows, []any{&at, &body, &final}, func() error {
		if full || (len(chunk.Body) > 0 && len(chunk.Body)+len(body) > limit) {
			full = true
			return nil
		}
		if skip := offset - at; skip > 0 {
			body = body[min(skip, int64(len(body))):]
		}
		chunk.Body = append(chunk.Body, body...)
		chunk.Final = final
		return nil
	})
	if err != nil || full || chunk.Final || len(chunk.Body) > 0 {
		chunk.Final = chunk.Final && !full
		return chunk, err
	}
	err = s.pool.QueryRow(ctx, logEndedSQL, args).Scan(&chunk.Final)
	return chunk, err
}
