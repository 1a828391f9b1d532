package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	v1 "scimesh.dev/scimesh/api/v1"
)

const extendPlanSQL = `
UPDATE jobs
SET    status = 'running', total_tasks = total_tasks + @tasks, plan = @plan, conditions = @conditions,
       step_owner = NULL, step_expires_at = NULL, step_failures = 0,
       version = version + 1, updated_at = coalesce(@now::timestamptz, now())
WHERE  id = @job`

// ExtendPlan adds the tasks that could be planned only after the others had
// completed, and moves the Job back to running, or changes nothing and returns
// ErrLeaseLost.
func (s *Store) ExtendPlan(ctx context.Context, t StepToken, p ExtendPlanParams) (err error) {
	defer wrapf(&err, "extend plan of job %s", t.Job)

	ctx, cancel := context.WithTimeout(ctx, planTimeout)
	defer cancel()
	err = retryTx(ctx, s.pool, func(tx pgx.Tx) error { return s.extendPlan(ctx, tx, t, p) })
	if errors.Is(translate(err), ErrConflict) {
		return ErrLeaseLost // another planner has written these tasks
	}
	if err == nil {
		s.dispatch.poke()
	}
	return err
}

func (s *Store) extendPlan(ctx context.Context, tx pgx.Tx, t StepToken, p ExtendPlanParams) error {
	if _, err := tx.Exec(ctx, `SELECT set_config('statement_timeout', $1, true)`, millis(planTimeout)); err != nil {
		return err
	}
	r, err := collectOne[jobRow](ctx, tx, getJobSQL, s.refArgs(t.Job.String()))
	if err != nil || r.Status != string(v1.JobPlanning) || id(r.StepOwner) != t.Owner {
		return errors.Join(err, ErrLeaseLost)
	}
	if err := copyTasks(ctx, tx, r, p.Tasks, r.TotalTasks); err != nil {
		return err
	}
	job, err := s.lockStep(ctx, tx, t)
	if err != nil {
		return err
	}
	if job.Phase != v1.JobPlanning || job.Plan == nil || !job.Plan.More || job.Tasks.Total != r.TotalTasks {
		return ErrLeaseLost
	}
	plan := *job.Plan
	plan.Notes, plan.More = p.Notes, p.More
	text, err := json.Marshal(plan)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, extendPlanSQL, pgx.NamedArgs{
		"job": t.Job, "tasks": len(p.Tasks), "plan": text, "conditions": withConditions(job, p.Conditions), "now": s.now(),
	})
	if err != nil {
		return err
	}
	event := Event{JobID: t.Job, Type: v1.EventNormal, Reason: "JobExtended", Message: fmt.Sprintf("planned %d further tasks", len(p.Tasks))}
	if err := s.recordEvents(ctx, tx, event); err != nil {
		return err
	}
	return notifyJob(ctx, tx, t.Job)
}
