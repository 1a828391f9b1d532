package store

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// SQLSTATE codes that are told apart.
const (
	codeUniqueViolation     = "23505"
	codeForeignKeyViolation = "23503"
	codeSerialization       = "40001"
	codeDeadlock            = "40P01"
	codeLockNotAvailable    = "55P03"
	codeQueryCanceled       = "57014"
)

// wrapf adds what was being done to *err, if there is one, after translating
// a driver's error into one of this package.
func wrapf(err *error, format string, args ...any) {
	if *err != nil {
		*err = fmt.Errorf(format+": %w", append(args, translate(*err))...)
	}
}

// dbError is a failure inside the database that is none of the categories. It shows the
// SQLSTATE and the constraint, never the statement or its values.
type dbError struct {
	code, constraint string
}

func (e *dbError) Error() string {
	if e.constraint != "" {
		return "database error " + e.code + " (" + e.constraint + ")"
	}
	return "database error " + e.code
}

// translate turns an error of the driver into one of this package. Errors of
// this package and of contexts pass through.
func translate(err error) error {
	var pgErr *pgconn.PgError
	switch {
	case err == nil, isOurs(err):
		return err
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		if errors.Is(err, context.Canceled) {
			return context.Canceled
		}
		return fmt.Errorf("%w: %w", ErrUnavailable, context.DeadlineExceeded)
	case errors.Is(err, pgx.ErrNoRows):
		return ErrNotFound
	case errors.As(err, &pgErr):
		return translateCode(pgErr)
	default:
		// Network faults, closed pools, protocol errors: the text may hold
		// host names and user names, so only the category leaves.
		return ErrUnavailable
	}
}

func isOurs(err error) bool {
	for _, e := range []error{ErrNotFound, ErrConflict, ErrInvalid, ErrLeaseLost, ErrUnavailable, ErrSchemaVersion, ErrDamaged} {
		if errors.Is(err, e) {
			return true
		}
	}
	var d *dbError
	return errors.As(err, &d)
}

func translateCode(e *pgconn.PgError) error {
	switch e.Code {
	case codeUniqueViolation, codeForeignKeyViolation:
		return ErrConflict // clients are told of it, and a constraint's name is nothing to them
	case codeSerialization, codeDeadlock, codeLockNotAvailable, codeQueryCanceled:
		return fmt.Errorf("%w (SQLSTATE %s)", ErrUnavailable, e.Code)
	}
	switch {
	// Connection exceptions, insufficient resources, operator intervention
	// (shutdown, crash recovery), system errors.
	case strings.HasPrefix(e.Code, "08"), strings.HasPrefix(e.Code, "53"),
		strings.HasPrefix(e.Code, "57"), strings.HasPrefix(e.Code, "58"):
		return fmt.Errorf("%w (SQLSTATE %s)", ErrUnavailable, e.Code)
	}
	return &dbError{code: e.Code, constraint: e.ConstraintName}
}

// isCode reports whether the database answered with a SQLSTATE.
func isCode(err error, code string) bool {
	var pgErr *pgconn.PgError
	return errors.As(err, &pgErr) && pgErr.Code == code
}
