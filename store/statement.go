package store

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"
)

// statement is a statement with named arguments whose names are looked for
// once: it is sent so often that this would be a good part of its cost.
type statement struct {
	sql   string   // with $1, $2, …
	names []string // of these
}

// newStatement reads the names in a statement.
func newStatement(sql string) *statement {
	// The driver numbers the names; each one is found by giving it alone a value.
	numbered, values, err := pgx.NamedArgs{}.RewriteQuery(context.Background(), nil, sql, nil)
	if err != nil {
		panic(err) // the driver has no error for names that are missing
	}
	s := &statement{sql: numbered, names: make([]string, len(values))}
	for _, name := range namesIn(sql) {
		_, values, _ := pgx.NamedArgs{name: true}.RewriteQuery(context.Background(), nil, sql, nil)
		if i := slices.Index(values, any(true)); i >= 0 {
			s.names[i] = name
		}
	}
	return s
}

// namesIn are the words after an @, of which some may stand in a text or comment.
func namesIn(sql string) []string {
	var names []string
	for i := 0; i < len(sql); i++ {
		if sql[i] != '@' {
			continue
		}
		end := i + 1
		for end < len(sql) && (sql[end] == '_' || sql[end]|0x20 >= 'a' && sql[end]|0x20 <= 'z' || sql[end] >= '0' && sql[end] <= '9') {
			end++
		}
		names = append(names, sql[i+1:end])
		i = end - 1
	}
	return names
}

// bound are the arguments of one use of a statement.
type bound struct {
	*statement
	args pgx.NamedArgs
}

// RewriteQuery implements pgx.QueryRewriter.
func (b bound) RewriteQuery(context.Context, *pgx.Conn, string, []any) (string, []any, error) {
	values := make([]any, len(b.names))
	for i, name := range b.names {
		values[i] = b.args[name]
	}
	return b.sql, values, nil
}

// collectHot is collect for a statement that is prepared in this way.
func collectHot[T any](ctx context.Context, q querier, s *statement, args pgx.NamedArgs) ([]T, error) {
	rows, err := q.Query(ctx, s.sql, bound{s, args})
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByName[T])
}
