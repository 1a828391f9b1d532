package store

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	v1 "scimesh.dev/scimesh/api/v1"
)

var errUnfinished = errors.New("store: not written yet")

// Run keeps the store's own clockwork going until ctx ends: beats of this
// coordinator, signs of life of workers, wake-ups of waiting claims. A process
// that serves workers runs it exactly once.
func (s *Store) Run(ctx context.Context) error { return errUnfinished }

// Listen opens one connection and subscribes to the channels named. It calls
// listening once all subscriptions stand, and from then on notify for each
// notification, from one goroutine. It returns when the connection is lost or
// ctx ends, with the reason.
func (s *Store) Listen(ctx context.Context, channels []string, listening func(), notify func(channel, payload string)) error {
	return errUnfinished
}

// CreateJob stores a new Job in phase created. The name being taken is
// ErrConflict; an input artifact that does not exist is ErrInvalid.
func (s *Store) CreateJob(ctx context.Context, p CreateJobParams) (Job, error) {
	return Job{}, errUnfinished
}

// ApplyJob creates the Job, or changes what may change of the one of that
// name. Other differences are an *ImmutableError. With dryRun nothing is written.
func (s *Store) ApplyJob(ctx context.Context, p CreateJobParams, dryRun bool) (Job, ApplyOperation, error) {
	return Job{}, "", errUnfinished
}

// GetJob returns the Job of that name or UUID. For a damaged row it returns
// what could be read together with ErrDamaged.
func (s *Store) GetJob(ctx context.Context, ref string) (Job, error) { return Job{}, errUnfinished }

// GetJobByID is GetJob by id.
func (s *Store) GetJobByID(ctx context.Context, id uuid.UUID) (Job, error) {
	return Job{}, errUnfinished
}

// ListJobs lists jobs, newest first. Damaged ones are in it, with Damage set.
func (s *Store) ListJobs(ctx context.Context, f JobFilter, p Page) (List[Job], error) {
	return List[Job]{}, errUnfinished
}

// RequestCancel records that the Job is to be cancelled. It returns the Job
// and has no effect on one that has ended.
func (s *Store) RequestCancel(ctx context.Context, ref string) (Job, error) {
	return Job{}, errUnfinished
}

// RequestDelete records that the Job is to be cancelled, if it has not ended,
// and deleted.
func (s *Store) RequestDelete(ctx context.Context, ref string) (Job, error) {
	return Job{}, errUnfinished
}

// AcquireJobStep takes the planning or the reduction of a Job. The step must be free,
// expired, or the owner's own, and no cancellation may have been requested;
// reducing also needs all tasks to be completed. Else ErrConflict.
func (s *Store) AcquireJobStep(ctx context.Context, p AcquireStepParams) (Job, StepToken, error) {
	return Job{}, StepToken{}, errUnfinished
}

// RenewJobStep extends the hold on a step by ttl, or returns ErrLeaseLost.
func (s *Store) RenewJobStep(ctx context.Context, t StepToken, ttl time.Duration) error {
	return errUnfinished
}

// ReleaseJobStep gives a step up so that another attempt can come at once. The phase
// stays. failed counts the attempt in Job.StepFailures.
func (s *Store) ReleaseJobStep(ctx context.Context, t StepToken, failed bool, conditions ...v1.Condition) error {
	return errUnfinished
}

// FinishPlanning writes the whole plan and moves the Job to running, or
// changes nothing and returns ErrLeaseLost.
func (s *Store) FinishPlanning(ctx context.Context, t StepToken, p FinishPlanningParams) error {
	return errUnfinished
}

// FinishReduce records the final artifacts and moves the Job to completed, or
// changes nothing and returns ErrLeaseLost.
func (s *Store) FinishReduce(ctx context.Context, t StepToken, p FinishReduceParams) error {
	return errUnfinished
}

// FailJob ends a Job whose step failed for good. Its open tasks are left to
// CancelOpenTasks.
func (s *Store) FailJob(ctx context.Context, t StepToken, f Failure) error { return errUnfinished }

// RetryPartial takes back the result of one task because it cannot be used: the Job
// returns to running and the task to pending, at the cost of a failure; at
// max_attempts the task fails. It gives up the step.
func (s *Store) RetryPartial(ctx context.Context, t StepToken, chunkIndex int32, code, message string) error {
	return errUnfinished
}

// ListCompletedResults returns up to limit results with a chunk index above
// after, in ascending order. Begin with after = -1.
func (s *Store) ListCompletedResults(ctx context.Context, job uuid.UUID, after int32, limit int) ([]PartialResult, error) {
	return nil, errUnfinished
}

// EndJob moves a Job that has not ended to failed or cancelled, whoever holds
// its step. ErrConflict if it has ended. Its open tasks are left to CancelOpenTasks.
func (s *Store) EndJob(ctx context.Context, p EndJobParams) error { return errUnfinished }

// CancelOpenTasks cancels up to limit open tasks of a Job that has ended as
// failed or cancelled. It reports whether open tasks are left.
func (s *Store) CancelOpenTasks(ctx context.Context, job uuid.UUID, limit int) (more bool, err error) {
	return false, errUnfinished
}

// DeleteJob removes up to limit tasks, with all that belongs to them, of a
// Job that has ended, and in the end the Job. It reports whether the Job is
// gone. Blobs are left to the janitor.
func (s *Store) DeleteJob(ctx context.Context, job uuid.UUID, limit int) (gone bool, err error) {
	return false, errUnfinished
}

// SetJobConditions sets conditions of a Job, whatever its phase. Transition
// times and generation are filled in. Nothing is written if nothing differs.
func (s *Store) SetJobConditions(ctx context.Context, job uuid.UUID, conditions ...v1.Condition) error {
	return errUnfinished
}

// JobsToPlan returns the ids of jobs that wait for the planner, most important first.
func (s *Store) JobsToPlan(ctx context.Context, limit int) ([]uuid.UUID, error) {
	return nil, errUnfinished
}

// JobsToReduce returns the ids of jobs that wait for the reducer: no open
// task is left, a task has failed for good, or a reduction was begun.
func (s *Store) JobsToReduce(ctx context.Context, limit int) ([]uuid.UUID, error) {
	return nil, errUnfinished
}

// JobsToCancel returns the ids of jobs with a cancellation requested or a
// deadline set that have not ended, and of ended ones with open tasks.
func (s *Store) JobsToCancel(ctx context.Context, limit int) ([]uuid.UUID, error) {
	return nil, errUnfinished
}

// JobsToDelete returns the ids of jobs whose deletion was requested or whose
// time to live after their end has passed.
func (s *Store) JobsToDelete(ctx context.Context, limit int) ([]uuid.UUID, error) {
	return nil, errUnfinished
}

// ClaimTask leases one task to a worker; ok is false if there is none. An
// unknown or offline worker is ErrNotFound: it has to register again.
func (s *Store) ClaimTask(ctx context.Context, p ClaimParams) (task LeasedTask, ok bool, err error) {
	return LeasedTask{}, false, errUnfinished
}

// CheckLease returns when a lease that is still held expires, or ErrLeaseLost.
func (s *Store) CheckLease(ctx context.Context, l Lease) (time.Time, error) {
	return time.Time{}, errUnfinished
}

// RenewLease extends a lease that its worker still holds, by the TTL from now.
// The first renewal makes the task running.
func (s *Store) RenewLease(ctx context.Context, p RenewLeaseParams) (Renewal, error) {
	return Renewal{}, errUnfinished
}

// RecordTaskArtifact records a partial result, whose blob is durable, for the
// attempt that holds the lease. The same bytes again give the same artifact,
// other bytes replace it.
func (s *Store) RecordTaskArtifact(ctx context.Context, p RecordTaskArtifactParams) (Artifact, error) {
	return Artifact{}, errUnfinished
}

// CompleteTask completes a task with a recorded artifact. The same manifest
// again is accepted; another one, or an artifact that is not of this task and
// attempt, is ErrConflict.
func (s *Store) CompleteTask(ctx context.Context, p CompleteTaskParams) (Completion, error) {
	return Completion{}, errUnfinished
}

// FailTask records a failed attempt.
func (s *Store) FailTask(ctx context.Context, p FailTaskParams) (FailedTask, error) {
	return FailedTask{}, errUnfinished
}

// ReleaseTask hands a task back: it is pending again and nothing is counted.
func (s *Store) ReleaseTask(ctx context.Context, l Lease) error { return errUnfinished }

// ExpireLeases ends up to limit leases that have run out.
func (s *Store) ExpireLeases(ctx context.Context, limit int) (Expired, error) {
	return Expired{}, errUnfinished
}

// GetTask returns a task with its attempts.
func (s *Store) GetTask(ctx context.Context, id uuid.UUID) (Task, error) {
	return Task{}, errUnfinished
}

// GetTaskInput says where the input of a task is.
func (s *Store) GetTaskInput(ctx context.Context, id uuid.UUID) (TaskInput, error) {
	return TaskInput{}, errUnfinished
}

// ListTasks lists tasks by job and chunk index.
func (s *Store) ListTasks(ctx context.Context, f TaskFilter, p Page) (List[Task], error) {
	return List[Task]{}, errUnfinished
}

// MaxLogChunk and MaxLogBytes bound one chunk and the whole log of an attempt.
const (
	MaxLogChunk = 64 << 10
	MaxLogBytes = 1 << 20
)

// AppendLog adds a chunk to the log of an attempt, live or ended within the
// last ten minutes. A chunk that is there already is left as it is; one that
// would leave a gap is ErrConflict. Past MaxLogBytes the log ends with a
// marker and further chunks are dropped.
func (s *Store) AppendLog(ctx context.Context, p AppendLogParams) error { return errUnfinished }

// ReadLog returns the log of an attempt from a byte offset, at most about
// limit bytes.
func (s *Store) ReadLog(ctx context.Context, task uuid.UUID, attempt int32, offset int64, limit int) (LogChunk, error) {
	return LogChunk{}, errUnfinished
}

// RegisterWorker stores what a worker said of itself and makes it online. A
// known id keeps its history; an unknown one is accepted as new.
func (s *Store) RegisterWorker(ctx context.Context, p RegisterWorkerParams) (Worker, error) {
	return Worker{}, errUnfinished
}

// GetWorker returns a worker.
func (s *Store) GetWorker(ctx context.Context, id uuid.UUID) (Worker, error) {
	return Worker{}, errUnfinished
}

// ListWorkers lists workers by name.
func (s *Store) ListWorkers(ctx context.Context, f WorkerFilter, p Page) (List[Worker], error) {
	return List[Worker]{}, errUnfinished
}

// SweepWorkers sets the phase of every worker by its last sign of life and its
// leases, and returns the changes.
func (s *Store) SweepWorkers(ctx context.Context, offlineAfter time.Duration) ([]WorkerChange, error) {
	return nil, errUnfinished
}

// CreateArtifact records an uploaded input, whose blob is durable. The same
// bytes under the same name give the artifact that is there.
func (s *Store) CreateArtifact(ctx context.Context, f FileRef) (Artifact, error) {
	return Artifact{}, errUnfinished
}

// GetArtifact returns an artifact.
func (s *Store) GetArtifact(ctx context.Context, id uuid.UUID) (Artifact, error) {
	return Artifact{}, errUnfinished
}

// FindArtifact returns the newest uploaded input of that SHA-256.
func (s *Store) FindArtifact(ctx context.Context, sha256 string) (Artifact, error) {
	return Artifact{}, errUnfinished
}

// ListArtifacts lists artifacts, newest first.
func (s *Store) ListArtifacts(ctx context.Context, f ArtifactFilter, p Page) (List[Artifact], error) {
	return List[Artifact]{}, errUnfinished
}

// DeleteUnusedInputs removes up to limit uploaded inputs that no Job names
// and that are older than age, and returns how many.
func (s *Store) DeleteUnusedInputs(ctx context.Context, age time.Duration, limit int) (int, error) {
	return 0, errUnfinished
}

// ReferencedBlobs returns which of the blobs are named by an artifact.
func (s *Store) ReferencedBlobs(ctx context.Context, sha256 []string) (map[string]bool, error) {
	return nil, errUnfinished
}

// RecordEvent stores an event; its id and time are filled in.
func (s *Store) RecordEvent(ctx context.Context, e Event) error { return errUnfinished }

// ListEvents lists events by id, oldest first; newest first without an After
// and Continue is not offered: page forward with EventFilter.After.
func (s *Store) ListEvents(ctx context.Context, f EventFilter, p Page) (List[Event], error) {
	return List[Event]{}, errUnfinished
}

// DeleteEvents removes up to limit events older than age, and returns how many.
func (s *Store) DeleteEvents(ctx context.Context, age time.Duration, limit int) (int, error) {
	return 0, errUnfinished
}

// Why gathers what an explanation of a waiting Job needs.
func (s *Store) Why(ctx context.Context, job uuid.UUID) (WhySnapshot, error) {
	return WhySnapshot{}, errUnfinished
}

// QueueStats reads gauges over the whole queue.
func (s *Store) QueueStats(ctx context.Context) (QueueStats, error) {
	return QueueStats{}, errUnfinished
}

// Verify checks the invariants that SQL can check and returns what breaks them.
func (s *Store) Verify(ctx context.Context) ([]Violation, error) { return nil, errUnfinished }
