package store

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"scimesh.dev/scimesh/store/batch"
)

// What workers do to tasks for good, claim, artifact and completion, goes through one
// queue. Calls of all kinds that arrive together share one transaction, one
// round trip and one wait for the disk, with one statement for each kind. Renewals do
// not wait for the disk and have a queue of their own.

// laneMax bounds a transaction, so that nobody waits long for it.
const laneMax = 200

// call is one request; one of its fields is set.
type call struct {
	claim    *claim
	record   *RecordTaskArtifactParams
	complete *CompleteTaskParams
}

// reply is the answer to it.
type reply struct {
	leased     *LeasedTask // nil if there is no task
	artifact   Artifact
	completion Completion
}

// newLane returns the queue. A task that was leased for a caller who has gone
// is handed back.
func (s *Store) newLane() *batch.Queue[call, reply] {
	return batch.New(s.serveLane, batch.Options[call, reply]{
		Max:     laneMax,
		Timeout: s.cfg.QueryTimeout,
		Isolate: isolate,
		Orphan: func(_ call, r reply) {
			if r.leased == nil {
				return
			}
			ctx, cancel := context.WithTimeout(context.Background(), s.cfg.QueryTimeout)
			defer cancel()
			// If this fails the lease expires by itself.
			_ = s.ReleaseTask(ctx, r.leased.Lease)
		},
	})
}

// serveLane serves one batch.
func (s *Store) serveLane(ctx context.Context, calls []call) ([]batch.Result[reply], error) {
	var l load
	for i, c := range calls {
		switch {
		case c.claim != nil:
			l.claims, l.claimAt = append(l.claims, *c.claim), append(l.claimAt, i)
		case c.record != nil:
			l.records, l.recordAt = append(l.records, *c.record), append(l.recordAt, i)
		default:
			l.completions, l.completeAt = append(l.completions, *c.complete), append(l.completeAt, i)
		}
	}
	if err := s.serve(ctx, &l); err != nil {
		return nil, err
	}
	results := make([]batch.Result[reply], len(calls))
	for n, i := range l.claimAt {
		results[i] = batch.Result[reply]{Value: reply{leased: l.leased[n].Value}, Err: l.leased[n].Err}
	}
	for n, i := range l.recordAt {
		results[i] = batch.Result[reply]{Value: reply{artifact: l.recorded[n].Value}, Err: l.recorded[n].Err}
	}
	for n, i := range l.completeAt {
		results[i] = batch.Result[reply]{Value: reply{completion: l.completed[n].Value}, Err: l.completed[n].Err}
	}
	return results, nil
}

// load is a batch by kinds: the requests, their places in it, and the answers.
type load struct {
	claims      []claim
	records     []RecordTaskArtifactParams
	completions []CompleteTaskParams

	claimAt, recordAt, completeAt []int

	leased    []batch.Result[*LeasedTask]
	recorded  []batch.Result[Artifact]
	completed []batch.Result[Completion]
}

func recordTask(p RecordTaskArtifactParams) uuid.UUID { return p.Task }
func completeTask(p CompleteTaskParams) uuid.UUID     { return p.Task }

// serve answers a batch: of one kind by its statement alone, of several together.
func (s *Store) serve(ctx context.Context, l *load) (err error) {
	switch {
	case len(l.records)+len(l.completions) == 0:
		l.leased, err = s.claimBatch(ctx, l.claims)
	case len(l.claims)+len(l.completions) == 0:
		l.recorded, err = eachTaskOnce(recordTask, s.recordBatch)(ctx, l.records)
	case len(l.claims)+len(l.records) == 0:
		l.completed, err = eachTaskOnce(completeTask, s.completeBatch)(ctx, l.completions)
	default:
		err = s.serveTogether(ctx, l)
	}
	return err
}

// serveTogether serves what it can in one transaction: one artifact and one
// completion of each task, and claims in jobs that need no lock. The rest follows.
func (s *Store) serveTogether(ctx context.Context, l *load) error {
	l.leased = make([]batch.Result[*LeasedTask], len(l.claims))
	l.recorded = make([]batch.Result[Artifact], len(l.records))
	l.completed = make([]batch.Result[Completion], len(l.completions))
	open, workers, err := s.openClaims(ctx, l.claims, l.leased)
	if err != nil {
		return err
	}
	t := together{s: s}
	var locked []*claimGroup
	for _, g := range s.assign(l.claims, open, workers) {
		if g.plain() && !g.job.retry {
			t.groups, t.leased = append(t.groups, g), append(t.leased, nil)
		} else {
			locked = append(locked, g)
		}
	}
	records, laterRecords := distinct(l.records, recordTask)
	completions, laterCompletions := distinct(l.completions, completeTask)
	t.records, t.completions, t.claims = choose(l.records, records), choose(l.completions, completions), l.claims
	if err := t.commit(ctx); err != nil {
		return err
	}
	spread(l.recorded, records, recorded(t.records, t.recorded), nil)
	spread(l.completed, completions, s.completed(ctx, t.completions, t.completed), nil)

	// From here on an error is that of the calls which it meets.
	if len(laterRecords) > 0 {
		got, err := eachTaskOnce(recordTask, s.recordBatch)(ctx, choose(l.records, laterRecords))
		spread(l.recorded, laterRecords, got, err)
	}
	if len(laterCompletions) > 0 {
		got, err := eachTaskOnce(completeTask, s.completeBatch)(ctx, choose(l.completions, laterCompletions))
		spread(l.completed, laterCompletions, got, err)
	}
	s.finishClaims(ctx, l, t, locked, workers)
	return nil
}

// finishClaims divides the tasks that were leased, and serves the claims that got none.
func (s *Store) finishClaims(ctx context.Context, l *load, t together, locked []*claimGroup, workers map[uuid.UUID]*workerInfo) {
	var open []int
	fail := func(claims []int, err error) {
		for _, i := range claims {
			if l.leased[i].Value == nil {
				l.leased[i].Err = err
			}
		}
	}
	for n, g := range t.groups {
		got := claimResult{byWorker: map[uuid.UUID][]*LeasedTask{}}
		owners := got.add(g, t.leased[n], g.owners(l.claims))
		var err error
		if g.job.floor > 0 {
			err = s.claimFresh(ctx, s.batchPool, g, owners, &got, 0)
		}
		rest := s.divide(g, got, l.claims, l.leased)
		if err != nil {
			fail(rest, err)
			continue
		}
		open = append(open, rest...)
	}
	for _, g := range locked {
		rest, err := s.claimGroup(ctx, g, l.claims, l.leased)
		if err != nil {
			fail(g.claims, err)
		}
		open = append(open, rest...)
	}
	if _, err := s.serveClaims(ctx, l.claims, open, workers, l.leased); err != nil {
		fail(open, err)
	}
}

// spread puts answers, or an error, in their places.
func spread[T any](all []batch.Result[T], places []int, answers []batch.Result[T], err error) {
	for n, i := range places {
		if all[i].Err = err; err == nil {
			all[i] = answers[n]
		}
	}
}

// together is a transaction for calls of several kinds, and the rows that it wrote.
type together struct {
	s           *Store
	records     []RecordTaskArtifactParams
	completions []CompleteTaskParams
	claims      []claim
	groups      []*claimGroup // of claims

	recorded  []artifactRow
	leased    [][]claimedRow // by group
	completed []completedRow
}

// commit runs it until the database neither breaks it off nor finds a result
// where the artifact was taken for the first. Either all of it is done or nothing.
func (t *together) commit(ctx context.Context) (err error) {
	record := recordArtifacts
	for range txAttempts {
		err = t.s.batchPool.SendBatch(ctx, t.batch(record)).Close()
		switch {
		case isCode(err, codeUniqueViolation):
			record = replaceArtifacts
		case !retryable(err):
			return err
		}
	}
	return err
}

// batch is what is sent at once; the server takes it for one transaction. Claims
// come last, since they wait for nobody: a claim keeps the lock of a task that
// another one leased a moment before, and whoever waited with such a lock for the
// row of a job would wait for the completion of that task.
func (t *together) batch(record *statement) *pgx.Batch {
	b := &pgx.Batch{}
	if len(t.records) > 0 {
		queue(b, record, t.s.recordArgs(t.records), &t.recorded)
	}
	if len(t.completions) > 0 {
		queue(b, completeTasks, t.s.completeArgs(t.completions), &t.completed)
	}
	for i, g := range t.groups {
		queue(b, claimTasks, t.s.claimArgs(g, g.owners(t.claims), g.job.floor), &t.leased[i])
	}
	return b
}

// queue adds a statement whose rows go to out.
func queue[T any](b *pgx.Batch, s *statement, args pgx.NamedArgs, out *[]T) {
	b.Queue(s.sql, bound{s, args}).Query(func(rows pgx.Rows) (err error) {
		*out, err = pgx.CollectRows(rows, pgx.RowToStructByName[T])
		return err
	})
}
