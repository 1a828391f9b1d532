from typing import Literal

TaskPhase = Literal["cancelled", "completed", "failed", "leased", "pending", "running"]

TASK_PHASE_VALUES: set[TaskPhase] = {
    "cancelled",
    "completed",
    "failed",
    "leased",
    "pending",
    "running",
}


def check_task_phase(value: str) -> TaskPhase:
    if value in TASK_PHASE_VALUES:
        return value
    raise TypeError(
        f"Unexpected value {value!r}. Expected one of {TASK_PHASE_VALUES!r}"
    )
