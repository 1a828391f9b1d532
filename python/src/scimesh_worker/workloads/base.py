"""What a computation of one task gets and gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

Json = dict[str, Any]


class WorkloadError(Exception):
    """A failure that the user can act on: trying again gives the same error.

    reason is a CamelCase word; message is a sentence without paths, tokens and
    raw input but for short quotes. Any other exception of a computation counts
    as a fault of the machine and is retried.
    """

    def __init__(self, reason: str, message: str, *, retryable: bool = False) -> None:
        super().__init__(f"{reason}: {message}")
        self.reason = reason
        self.message = message
        self.retryable = retryable


def unsupported(what: str) -> WorkloadError:
    """Return the failure of a task that another worker may be able to compute."""
    return WorkloadError("UnsupportedByWorker", f"this worker cannot compute {what}", retryable=True)


@dataclass(frozen=True)
class TaskRequest:
    """One task: its verified input, its parameters and where its result goes."""

    input_path: Path
    output_path: Path
    parameters: Json
    workspace: Path
    # row_seconds is how much CPU time one row may take.
    row_seconds: float
    progress: Callable[[float], None]
    log: Callable[[str], None]


@dataclass(frozen=True)
class TaskResult:
    """What a computation says besides its file; metrics are shown to users."""

    content_type: str = "application/octet-stream"
    metrics: Mapping[str, Any] = field(default_factory=dict)


class Executor(Protocol):
    """A computation that this worker can carry out."""

    @property
    def name(self) -> str:
        """The name that Jobs use."""

    def execute(self, request: TaskRequest) -> TaskResult:
        """Compute one task: same request, same bytes."""
