package store

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
)

func TestStatementGoesOutAsTheDriverWouldSendIt(t *testing.T) {
	args := pgx.NamedArgs{"job": 1, "now": nil, "limit": 3, "workers": []string{"w"}}
	for _, sql := range []string{
		claimTasksSQL, renewLeasesSQL, recordArtifactsSQL, completeTasksSQL,
		`SELECT @job, '@limit', @now::timestamptz -- @workers
		 , @job`,
		`SELECT 1`,
	} {
		wantSQL, want, err := args.RewriteQuery(t.Context(), nil, sql, nil)
		if err != nil {
			t.Fatal(err)
		}
		s := newStatement(sql)
		gotSQL, got, err := bound{s, args}.RewriteQuery(t.Context(), nil, s.sql, nil)
		if err != nil || gotSQL != wantSQL || !cmp.Equal(got, want) {
			t.Errorf("%s\ngives %s\nwith %v, %v; want %s\nwith %v", sql, gotSQL, got, err, wantSQL, want)
		}
	}
}
