package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

const createSessionSQL = `
WITH expired AS (
    DELETE FROM sessions
    WHERE  expires_at <= coalesce(@now::timestamptz, now())
)
INSERT INTO sessions (digest, created_at, expires_at)
VALUES (@digest, coalesce(@now::timestamptz, now()), coalesce(@now::timestamptz, now()) + @ttl::interval)`

// CreateSession lets the holder of what digest was made from in until ttl has
// passed. Sessions that have expired are removed with it.
func (s *Store) CreateSession(ctx context.Context, digest [32]byte, ttl time.Duration) (err error) {
	defer wrapf(&err, "create session")
	_, err = s.pool.Exec(ctx, createSessionSQL, pgx.NamedArgs{"digest": digest[:], "ttl": ttl, "now": s.now()})
	return err
}

const findSessionSQL = `
SELECT expires_at
FROM   sessions
WHERE  digest = @digest
AND    expires_at > coalesce(@now::timestamptz, now())`

// FindSession returns when a session ends, or ErrNotFound if it has ended or never was.
func (s *Store) FindSession(ctx context.Context, digest [32]byte) (expires time.Time, err error) {
	defer wrapf(&err, "find session")
	err = s.pool.QueryRow(ctx, findSessionSQL, pgx.NamedArgs{"digest": digest[:], "now": s.now()}).Scan(&expires)
	return expires.UTC(), err
}

// DeleteSession ends a session. One that is not there is no error.
func (s *Store) DeleteSession(ctx context.Context, digest [32]byte) (err error) {
	defer wrapf(&err, "delete session")
	_, err = s.pool.Exec(ctx, `DELETE FROM sessions WHERE digest = $1`, digest[:])
	return err
}

// DeleteSessions ends all sessions, and returns how many there were.
func (s *Store) DeleteSessions(ctx context.Context) (_ int, err error) {
	defer wrapf(&err, "delete sessions")
	tag, err := s.pool.Exec(ctx, `DELETE FROM sessions`)
	return int(tag.RowsAffected()), err
}
