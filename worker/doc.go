// Package worker is the Go worker: it claims tasks from a coordinator over
// outbound HTTP, computes them with the workloads compiled in, and delivers
// their results.
//
// What is authoritative. The coordinator alone decides who holds a task. A
// worker's right to change one is its lease: worker id, task id and attempt.
// When an answer says 409 the lease is gone, whatever the worker believes, and
// the task is dropped without a trace at the coordinator.
//
// What survives. The work dir holds the worker's identity (worker.json) and one
// folder a task with its state. A process that dies, by any signal and at any
// moment, loses nothing that its successor in the same work dir cannot take up
// under the same attempt, as long as the lease lives: an input that was fetched
// is not fetched again, a result that was computed is not computed again. A lock
// file keeps a second process out. A cache beside them, which workers may share,
// keeps verified inputs and results for tasks to come; it may be lost at any time.
//
// What happens on failure.
//
//	coordinator away     claims, heartbeats and deliveries are repeated with back-off;
//	                     computations go on past the lease's deadline for OutageGrace
//	                     (a coordinator extends the leases that lived when it went
//	                     away); finished results are kept until somebody takes them
//	lease lost           the task's context is cancelled, its folder removed
//	task cancelled       the same
//	workload error       reported: code and message, no path, token, traceback or input
//	workload panic       reported as a retryable failure; the worker lives on
//	disk limit reached   the task is handed back, which costs no attempt
//	Run's context ends   no more claims; tasks get DrainTimeout to finish, the others
//	                     are handed back; Abort ends at once and leaves the folders
//
// The life of one task, each step recorded before the next one begins:
//
//	claimed ── fetch, verify ──► fetched ── execute ──► computed ── upload ──► uploaded ── complete
//	                 │                         │
//	                 └───────── failed ────────┴── report
//
// Beside it a keeper renews the lease by the monotonic clock alone, so that no
// two machines need to agree on the time.
package worker
