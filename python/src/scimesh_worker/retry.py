"""Growing pauses with jitter, and requests that are repeated."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from typing import TypeVar

from scimesh_worker.errors import CallError, InputError, TaskEnded, WorkerError
from scimesh_worker.logs import Log

T = TypeVar("T")

_BASE, _MAX = 0.25, 30.0
_DENIED_BASE, _DENIED_MAX = 5.0, 60.0
# MAX_RETRY_AFTER is the longest Retry-After that is honoured, in seconds.
MAX_RETRY_AFTER = 600.0
# _MAX_INTERNAL bounds how often a request that is answered with 500 is repeated.
_MAX_INTERNAL = 8


def jitter(seconds: float) -> float:
    """Return a random time between half of seconds and all of it."""
    return seconds * random.uniform(0.5, 1.0)


class Backoff:
    """Gives growing delays, in seconds."""

    def __init__(self) -> None:
        self._n = 0

    def reset(self) -> None:
        """Begin again with a short delay."""
        self._n = 0

    def next(self, error: Exception) -> float:
        """Return the delay after an error; never sooner than the server asked for."""
        denied = isinstance(error, CallError) and error.denied
        base, ceiling = (_DENIED_BASE, _DENIED_MAX) if denied else (_BASE, _MAX)
        delay = jitter(min(base * 2 ** min(self._n, 16), ceiling))
        self._n += 1
        asked = error.retry_after if isinstance(error, CallError | InputError) else 0.0
        if asked > 0:
            delay = max(delay, min(asked, MAX_RETRY_AFTER) + random.uniform(0, _BASE))
        return delay


def repeat(ended: threading.Event, log: Log, operation: str, call: Callable[[], T]) -> T:
    """Call until it succeeds, until its error is one that repeating cannot mend, or until ended is set."""
    backoff = Backoff()
    internal = 0
    while True:
        try:
            return call()
        except CallError as e:
            if ended.is_set():
                raise TaskEnded("stopped while a request was repeated") from e
            if not (e.unavailable or e.denied):
                raise
            internal += e.status == 500
            if internal >= _MAX_INTERNAL:
                raise
            error: WorkerError = e
        delay = backoff.next(error)
        log.warning("request will be repeated", operation=operation, delay=round(delay, 3), error=str(error))
        if ended.wait(delay):
            raise TaskEnded("stopped while a request was repeated")
