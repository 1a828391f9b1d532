package store

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

const getJobSQL = `
SELECT` + jobColumns + `, j.plan` + jobTables + `
WHERE  j.id = @id OR j.name = @name`

// GetJob returns the Job of that name or UUID. For a damaged row it returns
// what could be read together with ErrDamaged.
func (s *Store) GetJob(ctx context.Context, ref string) (_ Job, err error) {
	defer wrapf(&err, "get job %q", ref)
	return s.getJob(ctx, ref)
}

// GetJobByID is GetJob by id.
func (s *Store) GetJobByID(ctx context.Context, id uuid.UUID) (_ Job, err error) {
	defer wrapf(&err, "get job %s", id)
	return s.getJob(ctx, id.String())
}

func (s *Store) getJob(ctx context.Context, ref string) (Job, error) {
	r, err := collectOne[jobRow](ctx, s.pool, getJobSQL, s.refArgs(ref))
	if err != nil {
		return Job{}, err
	}
	j := r.job()
	return j, j.damageError()
}

// refArgs are @id and @name of a reference: a name never has the form of a UUID.
func (s *Store) refArgs(ref string) pgx.NamedArgs {
	args := pgx.NamedArgs{"id": nil, "name": ref, "now": s.now()}
	if id, err := uuid.Parse(ref); err == nil {
		args["id"], args["name"] = id, nil
	}
	return args
}

const listJobsSQL = `
SELECT` + jobColumns + `, NULL::jsonb AS plan` + jobTables + `
WHERE  (@before_time::timestamptz IS NULL OR (j.created_at, j.id) < (@before_time, @before_id::uuid))
AND    (@phases::text[] IS NULL OR j.status = ANY (@phases))
AND    (@workload::text IS NULL OR j.workload = @workload)
AND    (@contains::jsonb IS NULL OR j.labels @> @contains)`

// ListJobs lists jobs, newest first. Damaged ones are in it, with Damage set.
func (s *Store) ListJobs(ctx context.Context, f JobFilter, p Page) (_ List[Job], err error) {
	defer wrapf(&err, "list jobs")

	after, err := decodeCursor[timeCursor](p)
	if err != nil {
		return List[Job]{}, err
	}
	args := pgx.NamedArgs{
		"now": s.now(), "before_time": after.timeOrNil(), "before_id": after.ID,
		"phases": textArray(f.Phases), "workload": textOrNil(f.Workload), "limit": p.limit() + 1,
	}
	where, err := selectorSQL(f.Labels, args)
	if err != nil {
		return List[Job]{}, err
	}
	rows, err := collect[jobRow](ctx, s.pool, listJobsSQL+where+`
ORDER BY j.created_at DESC, j.id DESC
LIMIT  @limit`, args)
	if err != nil {
		return List[Job]{}, err
	}
	jobs := make([]Job, len(rows))
	for i, r := range rows {
		jobs[i] = r.job()
	}
	return page(jobs, p, func(j Job) any { return timeCursor{j.CreatedAt, j.ID} }), nil
}

// selectorSQL turns a label selector into conditions on j.labels. Keys and
// values are arguments; the text depends on the shape of the selector alone.
// Labels that must have one value go into @contains, which an index serves.
func selectorSQL(sel labels.Selector, args pgx.NamedArgs) (string, error) {
	args["contains"] = nil
	if sel == nil {
		return "", nil
	}
	reqs, selectable := sel.Requirements()
	if !selectable {
		return "\nAND    false", nil
	}
	var b strings.Builder
	contains := map[string]string{}
	for i, r := range reqs {
		key, values := fmt.Sprintf("label_key_%d", i), fmt.Sprintf("label_values_%d", i)
		switch r.Operator() {
		case selection.Equals, selection.DoubleEquals, selection.In:
			if set := r.Values().UnsortedList(); len(set) == 1 {
				if old, ok := contains[r.Key()]; ok && old != set[0] {
					return "\nAND    false", nil
				}
				contains[r.Key()] = set[0]
				continue
			}
			fmt.Fprintf(&b, "\nAND    j.labels ->> @%s = ANY (@%s::text[])", key, values)
			args[values] = r.Values().UnsortedList()
		case selection.NotEquals, selection.NotIn:
			fmt.Fprintf(&b, "\nAND    (j.labels ->> @%s = ANY (@%s::text[])) IS NOT TRUE", key, values)
			args[values] = r.Values().UnsortedList()
		case selection.Exists:
			fmt.Fprintf(&b, "\nAND    j.labels ? @%s", key)
		case selection.DoesNotExist:
			fmt.Fprintf(&b, "\nAND    NOT j.labels ? @%s", key)
		default:
			return "", fmt.Errorf("%w: label selector operator %q is not supported", ErrInvalid, r.Operator())
		}
		args[key] = r.Key()
	}
	if len(contains) > 0 {
		text, err := json.Marshal(contains)
		if err != nil {
			return "", err
		}
		args["contains"] = string(text)
	}
	return b.String(), nil
}

// timeCursor is a position in a list by time and id.
type timeCursor struct {
	Time time.Time `json:"t"`
	ID   uuid.UUID `json:"i"`
}

func (c timeCursor) timeOrNil() *time.Time {
	if c.Time.IsZero() {
		return nil
	}
	return &c.Time
}
