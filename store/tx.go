package store

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// querier is a pool, a connection or a transaction.
type querier interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// txAttempts bounds how often a transaction that the database broke off, for
// a deadlock or a serialization failure, is run.
const txAttempts = 4

// inTx runs fn in a transaction and commits it. fn may run more than once.
func (s *Store) inTx(ctx context.Context, fn func(tx pgx.Tx) error) error {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.QueryTimeout)
	defer cancel()
	return retryTx(ctx, s.pool, fn)
}

// claimTx is inTx on a connection for claims.
func (s *Store) claimTx(ctx context.Context, fn func(tx pgx.Tx) error) error {
	return retryTx(ctx, s.batchPool, fn)
}

func retryTx(ctx context.Context, pool *pgxpool.Pool, fn func(tx pgx.Tx) error) (err error) {
	for range txAttempts {
		err = pgx.BeginFunc(ctx, pool, fn)
		if !retryable(err) {
			return err
		}
	}
	return err
}

// retryable reports whether the database undid a statement or transaction such
// that the same one may succeed now.
func retryable(err error) bool {
	var pgErr *pgconn.PgError
	return errors.As(err, &pgErr) && (pgErr.Code == codeSerialization || pgErr.Code == codeDeadlock)
}

// now is the argument @now: nil, which stands for the database's clock,
// outside tests.
func (s *Store) now() *time.Time {
	if s.cfg.Now == nil {
		return nil
	}
	t := s.cfg.Now()
	return &t
}

// notifyJob wakes the reconcilers for a job, once the transaction commits.
func notifyJob(ctx context.Context, q querier, job uuid.UUID) error {
	_, err := q.Exec(ctx, `SELECT pg_notify($1, $2)`, ChannelJobs, job.String())
	return err
}

// collect runs a query whose columns are the fields of T by name.
func collect[T any](ctx context.Context, q querier, sql string, args pgx.NamedArgs) ([]T, error) {
	rows, err := q.Query(ctx, sql, args)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByName[T])
}

// collectOne is collect for exactly one row; pgx.ErrNoRows if there is none.
func collectOne[T any](ctx context.Context, q querier, sql string, args pgx.NamedArgs) (T, error) {
	rows, err := q.Query(ctx, sql, args)
	if err != nil {
		var zero T
		return zero, err
	}
	return pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[T])
}

// utc is the instant of a nullable column; zero for NULL.
func utc(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.UTC()
}

// id is the value of a nullable column; uuid.Nil for NULL.
func id(p *uuid.UUID) uuid.UUID {
	if p == nil {
		return uuid.Nil
	}
	return *p
}

// NewID returns a UUIDv7. Ids made in one process ascend.
func NewID() uuid.UUID { return uuid.Must(uuid.NewV7()) }
