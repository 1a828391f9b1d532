package store

import (
	"context"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	v1 "scimesh.dev/scimesh/api/v1"
)

// JobSearch selects jobs for people who browse; zero fields select all.
type JobSearch struct {
	JobFilter
	// Text is part of the name, or of a label's key or value, in any case of letters.
	Text string
}

// JobPage is a part of a list of jobs, with what it is a part of. All of it
// was read at one moment, so that the numbers agree.
type JobPage struct {
	Items []Job
	// Total is how many jobs the search selects.
	Total int64
	// ByPhase counts what the search would select in any phase.
	ByPhase map[v1.JobPhase]int64
}

const searchJobsSQL = `
(@workload::text IS NULL OR j.workload = @workload)
AND    (@contains::jsonb IS NULL OR j.labels @> @contains)
AND    (@text::text IS NULL OR strpos(j.name, @text) > 0
        OR EXISTS (SELECT FROM jsonb_each_text(j.labels) l WHERE strpos(lower(l.key || '=' || l.value), @text) > 0))`

const phasesSQL = `
AND    (@phases::text[] IS NULL OR j.status = ANY (@phases))`

// where returns the conditions of the search apart from the phases, and its arguments.
func (f JobSearch) where() (string, pgx.NamedArgs, error) {
	args := pgx.NamedArgs{
		"phases": textArray(f.Phases), "workload": textOrNil(f.Workload), "text": textOrNil(strings.ToLower(f.Text)),
	}
	labels, err := selectorSQL(f.Labels, args)
	return searchJobsSQL + labels, args, err
}

// PageJobs returns limit jobs, newest first, from the one at offset on.
func (s *Store) PageJobs(ctx context.Context, f JobSearch, offset, limit int) (_ JobPage, err error) {
	defer wrapf(&err, "page through jobs")

	where, args, err := f.where()
	if err != nil {
		return JobPage{}, err
	}
	args["now"], args["offset"], args["limit"] = s.now(), offset, limit
	var page JobPage
	err = pgx.BeginTxFunc(ctx, s.pool, readSnapshot, func(tx pgx.Tx) error {
		page = JobPage{ByPhase: map[v1.JobPhase]int64{}}
		if err := page.count(ctx, tx, where, args); err != nil {
			return err
		}
		for phase, n := range page.ByPhase {
			if len(f.Phases) == 0 || slices.Contains(f.Phases, phase) {
				page.Total += n
			}
		}
		// Ids first: what is skipped costs no more than its place in the index.
		rows, err := collect[jobRow](ctx, tx, `
SELECT`+jobColumns+`, NULL::jsonb AS plan`+jobTables+`
WHERE  j.id IN (SELECT j.id FROM jobs j WHERE `+where+phasesSQL+`
                ORDER BY j.created_at DESC, j.id DESC OFFSET @offset LIMIT @limit)
ORDER BY j.created_at DESC, j.id DESC`, args)
		for _, r := range rows {
			page.Items = append(page.Items, r.job())
		}
		return err
	})
	return page, err
}

func (p *JobPage) count(ctx context.Context, q querier, where string, args pgx.NamedArgs) error {
	rows, err := q.Query(ctx, `SELECT j.status, count(*) FROM jobs j WHERE `+where+` GROUP BY j.status`, args)
	if err != nil {
		return err
	}
	var phase v1.JobPhase
	var n int64
	_, err = pgx.ForEachRow(rows, []any{&phase, &n}, func() error {
		p.ByPhase[phase] = n
		return nil
	})
	return err
}

// cancelBatch is how many jobs one transaction of RequestCancelAll marks.
const cancelBatch = 500

// RequestCancelAll records that every Job that the search selects and that has
// not ended is to be cancelled, and returns how many there were.
func (s *Store) RequestCancelAll(ctx context.Context, f JobSearch) (n int, err error) {
	defer wrapf(&err, "cancel jobs")

	where, args, err := f.where()
	if err != nil {
		return 0, err
	}
	args["now"], args["limit"] = s.now(), cancelBatch
	sql := `
UPDATE jobs
SET    cancel_requested_at = coalesce(@now::timestamptz, now()),
       version = version + 1, updated_at = coalesce(@now::timestamptz, now())
WHERE  id IN (SELECT j.id FROM jobs j
              WHERE  j.cancel_requested_at IS NULL
              AND    j.status NOT IN ('completed', 'failed', 'cancelled')
              AND    ` + where + phasesSQL + `
              ORDER BY j.id LIMIT @limit FOR NO KEY UPDATE OF j)
RETURNING id`
	for {
		var changed []uuid.UUID
		err := s.inTx(ctx, func(tx pgx.Tx) error {
			rows, err := tx.Query(ctx, sql, args)
			if err != nil {
				return err
			}
			if changed, err = pgx.CollectRows(rows, pgx.RowTo[uuid.UUID]); err != nil {
				return err
			}
			return s.announceCancel(ctx, tx, changed)
		})
		if n += len(changed); err != nil || len(changed) < cancelBatch {
			return n, err
		}
	}
}

// announceCancel records and announces that jobs are to be cancelled.
func (s *Store) announceCancel(ctx context.Context, tx pgx.Tx, jobs []uuid.UUID) error {
	events := make([]Event, len(jobs))
	for i, id := range jobs {
		events[i] = Event{JobID: id, Type: v1.EventNormal, Reason: "CancelRequested", Message: "cancellation was requested"}
	}
	if err := s.recordEvents(ctx, tx, events...); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `SELECT pg_notify($1, id::text) FROM unnest($2::uuid[]) AS t(id)`, ChannelJobs, jobs)
	return err
}
