package store

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"scimesh.dev/scimesh/store/batch"
)

// claim is one request in a batch of claims.
type claim struct {
	worker       uuid.UUID
	capabilities []string
}

// ClaimTask leases one task to a worker; ok is false if there is none. An
// unknown or offline worker is ErrNotFound: it has to register again. A worker
// in quarantine gets nothing. Waiting needs Run; no connection is held meanwhile.
func (s *Store) ClaimTask(ctx context.Context, p ClaimParams) (task LeasedTask, ok bool, err error) {
	defer wrapf(&err, "claim task for worker %s", p.Worker)

	if err := s.ensureBeat(ctx); err != nil {
		return LeasedTask{}, false, err
	}
	req := claim{worker: p.Worker, capabilities: p.Capabilities}
	deadline := time.Now().Add(p.Wait)
	for {
		s.touch(p.Worker)
		w := s.dispatch.enter(p.Capabilities, p.Wait > 0)
		r, err := s.lane.Do(ctx, call{claim: &req})
		leased := r.leased
		if err != nil || leased != nil || !time.Now().Before(deadline) {
			s.dispatch.leave(w)
			return deref(leased), leased != nil, err
		}
		if err := w.wait(ctx, time.Until(deadline)); err != nil {
			s.dispatch.leave(w)
			return LeasedTask{}, false, err
		}
		s.dispatch.leave(w)
	}
}

// isolate reports whether one request may have broken its batch: not if the
// database is away.
func isolate(err error) bool { return !errors.Is(translate(err), ErrUnavailable) || retryable(err) }

// claimBatch serves claims that came together, in the order in which they came.
func (s *Store) claimBatch(ctx context.Context, claims []claim) ([]batch.Result[*LeasedTask], error) {
	results := make([]batch.Result[*LeasedTask], len(claims))
	open, workers, err := s.openClaims(ctx, claims, results)
	if err != nil {
		return nil, err
	}
	return s.serveClaims(ctx, claims, open, workers, results)
}

// openClaims returns the indexes of the claims for which there may be a task.
// The others have their answer.
func (s *Store) openClaims(ctx context.Context, claims []claim, results []batch.Result[*LeasedTask]) ([]int, map[uuid.UUID]*workerInfo, error) {
	if err := s.refreshDispatch(ctx); err != nil {
		return nil, nil, err
	}
	workers, err := s.loadWorkers(ctx, claims)
	if err != nil {
		return nil, nil, err
	}
	open := make([]int, 0, len(claims))
	for i, c := range claims {
		switch w := workers[c.worker]; {
		case w == nil || w.offline:
			results[i].Err = ErrNotFound
		case !w.quarantined:
			open = append(open, i)
		}
	}
	return open, workers, nil
}

// serveClaims serves open claims, job by job.
func (s *Store) serveClaims(ctx context.Context, claims []claim, open []int, workers map[uuid.UUID]*workerInfo, results []batch.Result[*LeasedTask]) ([]batch.Result[*LeasedTask], error) {
	for len(open) > 0 {
		groups := s.assign(claims, open, workers)
		if len(groups) == 0 {
			break
		}
		open = open[:0]
		for _, g := range groups {
			rest, err := s.claimGroup(ctx, g, claims, results)
			if err != nil {
				return s.handBack(results, err)
			}
			open = append(open, rest...)
		}
	}
	return results, nil
}

// handBack ends a batch that broke after some of its claims had been
// committed: those are answered, the others get the error.
func (s *Store) handBack(results []batch.Result[*LeasedTask], err error) ([]batch.Result[*LeasedTask], error) {
	served := false
	for _, r := range results {
		served = served || r.Value != nil
	}
	if !served {
		return nil, err
	}
	for i, r := range results {
		if r.Value == nil && r.Err == nil {
			results[i].Err = err
		}
	}
	return results, nil
}

// claimGroup are claims that one statement serves from one job.
type claimGroup struct {
	job    dispatchJob // a copy: the original changes meanwhile
	engine string
	claims []int
}

// assign divides unserved claims among jobs. Claims that suit no job are dropped.
func (s *Store) assign(claims []claim, open []int, workers map[uuid.UUID]*workerInfo) []*claimGroup {
	type key struct {
		job    uuid.UUID
		engine string
	}
	d := s.dispatch
	d.mu.Lock()
	defer d.mu.Unlock()

	var groups []*claimGroup
	byKey := map[key]*claimGroup{}
	for _, i := range open {
		w := workers[claims[i].worker]
		j := d.pick(w, claims[i].capabilities)
		if j == nil {
			continue
		}
		j.served++
		k := key{j.id, j.engineOf(w)}
		g := byKey[k]
		if g == nil {
			g = &claimGroup{job: *j, engine: k.engine}
			groups, byKey[k] = append(groups, g), g
		}
		g.claims = append(g.claims, i)
	}
	return groups
}

// claimGroup leases tasks of one job and returns the claims that got none.
// A job that could not serve them all is dry from then on.
func (s *Store) claimGroup(ctx context.Context, g *claimGroup, claims []claim, results []batch.Result[*LeasedTask]) ([]int, error) {
	got, err := s.claimInJob(ctx, g, g.owners(claims))
	if err != nil {
		return nil, err
	}
	return s.divide(g, got, claims, results), nil
}

func (g *claimGroup) owners(claims []claim) []uuid.UUID {
	owners := make([]uuid.UUID, len(g.claims))
	for n, i := range g.claims {
		owners[n] = claims[i].worker
	}
	return owners
}

// divide answers the claims of a group with the tasks that were leased, and
// returns those that got none.
func (s *Store) divide(g *claimGroup, got claimResult, claims []claim, results []batch.Result[*LeasedTask]) []int {
	rest := g.claims[:0:0]
	for _, i := range g.claims {
		tasks := got.byWorker[claims[i].worker]
		if len(tasks) == 0 {
			rest = append(rest, i)
			continue
		}
		results[i].Value, got.byWorker[claims[i].worker] = tasks[0], tasks[1:]
	}
	s.dispatch.claimed(g, got, len(rest))
	for _, i := range rest {
		s.workers.forget(claims[i].worker) // it may be in quarantine by now
	}
	return rest
}

// claimed notes what a group of claims found.
func (d *dispatcher) claimed(g *claimGroup, got claimResult, unserved int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	j := d.byID[g.job.id]
	if j == nil {
		return
	}
	j.served -= int64(unserved)
	j.retry = j.retry && !got.noRetry
	if j.floor == g.job.floor { // unless a task was requeued meanwhile
		j.floor = max(got.floor, j.floor)
	}
	if got.engine != nil {
		j.engine = got.engine
	}
	if unserved > 0 && !got.otherEngine {
		j.dry, j.floor = true, 0 // if a task came meanwhile, the list is stale and tells
	}
}
