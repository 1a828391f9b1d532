"""What an answer of the coordinator means to a worker, and why tasks end."""

from __future__ import annotations

from dataclasses import dataclass


class WorkerError(Exception):
    """The base of the errors of this package."""


class CallError(WorkerError):
    """A request that was not carried out. Its text holds no token and no URL's query."""

    def __init__(
        self, operation: str, status: int, text: str, *, retry_after: float = 0.0, request_id: str = ""
    ) -> None:
        super().__init__(f"{operation}: {text}")
        self.text = text
        self.status = status  # 0 if there was no answer
        self.retry_after = retry_after
        self.request_id = request_id

    @property
    def lease_gone(self) -> bool:
        """The attempt (404: the task or the worker) is not this worker's any more."""
        return self.status in (404, 409, 410)

    @property
    def denied(self) -> bool:
        """The token is not accepted, perhaps only for now."""
        return self.status in (401, 403)

    @property
    def unavailable(self) -> bool:
        """The same request may succeed later."""
        return self.status in (0, 408, 429) or self.status >= 500


class InputError(WorkerError):
    """The fault of a server that is not the coordinator: it says nothing about leases and tokens."""

    def __init__(self, text: str, *, transient: bool, retry_after: float = 0.0) -> None:
        super().__init__(text)
        self.transient = transient
        self.retry_after = retry_after


class BeyondEnd(WorkerError):
    """More bytes of an input are here than it has: it must be read anew."""


class MachineError(WorkerError):
    """The work dir cannot be used (now): the task is handed back."""


class TaskEnded(WorkerError):
    """The task ends here without a result and without a failure."""


class LeaseLost(TaskEnded):
    """The attempt is another's now, or cancelled: nothing is to be said about it."""


@dataclass(eq=False)
class Failure(Exception):
    """The end of an attempt that failed. Code and message are public."""

    code: str
    message: str
    retryable: bool = True

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"
