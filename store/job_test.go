package store_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"k8s.io/apimachinery/pkg/labels"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/store"
	"scimesh.dev/scimesh/store/storetest"
)

func TestCreateJobRefuses(t *testing.T) {
	s := storetest.New(t)
	p := storetest.JobParams(t, s, "taken")
	if _, err := s.CreateJob(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	if _, err := s.CreateJob(t.Context(), p); !errors.Is(err, store.ErrConflict) {
		t.Errorf("taken name: %v, want ErrConflict", err)
	}
	unknown := store.NewID()
	p.Name, p.Spec.Input = "other", v1.JobInput{Artifact: &unknown}
	var field *store.FieldError
	if _, err := s.CreateJob(t.Context(), p); !errors.Is(err, store.ErrInvalid) || !errors.As(err, &field) || field.Field != "spec.input.artifact" {
		t.Errorf("unknown input: %v, want ErrInvalid with its field", err)
	}
	p.Spec.Input = v1.JobInput{SHA256: storetest.SHA256("never uploaded")}
	if _, err := s.CreateJob(t.Context(), p); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("unknown checksum: %v, want ErrInvalid", err)
	}
}

func TestApply(t *testing.T) {
	s := storetest.New(t)
	p := storetest.JobParams(t, s, "job")
	apply := func(change func(*store.CreateJobParams), dryRun bool) (store.Job, store.ApplyOperation, error) {
		q := p
		if change != nil {
			change(&q)
		}
		return s.ApplyJob(t.Context(), q, dryRun)
	}
	if _, op, err := apply(nil, true); op != store.ApplyCreated || err != nil {
		t.Errorf("dry run: %s, %v", op, err)
	}
	if _, err := s.GetJob(t.Context(), "job"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("after a dry run: %v, want no job", err)
	}
	j, op, err := apply(nil, false)
	if op != store.ApplyCreated || err != nil || j.Generation != 1 {
		t.Fatalf("first apply: %+v, %s, %v", j, op, err)
	}
	sameBytes := func(q *store.CreateJobParams) {
		q.Spec.Input = v1.JobInput{SHA256: storetest.SHA256("input of job")}
		q.Spec.Parameters = json.RawMessage(`{ "top_k": 5, "query_id": "Q" }`)
	}
	if again, op, err := apply(sameBytes, false); op != store.ApplyUnchanged || err != nil || again.Version != j.Version {
		t.Errorf("same spec in other words: %s, %v, version %d, want %d unchanged", op, err, again.Version, j.Version)
	}
	changed, op, err := apply(func(q *store.CreateJobParams) { q.Spec.Priority, q.Spec.Suspend = 7, true }, false)
	if op != store.ApplyConfigured || err != nil || changed.Generation != 2 || changed.Spec.Priority != 7 || !changed.Spec.Suspend {
		t.Errorf("changed spec: %+v, %s, %v", changed, op, err)
	}
	labelled, op, err := apply(func(q *store.CreateJobParams) {
		q.Spec.Priority, q.Spec.Suspend, q.Labels = 7, true, map[string]string{"a": "b"}
	}, false)
	if op != store.ApplyConfigured || err != nil || labelled.Generation != 2 || labelled.Labels["a"] != "b" {
		t.Errorf("changed labels: %+v, %s, %v, want no new generation", labelled, op, err)
	}
	_, _, err = apply(func(q *store.CreateJobParams) {
		q.Spec.Workload, q.Spec.MaxAttempts, q.Spec.Sharding.Rows = "x", 9, 1
		q.Spec.Parameters = json.RawMessage(`{"top_k":6}`)
		other := storetest.MakeInput(t, s, "other bytes")
		q.Spec.Input = v1.JobInput{Artifact: &other.ID}
	}, false)
	var immutable *store.ImmutableError
	want := []string{"spec.workload", "spec.input", "spec.parameters.query_id", "spec.parameters.top_k", "spec.sharding.rows", "spec.maxAttempts"}
	if !errors.Is(err, store.ErrConflict) || !errors.As(err, &immutable) || !cmp.Equal(immutable.Fields, want) {
		t.Errorf("fixed fields: %v, want %v", err, want)
	}
	if _, err := s.RequestDelete(t.Context(), "job"); err != nil {
		t.Fatal(err)
	}
	if _, _, err := apply(nil, false); !errors.Is(err, store.ErrConflict) {
		t.Errorf("job being deleted: %v, want ErrConflict", err)
	}
}

func TestConcurrentAppliesCreateOneJob(t *testing.T) {
	s := storetest.New(t)
	p := storetest.JobParams(t, s, "job")
	var mu sync.Mutex
	ops := map[store.ApplyOperation]int{}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			_, op, err := s.ApplyJob(t.Context(), p, false)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			ops[op]++
			mu.Unlock()
		})
	}
	wg.Wait()
	if ops[store.ApplyCreated] != 1 || ops[store.ApplyUnchanged] != 7 {
		t.Errorf("operations %v, want one created, the others unchanged", ops)
	}
}

func TestListPagesWhileJobsAreCreated(t *testing.T) {
	s := storetest.New(t)
	var want []string
	for i := range 25 {
		want = append(want, storetest.MakeJob(t, s, fmt.Sprintf("old-%02d", i)).Name)
	}
	slices.Reverse(want)
	var got []string
	page := store.Page{Limit: 4}
	for n := 0; ; n++ {
		list, err := s.ListJobs(t.Context(), store.JobFilter{}, page)
		if err != nil {
			t.Fatal(err)
		}
		for _, j := range list.Items {
			got = append(got, j.Name)
		}
		storetest.MakeJob(t, s, fmt.Sprintf("new-%02d", n))
		if page.Continue = list.Continue; page.Continue == "" {
			break
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("pages hold other jobs than there were at the beginning:\n%s", diff)
	}
	for _, bad := range []string{"!", "bm90IGpzb24"} {
		if _, err := s.ListJobs(t.Context(), store.JobFilter{}, store.Page{Continue: bad}); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("continue %q: %v, want ErrInvalid", bad, err)
		}
	}
}

func TestListSelects(t *testing.T) {
	s := storetest.New(t)
	for name, set := range map[string]map[string]string{
		"egfr-a": {"target": "EGFR", "user": "ann"}, "egfr-b": {"target": "EGFR"}, "alk": {"target": "ALK", "user": "bob"}, "plain": {},
	} {
		storetest.MakeJob(t, s, name, func(p *store.CreateJobParams) { p.Labels = set })
	}
	if _, err := s.RequestCancel(t.Context(), "plain"); err != nil {
		t.Fatal(err)
	}
	if err := s.EndJob(t.Context(), store.EndJobParams{Job: getJob(t, s, "plain").ID, Phase: v1.JobCancelled}); err != nil {
		t.Fatal(err)
	}
	for selector, want := range map[string][]string{
		"":                               {"alk", "egfr-a", "egfr-b", "plain"},
		"target=EGFR":                    {"egfr-a", "egfr-b"},
		"target==EGFR,user=ann":          {"egfr-a"},
		"target!=EGFR":                   {"alk", "plain"},
		"target in (EGFR, ALK), user":    {"alk", "egfr-a"},
		"target notin (ALK)":             {"egfr-a", "egfr-b", "plain"},
		"!target":                        {"plain"},
		"target in (ALK,EGFR),user!=ann": {"alk", "egfr-b"},
		"target=ALK,target=EGFR":         nil,
	} {
		sel, err := labels.Parse(selector)
		if err != nil {
			t.Fatal(err)
		}
		if got := jobNames(t, s, store.JobFilter{Labels: sel}); !slices.Equal(got, want) {
			t.Errorf("selector %q: %v, want %v", selector, got, want)
		}
	}
	if got := jobNames(t, s, store.JobFilter{Phases: []v1.JobPhase{v1.JobCancelled}}); !slices.Equal(got, []string{"plain"}) {
		t.Errorf("cancelled jobs %v", got)
	}
	if got := jobNames(t, s, store.JobFilter{Workload: "none"}); got != nil {
		t.Errorf("jobs of an unknown workload %v", got)
	}
	if got := jobNames(t, s, store.JobFilter{Labels: labels.Nothing()}); got != nil {
		t.Errorf("selector of nothing: %v", got)
	}
	number, err := labels.Parse("target>3")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.ListJobs(t.Context(), store.JobFilter{Labels: number}, store.Page{}); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("comparison of numbers: %v, want ErrInvalid", err)
	}
}

func jobNames(t *testing.T, s *store.Store, f store.JobFilter) (names []string) {
	t.Helper()
	list, err := s.ListJobs(t.Context(), f, store.Page{})
	if err != nil {
		t.Fatal(err)
	}
	for _, j := range list.Items {
		names = append(names, j.Name)
	}
	slices.Sort(names)
	return names
}

// A row that somebody damaged by hand concerns that job alone.
func TestDamagedJobHarmsNoOther(t *testing.T) {
	for column, sql := range map[string]string{
		"spec":       `UPDATE jobs SET spec = '"x"' WHERE name = 'damaged'`,
		"workload":   `UPDATE jobs SET spec = jsonb_set(spec, '{workload}', '"x"') WHERE name = 'damaged'`,
		"labels":     `UPDATE jobs SET labels = '{"a": 1}' WHERE name = 'damaged'`,
		"conditions": `UPDATE jobs SET conditions = '[1]' WHERE name = 'damaged'`,
		"ledger":     `UPDATE jobs SET ledger = '[]' WHERE name = 'damaged'`,
		"plan":       `UPDATE jobs SET plan = '7' WHERE name = 'damaged'`,
		"shared":     `UPDATE jobs SET plan = '{"shared": [1]}' WHERE name = 'damaged'`,
	} {
		t.Run(column, func(t *testing.T) {
			t.Parallel()
			url := storetest.NewDatabase(t)
			s := storetest.Open(t, url)
			storetest.MakeRunningJob(t, s, "damaged", 1, func(p *store.CreateJobParams) { p.Spec.Priority = 9 })
			sound := storetest.MakeRunningJob(t, s, "sound", 1)
			exec(t, storetest.Conn(t, url), sql)

			j, err := s.GetJob(t.Context(), "damaged")
			if column != "shared" && (!errors.Is(err, store.ErrDamaged) || j.Damage == "") {
				t.Errorf("damaged job: %+v, %v, want ErrDamaged", j, err)
			}
			if got := jobNames(t, s, store.JobFilter{}); !slices.Equal(got, []string{"damaged", "sound"}) {
				t.Errorf("list %v, want both jobs", got)
			}
			w := storetest.MakeWorker(t, s, "w")
			task := storetest.Claim(t, s, w)
			if column == "plan" || column == "shared" {
				if task.JobID != sound.ID {
					t.Errorf("claimed a task of %s, whose plan cannot be read", task.JobName)
				}
			} else if storetest.Claim(t, s, w).JobID != sound.ID {
				t.Error("the sound job's task was not claimed")
			}
			if column == "shared" {
				return
			}
			_, _, err = s.AcquireJobStep(t.Context(), store.AcquireStepParams{Job: j.ID, From: []v1.JobPhase{v1.JobRunning}, To: v1.JobReducing, Owner: store.NewID(), TTL: time.Minute})
			if !errors.Is(err, store.ErrDamaged) {
				t.Errorf("step of a damaged job: %v, want ErrDamaged", err)
			}
			err = s.SetJobConditions(t.Context(), j.ID, v1.Condition{Type: v1.JobConditionDamaged, Status: v1.ConditionTrue, Reason: "RowDamaged", Message: j.Damage})
			if err != nil {
				t.Errorf("condition of a damaged job: %v", err)
			}
			if _, err := s.Why(t.Context(), j.ID); !errors.Is(err, store.ErrDamaged) && column != "conditions" {
				t.Errorf("why: %v, want ErrDamaged", err)
			}
			violations, err := s.Verify(t.Context())
			if named := slices.ContainsFunc(violations, func(v store.Violation) bool { return v.Object == "job/damaged" }); err != nil || (!named && column != "conditions") {
				t.Errorf("verify: %v, %v, want the damaged job named", violations, err)
			}
			if err := s.EndJob(t.Context(), store.EndJobParams{Job: j.ID, Phase: v1.JobFailed, Failure: store.Failure{Code: "RowDamaged"}}); err != nil {
				t.Errorf("end of a damaged job: %v", err)
			}
		})
	}
}

func TestStepIsHeldByOneCoordinator(t *testing.T) {
	c := newClock()
	s := storetest.New(t, withClock(c))
	j := storetest.MakeJob(t, s, "job")
	acquire := func(owner uuid.UUID) (store.StepToken, error) {
		_, token, err := s.AcquireJobStep(t.Context(), store.AcquireStepParams{
			Job: j.ID, From: []v1.JobPhase{v1.JobCreated, v1.JobPlanning}, To: v1.JobPlanning, Owner: owner, TTL: 5 * time.Second})
		return token, err
	}
	a, b := store.NewID(), store.NewID()
	first, err := acquire(a)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := acquire(a); err != nil {
		t.Errorf("its own step: %v", err)
	}
	if _, err := acquire(b); !errors.Is(err, store.ErrConflict) {
		t.Errorf("step held by another: %v, want ErrConflict", err)
	}
	c.advance(4 * time.Second)
	if err := s.RenewJobStep(t.Context(), first, 5*time.Second); err != nil {
		t.Fatal(err)
	}
	c.advance(5 * time.Second)
	if err := s.RenewJobStep(t.Context(), first, 5*time.Second); !errors.Is(err, store.ErrLeaseLost) {
		t.Errorf("expired step renewed: %v, want ErrLeaseLost", err)
	}
	second, err := acquire(b)
	if err != nil {
		t.Fatalf("take over an expired step: %v", err)
	}
	shard := storetest.File("s", "s")
	plan := store.FinishPlanningParams{Tasks: []store.PlannedTask{{Input: &shard, SHA256: shard.SHA256}}}
	for what, err := range map[string]error{
		"plan":    s.FinishPlanning(t.Context(), first, plan),
		"fail":    s.FailJob(t.Context(), first, store.Failure{Code: "X"}),
		"release": s.ReleaseJobStep(t.Context(), first, true),
		"reduce":  s.FinishReduce(t.Context(), second, store.FinishReduceParams{Result: shard}),
		"retry":   s.RetryPartial(t.Context(), second, 0, "X", ""),
	} {
		if !errors.Is(err, store.ErrLeaseLost) {
			t.Errorf("%s without the right to it: %v, want ErrLeaseLost", what, err)
		}
	}
	if got := getJob(t, s, "job"); got.Tasks.Total != 0 || got.Phase != v1.JobPlanning {
		t.Errorf("job %+v, want nothing planned", got)
	}
	if err := s.ReleaseJobStep(t.Context(), second, true, v1.Condition{Type: v1.JobConditionPlanned, Status: v1.ConditionFalse, Reason: "Retry"}); err != nil {
		t.Fatal(err)
	}
	if got := getJob(t, s, "job"); got.StepFailures != 1 || got.StepOwner != uuid.Nil || len(got.Conditions) != 1 {
		t.Errorf("job after a failed attempt: %+v", got)
	}
	third, err := acquire(a)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.FinishPlanning(t.Context(), third, plan); err != nil {
		t.Fatal(err)
	}
	if got := getJob(t, s, "job"); got.Tasks.Total != 1 || got.Phase != v1.JobRunning || got.StepFailures != 0 {
		t.Errorf("planned job: %+v", got)
	}
	if _, err := acquire(b); !errors.Is(err, store.ErrConflict) {
		t.Errorf("planned a second time: %v, want ErrConflict", err)
	}
	verify(t, s)
}

func TestPlanIsWrittenWholeOrNotAtAll(t *testing.T) {
	url := storetest.NewDatabase(t)
	s := storetest.Open(t, url)
	conn := storetest.Conn(t, url)
	j := storetest.MakeJob(t, s, "job")
	_, token, err := s.AcquireJobStep(t.Context(), store.AcquireStepParams{Job: j.ID, From: []v1.JobPhase{v1.JobCreated}, To: v1.JobPlanning, Owner: store.NewID(), TTL: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	good, bad := storetest.File("a", "a"), storetest.File("b", "b")
	bad.SHA256 = "not a checksum"
	err = s.FinishPlanning(t.Context(), token, store.FinishPlanningParams{Tasks: []store.PlannedTask{
		{Input: &good, SHA256: good.SHA256}, {Input: &bad, SHA256: bad.SHA256},
	}})
	if err == nil {
		t.Fatal("a plan with a malformed checksum was accepted")
	}
	if n := count(t, conn, `SELECT (SELECT count(*) FROM tasks) + (SELECT count(*) FROM artifacts WHERE kind <> 'input')`); n != 0 {
		t.Errorf("%d rows of a refused plan are left", n)
	}
	if got := getJob(t, s, "job"); got.Phase != v1.JobPlanning {
		t.Errorf("phase %s, want planning", got.Phase)
	}
}

func TestPartialThatCannotBeReadIsComputedAgain(t *testing.T) {
	s := storetest.New(t)
	job := storetest.MakeRunningJob(t, s, "job", 2, func(p *store.CreateJobParams) { p.Spec.MaxAttempts = 2 })
	w := storetest.MakeWorker(t, s, "w")
	var artifacts []store.Artifact
	var tasks []store.LeasedTask
	for range 2 {
		tasks = append(tasks, storetest.Claim(t, s, w))
		artifacts = append(artifacts, storetest.Complete(t, s, tasks[len(tasks)-1], "result"))
	}
	retry := func() {
		t.Helper()
		_, token, err := s.AcquireJobStep(t.Context(), store.AcquireStepParams{Job: job.ID, From: []v1.JobPhase{v1.JobRunning}, To: v1.JobReducing, Owner: store.NewID(), TTL: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.RetryPartial(t.Context(), token, 1, "PartialCorrupt", "no end record"); err != nil {
			t.Fatal(err)
		}
		verify(t, s)
	}
	retry()
	if got := getJob(t, s, "job"); got.Phase != v1.JobRunning || got.Tasks != (v1.TaskCounts{Total: 2, Pending: 1, Completed: 1}) {
		t.Errorf("job %s, %+v, want one task to compute again", got.Phase, got.Tasks)
	}
	if _, err := s.CompleteTask(t.Context(), store.CompleteTaskParams{Lease: tasks[1].Lease, ArtifactID: artifacts[1].ID, SHA256: artifacts[1].SHA256}); !errors.Is(err, store.ErrLeaseLost) {
		t.Errorf("the same bad result again: %v, want ErrLeaseLost", err)
	}
	refresh(t, s)
	again := storetest.Claim(t, s, w)
	if again.Task != tasks[1].Task || again.Attempt != 2 {
		t.Errorf("claimed %+v, want the task again", again)
	}
	storetest.Complete(t, s, again, "result")
	retry()
	if got := getJob(t, s, "job").Tasks; got != (v1.TaskCounts{Total: 2, Completed: 1, Failed: 1}) {
		t.Errorf("tasks %+v, want one failed: its attempts are used up", got)
	}
}
