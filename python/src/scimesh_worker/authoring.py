"""The contract for workloads that others write.

An author gives a class with the five parts of ``DistributedWorkload`` and names it
as an entry point of the group ``scimesh.workloads``. Every part runs in a process
of its own on a worker whose owner has allowed the workload by name. Each may be
called again after any failure, so it must depend on nothing but its arguments:
same arguments, same bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from scimesh_worker.workloads.base import WorkloadError

__all__ = ["DistributedWorkload", "FinalResult", "RunResult", "TaskPlan", "WorkloadError"]


@dataclass(frozen=True)
class TaskPlan:
    """One task: its place, a file as its input, and JSON parameters.

    In plan, input is a file that the plan wrote below its workspace. In
    execute_task it is the same file where the task runs.
    """

    chunk_index: int
    input: Path
    parameters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class RunResult:
    """The partial result of one task: a file below the workspace, and what users are shown."""

    path: Path
    metrics: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class FinalResult:
    """The final file, and an account of the input's rows.

    rows are those of the file; rows_read those of the input, of which some were
    excluded or rejected, by reason.
    """

    path: Path
    rows: int
    rows_read: int
    content_type: str = "text/csv; charset=utf-8"
    excluded: Mapping[str, int] = field(default_factory=dict)
    rejected: Mapping[str, int] = field(default_factory=dict)


@runtime_checkable
class DistributedWorkload(Protocol):
    """A computation that can be planned, carried out in parts, and reduced."""

    name: str
    version: str

    def validate_job(self, input_path: Path, parameters: dict[str, Any]) -> None:
        """Raise a WorkloadError for what a user has to mend in the input or the parameters."""

    def plan(self, input_path: Path, parameters: dict[str, Any], workspace: Path) -> list[TaskPlan]:
        """Cut the input into tasks. ``parameters["sharding_rows"]`` is spec.sharding.rows."""

    def execute_task(self, task: TaskPlan, workspace: Path) -> RunResult:
        """Carry out one task."""

    def reduce(self, partial_results: list[Path], parameters: dict[str, Any], workspace: Path) -> FinalResult:
        """Merge the results of all tasks, which come in order of chunk_index."""

    def describe(self) -> dict[str, Any]:
        """Return description, parameters_schema (JSON Schema), inputs and outputs."""
