package v1

import (
	"fmt"
	"time"
)

// WhyReason is why a Job, or tasks of it, do not run. The list is fixed: programs may rely on it.
type WhyReason string

// The reasons, the weightiest first.
const (
	// WhyDamaged: the stored Job cannot be read, or breaks an invariant.
	WhyDamaged WhyReason = "Damaged"
	// WhyEnded: the Job has completed, failed or was cancelled.
	WhyEnded WhyReason = "Ended"
	// WhyDeleting: the Job is being deleted.
	WhyDeleting WhyReason = "Deleting"
	// WhyCancelling: cancellation was requested.
	WhyCancelling WhyReason = "Cancelling"
	// WhySuspended: spec.suspend is true.
	WhySuspended WhyReason = "Suspended"
	// WhyWaitingForPlanner: no coordinator has begun to plan the Job.
	WhyWaitingForPlanner WhyReason = "WaitingForPlanner"
	// WhyPlanning: the input is being cut into tasks.
	WhyPlanning WhyReason = "Planning"
	// WhyReducing: every task has ended and the results are being merged.
	WhyReducing WhyReason = "Reducing"
	// WhyNoWorker: no worker has ever registered.
	WhyNoWorker WhyReason = "NoWorker"
	// WhyNoCapableWorker: no registered worker has the workload.
	WhyNoCapableWorker WhyReason = "NoCapableWorker"
	// WhyWorkersOffline: every worker that has the workload is offline.
	WhyWorkersOffline WhyReason = "WorkersOffline"
	// WhyNoMatchingEngine: no worker has the engine that computes this Job.
	WhyNoMatchingEngine WhyReason = "NoMatchingEngine"
	// WhyWorkersQuarantined: every worker that could take a task failed too often and must wait.
	WhyWorkersQuarantined WhyReason = "WorkersQuarantined"
	// WhyParallelismReached: as many tasks are leased as spec.parallelism allows.
	WhyParallelismReached WhyReason = "ParallelismReached"
	// WhyWaitingForRetry: tasks failed and wait before the next attempt.
	WhyWaitingForRetry WhyReason = "WaitingForRetry"
	// WhyLowerPriority: the workers are busy and jobs of higher priority go first.
	WhyLowerPriority WhyReason = "LowerPriority"
	// WhyWorkersBusy: every worker that could take a task has one, of this Job or another.
	WhyWorkersBusy WhyReason = "WorkersBusy"
)

// WhyReasons are all reasons, in the order of Why's answer.
var WhyReasons = []WhyReason{
	WhyDamaged, WhyEnded, WhyDeleting, WhyCancelling, WhySuspended,
	WhyWaitingForPlanner, WhyPlanning, WhyReducing,
	WhyNoWorker, WhyNoCapableWorker, WhyWorkersOffline, WhyNoMatchingEngine, WhyWorkersQuarantined,
	WhyParallelismReached, WhyWaitingForRetry, WhyLowerPriority, WhyWorkersBusy,
}

// WhyEntry is one reason that holds now.
type WhyEntry struct {
	Reason  WhyReason `json:"reason"`
	Message string    `json:"message"`
	// Tasks is how many tasks it holds up; 0 where it concerns the Job as a whole.
	Tasks int64 `json:"tasks,omitempty"`
	// Until is when it ends by itself, where that is known.
	Until *Time `json:"until,omitempty"`
}

// WhySnapshot is what Why decides from, all read at one moment.
type WhySnapshot struct {
	Job Job
	// Ready tasks could be claimed now; Waiting ones are pending until
	// NextRetryAt at the earliest.
	Ready, Waiting int64
	NextRetryAt    time.Time
	// JobsAhead counts running jobs of higher priority with pending tasks.
	JobsAhead int64
	Workers   WhyWorkers
}

// WhyWorkers counts workers as one Job sees them. Each number counts among
// those of the one before.
type WhyWorkers struct {
	Registered int64
	Capable    int64 // have the workload
	Online     int64 // are alive
	SameEngine int64 // have the Job's engine, if it has one yet
	Healthy    int64 // are not in quarantine
	Idle       int64 // hold no task
	// QuarantineEndsAt is when the first of those that are not healthy leaves quarantine.
	QuarantineEndsAt time.Time
}

// Why returns every reason why the Job, or tasks of it, do not run, in the
// order of WhyReasons. It is empty if nothing is in the way.
func Why(s WhySnapshot) []WhyEntry {
	if e := whyOver(s.Job); e != nil {
		return []WhyEntry{*e}
	}
	var out []WhyEntry
	if s.Job.Spec.Suspend {
		out = append(out, WhyEntry{Reason: WhySuspended, Tasks: s.Job.Status.Tasks.Pending,
			Message: "spec.suspend is true: no further task is handed out"})
	}
	switch s.Job.Status.Phase {
	case JobCreated:
		out = append(out, WhyEntry{Reason: WhyWaitingForPlanner, Message: "no coordinator has begun to plan the job"})
	case JobPlanning:
		out = append(out, WhyEntry{Reason: WhyPlanning, Message: "the input is being cut into tasks"})
	case JobReducing:
		out = append(out, WhyEntry{Reason: WhyReducing, Message: "all tasks have ended and their results are being merged"})
	default:
		if s.Ready+s.Waiting > 0 {
			out = append(out, whyPending(s)...)
		}
	}
	return out
}

// whyOver explains a Job that will not run whatever the workers do.
func whyOver(j Job) *WhyEntry {
	st := j.Status
	switch c := FindCondition(st.Conditions, JobConditionDamaged); {
	case c != nil && c.Status == ConditionTrue:
		return &WhyEntry{Reason: WhyDamaged, Message: c.Message}
	case j.Metadata.DeletionTimestamp != nil:
		return &WhyEntry{Reason: WhyDeleting, Message: "the job is being deleted"}
	case st.Phase == JobFailed:
		return &WhyEntry{Reason: WhyEnded, Message: fmt.Sprintf("the job failed: %s: %s", st.ErrorCode, st.ErrorMessage)}
	case st.Phase.Final():
		return &WhyEntry{Reason: WhyEnded, Message: fmt.Sprintf("the job is %s", st.Phase)}
	case st.CancelRequested:
		return &WhyEntry{Reason: WhyCancelling, Message: "cancellation was requested"}
	}
	return nil
}

// whyPending explains pending tasks of a running Job.
func whyPending(s WhySnapshot) []WhyEntry {
	var out []WhyEntry
	pending := s.Ready + s.Waiting
	leased := s.Job.Status.Tasks.Leased + s.Job.Status.Tasks.Running
	if e := whyWorkers(s); e != nil {
		e.Tasks = pending
		out = append(out, *e)
	}
	if p := int64(s.Job.Spec.Parallelism); p > 0 && leased >= p {
		out = append(out, WhyEntry{Reason: WhyParallelismReached, Tasks: pending,
			Message: fmt.Sprintf("tasks leased: %d; spec.parallelism: %d", leased, p)})
	}
	if s.Waiting > 0 {
		out = append(out, WhyEntry{Reason: WhyWaitingForRetry, Tasks: s.Waiting, Until: NewTimePtr(s.NextRetryAt),
			Message: "tasks failed and wait before their next attempt"})
	}
	if w := s.Workers; s.Ready > 0 && w.Healthy > 0 && w.Idle == 0 {
		if s.JobsAhead > 0 {
			out = append(out, WhyEntry{Reason: WhyLowerPriority, Tasks: s.Ready,
				Message: fmt.Sprintf("jobs of higher priority with pending tasks: %d", s.JobsAhead)})
		}
		out = append(out, WhyEntry{Reason: WhyWorkersBusy, Tasks: s.Ready,
			Message: fmt.Sprintf("workers that could take a task, all of them busy: %d", w.Healthy)})
	}
	return out
}

// whyWorkers explains why no worker can be given any task of the Job; nil if one can.
func whyWorkers(s WhySnapshot) *WhyEntry {
	switch w := s.Workers; {
	case w.Registered == 0:
		return &WhyEntry{Reason: WhyNoWorker, Message: "no worker has registered"}
	case w.Capable == 0:
		return &WhyEntry{Reason: WhyNoCapableWorker,
			Message: fmt.Sprintf("workers registered: %d; with the workload %s: none", w.Registered, s.Job.Spec.Workload)}
	case w.Online == 0:
		return &WhyEntry{Reason: WhyWorkersOffline,
			Message: fmt.Sprintf("workers with the workload %s, all of them offline: %d", s.Job.Spec.Workload, w.Capable)}
	case w.SameEngine == 0:
		return &WhyEntry{Reason: WhyNoMatchingEngine,
			Message: fmt.Sprintf("workers online: %d; with the engine %s that computes this job: none", w.Online, s.Job.Status.Engine)}
	case w.Healthy == 0:
		return &WhyEntry{Reason: WhyWorkersQuarantined, Until: NewTimePtr(w.QuarantineEndsAt),
			Message: fmt.Sprintf("workers that could take a task, all of them quarantined after failures: %d", w.SameEngine)}
	}
	return nil
}
