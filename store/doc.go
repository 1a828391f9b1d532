// Package store keeps SciMesh's state in PostgreSQL: jobs, tasks and their
// leases, workers, artifacts, events and logs. It is the only package that
// speaks SQL.
//
// # What is authoritative
//
// The database is the only truth. What a Store keeps in memory (the list of
// claimable jobs, where in a job the next claim begins, when workers were last
// seen) may be lost or stale at any moment and costs time alone: every change is
// one statement or transaction whose conditions are checked in the database.
// So any number of coordinators may share one database.
//
// The database's clock decides about leases. A caller's clock is never used.
//
// # Who may change what
//
// A change by a worker names its [Lease]: task, worker and attempt. The attempt
// is a fencing token that grows with each claim. A lease that has ended, was
// given to another or has expired is [ErrLeaseLost] and changes nothing,
// whether or not the reaper has seen it. A step of a job (planning, reducing)
// is held by a [StepToken] in the same way.
//
// Every operation may be repeated after an error: it then does what is left to
// do, or says ErrConflict or ErrLeaseLost.
//
// # Life of a task
//
//	            claim           first heartbeat          result
//	pending ───────────▶ leased ───────────────▶ running ───────▶ completed
//	   ▲                   │                        │
//	   └── lease expired, handed back, retryable ───┤
//	       failure with attempts left               ├── failure, no attempt left ──▶ failed
//	                                                └── job cancelled or failed ───▶ cancelled
//
// Failures and lost leases are counted apart, each against max_attempts;
// handing a task back costs nothing.
//
// # Group commit
//
// Claims, recorded artifacts and completions that arrive together share a
// transaction, with one statement for each kind; renewals, which do not wait for
// the disk, share one of their own (package batch). Each caller gets its own
// answer, after the commit; one that comes alone does not wait.
//
// # Operations
//
//	life        Open Close Ping Run Beat Listen
//	jobs        CreateJob ApplyJob GetJob GetJobByID ListJobs RequestCancel RequestDelete
//	steps       AcquireJobStep RenewJobStep ReleaseJobStep FinishPlanning
//	            FinishReduce FailJob RetryPartial ListCompletedResults
//	endings     EndJob CancelOpenTasks DeleteJob SetJobConditions
//	keys        JobsToPlan JobsToReduce JobsToCancel JobsToDelete
//	leases      ClaimTask CheckLease RenewLease RecordTaskArtifact CompleteTask
//	            FailTask ReleaseTask ExpireLeases
//	tasks       GetTask GetTaskInput ListTasks AppendLog ReadLog
//	workers     RegisterWorker GetWorker ListWorkers SweepWorkers
//	artifacts   CreateArtifact GetArtifact FindArtifact ListArtifacts
//	            ArtifactBody DeleteUnusedInputs ReferencedBlobs
//	events      RecordEvent ListEvents DeleteEvents
//	insight     Why QueueStats Verify
//
// Notifications go to the channel [ChannelJobs] with the job's id as payload: when
// a job was created or changed, asked to be cancelled or deleted, planned, or
// when its last open task ended. Claims and heartbeats never notify.
package store
