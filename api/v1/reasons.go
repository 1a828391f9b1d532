package v1

// Reasons of a Job's conditions and error codes that the control plane itself
// gives. A workload adds its own.
const (
	ReasonPlanned          = "Planned"
	ReasonPlanningFailed   = "PlanningFailed"
	ReasonUnknownWorkload  = "UnknownWorkload"
	ReasonReduced          = "Reduced"
	ReasonReductionFailed  = "ReductionFailed"
	ReasonTaskFailed       = "TaskFailed"
	ReasonCancelRequested  = "CancelRequested"
	ReasonDeadlineExceeded = "DeadlineExceeded"
	ReasonLeaseExpired     = "LeaseExpired"
	ReasonDamaged          = "Damaged"
)
