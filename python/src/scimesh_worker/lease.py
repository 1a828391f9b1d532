"""Keeps one lease alive from a thread that no computation can block.

The computation is another process, so this thread always gets its turn. The
lease is counted by the monotonic clock from the moment the claim was sent: the
coordinator's began later, so the worker never believes in a longer lease than
the coordinator does.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable

from scimesh_worker.coordinator import Coordinator, Lease
from scimesh_worker.errors import CallError
from scimesh_worker.logs import Log
from scimesh_worker.retry import MAX_RETRY_AFTER, Backoff

# _ASSUMED_TTL is taken for a lease whose length the coordinator did not say, in seconds.
_ASSUMED_TTL = 30.0
# _MAX_REFUSALS bounds the heartbeats in a row that no coordinator would refuse, perhaps a proxy.
_MAX_REFUSALS = 4


class LeaseKeeper(threading.Thread):
    """Renews a lease at once, and then before half of what is left of it."""

    def __init__(
        self,
        coordinator: Coordinator,
        lease: Lease,
        log: Log,
        *,
        sent: float,
        ttl: float,
        interval: float,
        grace: float,
        progress: Callable[[], float | None],
        lost: Callable[[str], None],
        expired: Callable[[], None],
    ) -> None:
        super().__init__(name=f"lease-{lease.task_id}", daemon=True)
        self._coordinator, self._lease, self._log = coordinator, lease, log
        self._interval, self._grace = interval, grace
        self._progress, self._lost, self._expired = progress, lost, expired
        self._length = self._believed(ttl)
        self._deadline = sent + self._length
        self._stopped = threading.Event()
        self.held = threading.Event()  # set by the first renewal

    def stop(self) -> None:
        """End the renewals and wait for the last one."""
        self._stopped.set()
        self.join()

    def run(self) -> None:
        """Renew until stopped or until the lease is gone."""
        backoff, refusals, told, wait = Backoff(), 0, False, 0.0
        while not self._stopped.wait(wait):
            sent = time.monotonic()
            try:
                renewal = self._coordinator.heartbeat(self._lease, self._progress())
            except CallError as e:
                refusals = 0 if e.unavailable or e.denied else refusals + 1
                if e.lease_gone or refusals >= _MAX_REFUSALS:
                    self._end("lease lost")
                    return
                left = self._deadline + self._grace - time.monotonic()
                if not told and left <= 0:
                    told = True
                    self._expired()
                # A coordinator that was away extends the leases that lived by their
                # length: whoever does not ask within that time of its return has lost.
                patience = MAX_RETRY_AFTER if e.retry_after > 0 else self._length / 3
                wait = min(backoff.next(e), patience)
                if not told:
                    wait = max(0.0, min(wait, left))
                self._log.warning("heartbeat not answered", delay=round(wait, 3), error=str(e))
                continue
            if renewal.cancel:
                self._end("cancelled by the coordinator")
                return
            backoff.reset()
            refusals = 0
            self._length = self._believed(renewal.ttl)
            self._deadline = sent + self._length
            wait = max(0.0, sent + self._renew_after() - time.monotonic())
            self.held.set()

    def _end(self, reason: str) -> None:
        if not self._stopped.is_set():
            self._lost(reason)

    def _believed(self, ttl: float) -> float:
        if ttl > 0:
            return ttl
        return 2 * self._interval if self._interval > 0 else _ASSUMED_TTL

    def _renew_after(self) -> float:
        after = 0.45 * self._length
        if self._interval > 0:
            after = min(after, self._interval)
        return after * random.uniform(0.875, 1.0)
