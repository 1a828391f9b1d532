package store

import (
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// What clients are told of a conflict names nothing of the schema.
func TestConflictNamesNoConstraint(t *testing.T) {
	for _, code := range []string{codeUniqueViolation, codeForeignKeyViolation} {
		err := translate(&pgconn.PgError{Code: code, ConstraintName: "jobs_input_fkey", Message: "secret"})
		if err == nil || err.Error() != ErrConflict.Error() {
			t.Errorf("SQLSTATE %s becomes %v, want %v", code, err, ErrConflict)
		}
	}
}
