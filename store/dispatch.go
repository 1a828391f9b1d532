package store

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	v1 "scimesh.dev/scimesh/api/v1"
)

const (
	// dispatchAge is how old the list of claimable jobs may get.
	dispatchAge = time.Second
	// floorAge is how long claims in a job may begin above its first task. Tasks
	// that another coordinator requeued below are found after it.
	floorAge = 10 * time.Second
	// maxDispatchJobs bounds the list: the most important ones are in it.
	maxDispatchJobs = 10000
)

// dispatcher knows which jobs have tasks to give, in what order. It is a cache:
// a claim checks everything again in the database. It is kept in memory so that a claim
// works within one job, where it reads a few blocks of one index whatever else is
// in the table, and so that the order of jobs can take fairness into account.
type dispatcher struct {
	mu       sync.Mutex
	jobs     []*dispatchJob // by priority, descending
	byID     map[uuid.UUID]*dispatchJob
	loadedAt time.Time
	stale    bool

	kick chan struct{} // wakes the clockwork of Run
	waitList
}

// dispatchJob is a job that may have tasks to give.
type dispatchJob struct {
	id          uuid.UUID
	name        string
	workload    string
	engine      *string // nil until the first claim
	anyEngine   bool    // of one model
	parallelism int32
	priority    int32
	open        int64
	shared      map[string]json.RawMessage

	// floor is the chunk index where the next claim begins: below it the
	// index holds nothing but entries of tasks that were claimed and not yet vacuumed.
	floor   int32
	floorAt time.Time
	// dry jobs had no task to give when last asked.
	dry bool
	// retry says that failed tasks are to be looked for before fresh ones.
	retry bool
	// served counts tasks given, for round robin among jobs of one priority.
	served int64
}

func newDispatcher() *dispatcher {
	return &dispatcher{byID: map[uuid.UUID]*dispatchJob{}, kick: make(chan struct{}, 1)}
}

// poke has the list read again before the next claim, and waiting claims
// looked after.
func (d *dispatcher) poke() {
	d.mu.Lock()
	d.stale = true
	d.mu.Unlock()
	select {
	case d.kick <- struct{}{}:
	default:
	}
}

// requeued tells that a task of a job can be claimed again.
func (d *dispatcher) requeued(job uuid.UUID, chunkIndex int32) {
	d.mu.Lock()
	if j := d.byID[job]; j != nil {
		j.floor, j.dry, j.retry = min(j.floor, chunkIndex), false, true
	}
	d.mu.Unlock()
	d.poke()
}

// freed tells that a job with limited parallelism holds a lease less.
func (d *dispatcher) freed(job uuid.UUID) {
	d.mu.Lock()
	j := d.byID[job]
	limited := j != nil && j.parallelism > 0
	if limited {
		j.dry = false
	}
	d.mu.Unlock()
	if limited {
		d.poke()
	}
}

type dispatchRow struct {
	ID          uuid.UUID
	Name        string
	Workload    string
	Engine      *string
	AnyEngine   bool
	Parallelism int32
	Priority    int32
	Open        int64
	Claimable   bool
}

// Jobs that were dry are asked whether they still are; for the others the next
// claim will tell.
const dispatchSQL = `
SELECT j.id, j.name, j.workload, j.engine, coalesce(j.spec->>'engine' = 'any', false) AS any_engine, j.parallelism, j.priority,
       j.total_tasks - j.completed_tasks - j.failed_tasks - j.cancelled_tasks AS open,
       CASE WHEN j.id = ANY (@dry::uuid[]) THEN
           EXISTS (SELECT FROM tasks t WHERE t.job_id = j.id
                   AND t.lease_owner IS NULL AND t.completed_at IS NULL AND t.last_failed_by IS NULL)
           OR EXISTS (SELECT FROM tasks t WHERE t.job_id = j.id
                      AND t.lease_owner IS NULL AND t.completed_at IS NULL AND t.last_failed_by IS NOT NULL
                      AND t.not_before <= coalesce(@now::timestamptz, now()))
       ELSE true END AS claimable
FROM   jobs j
WHERE  j.status = 'running'
AND    NOT j.suspend
AND    j.cancel_requested_at IS NULL
AND    j.deletion_requested_at IS NULL
AND    j.failed_tasks = 0
AND    j.completed_tasks + j.cancelled_tasks < j.total_tasks
ORDER BY j.priority DESC, j.created_at, j.id
LIMIT  @limit`

// refreshDispatch reads the list again if it is old or was poked.
func (s *Store) refreshDispatch(ctx context.Context) error {
	d := s.dispatch
	d.mu.Lock()
	fresh := !d.stale && time.Since(d.loadedAt) < dispatchAge
	// What happens while the list is read makes it stale again.
	d.stale = false
	dry := []uuid.UUID{}
	for _, j := range d.jobs {
		if j.dry {
			dry = append(dry, j.id)
		}
	}
	d.mu.Unlock()
	if fresh {
		return nil
	}
	started := time.Now()
	rows, err := collect[dispatchRow](ctx, s.pool, dispatchSQL, pgx.NamedArgs{"dry": dry, "now": s.now(), "limit": maxDispatchJobs})
	if err != nil {
		d.mu.Lock()
		d.stale = true
		d.mu.Unlock()
		return err
	}
	shared, err := s.loadShared(ctx, d.unknown(rows))
	if err != nil {
		return err
	}
	d.load(rows, shared, started)
	return nil
}

// unknown are the jobs whose shared parameters have not been read.
func (d *dispatcher) unknown(rows []dispatchRow) []uuid.UUID {
	d.mu.Lock()
	defer d.mu.Unlock()
	var ids []uuid.UUID
	for _, r := range rows {
		if d.byID[r.ID] == nil {
			ids = append(ids, r.ID)
		}
	}
	return ids
}

// loadShared reads the parameters that the plans of jobs share among their
// tasks. A job is absent from the result if its plan is damaged; it is not
// dispatched then, and the others are.
func (s *Store) loadShared(ctx context.Context, jobs []uuid.UUID) (map[uuid.UUID]map[string]json.RawMessage, error) {
	shared := make(map[uuid.UUID]map[string]json.RawMessage, len(jobs))
	if len(jobs) == 0 {
		return shared, nil
	}
	rows, err := s.pool.Query(ctx, `SELECT id, plan FROM jobs WHERE id = ANY ($1)`, jobs)
	if err != nil {
		return nil, err
	}
	var job uuid.UUID
	var text []byte
	_, err = pgx.ForEachRow(rows, []any{&job, &text}, func() error {
		var plan struct {
			Plan
			Shared map[string]json.RawMessage `json:"shared"`
		}
		if json.Unmarshal(text, &plan) == nil {
			shared[job] = plan.Shared
		}
		return nil
	})
	return shared, err
}

// load replaces the list, keeping what is known of jobs that stay.
func (d *dispatcher) load(rows []dispatchRow, shared map[uuid.UUID]map[string]json.RawMessage, at time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()

	jobs := make([]*dispatchJob, 0, len(rows))
	byID := make(map[uuid.UUID]*dispatchJob, len(rows))
	for _, r := range rows {
		j := d.byID[r.ID]
		if j == nil {
			params, ok := shared[r.ID]
			if !ok {
				continue
			}
			j = &dispatchJob{id: r.ID, name: r.Name, workload: r.Workload, anyEngine: r.AnyEngine, shared: params, floorAt: at, served: -1}
		}
		j.engine, j.parallelism, j.priority, j.open = r.Engine, r.Parallelism, r.Priority, r.Open
		j.dry = j.dry && !r.Claimable
		j.retry = true
		if at.Sub(j.floorAt) > floorAge {
			j.floor, j.floorAt = 0, at
		}
		jobs, byID[r.ID] = append(jobs, j), j
	}
	d.jobs, d.byID, d.loadedAt = jobs, byID, at
	d.seatNewcomers()
}

// seatNewcomers has a new job start where the least served of its priority
// stands, so that it gets its share from now on and not all of the past.
func (d *dispatcher) seatNewcomers() {
	least := map[int32]int64{}
	for _, j := range d.jobs {
		if j.served < 0 {
			continue
		}
		if v, ok := least[j.priority]; !ok || j.served < v {
			least[j.priority] = j.served
		}
	}
	for _, j := range d.jobs {
		if j.served < 0 {
			j.served = least[j.priority]
		}
	}
}

// pick returns the job that should give the next task to a worker, or nil. Among
// jobs of the highest priority it is the one served least.
func (d *dispatcher) pick(w *workerInfo, capabilities []string) *dispatchJob {
	var best *dispatchJob
	for _, j := range d.jobs {
		if best != nil && j.priority < best.priority {
			break
		}
		if !j.dry && j.suits(w, capabilities) && (best == nil || j.served < best.served) {
			best = j
		}
	}
	return best
}

func (j *dispatchJob) suits(w *workerInfo, capabilities []string) bool {
	return slices.Contains(capabilities, j.workload) && slices.Contains(w.capabilities, j.workload) &&
		(j.engine == nil || *j.engine == j.engineOf(w))
}

// engineOf is the engine to which the job keeps once w has claimed a task.
func (j *dispatchJob) engineOf(w *workerInfo) string {
	if j.anyEngine {
		return v1.SharedEngine(w.engine)
	}
	return w.engine
}

// parameters are a task's own, a JSON object, over the shared ones.
func (j *dispatchJob) parameters(own json.RawMessage) json.RawMessage {
	if len(j.shared) == 0 {
		return own
	}
	merged := maps.Clone(j.shared)
	if err := json.Unmarshal(own, &merged); err != nil {
		return own // the schema allows nothing but objects
	}
	data, err := json.Marshal(merged)
	if err != nil {
		return own
	}
	return data
}
