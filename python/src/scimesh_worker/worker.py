"""Registers the worker, claims tasks and carries them out, one a slot, until told to stop."""

from __future__ import annotations

import os
import threading
import time
from concurrent.futures import Future
from contextlib import suppress
from typing import Any
from uuid import UUID

from scimesh_worker.client.models.brought_workload import BroughtWorkload
from scimesh_worker.client.models.register_request import RegisterRequest
from scimesh_worker.client.models.register_request_golden import RegisterRequestGolden
from scimesh_worker.client.types import UNSET
from scimesh_worker.config import Config
from scimesh_worker.coordinator import Assignment, Coordinator
from scimesh_worker.errors import CallError, MachineError, WorkerError
from scimesh_worker.logs import Log
from scimesh_worker.retry import Backoff, jitter
from scimesh_worker.sanitize import Sanitizer
from scimesh_worker.task import Task
from scimesh_worker.transport import Transport
from scimesh_worker.workdir import TaskFolder, WorkDir

# _ENDED_PAUSE bounds the pause after tasks that came to nothing, in seconds.
_ENDED_PAUSE = 5.0
# _LOOK is the time between two looks at whether the worker is to stop while it waits for a task.
_LOOK = 0.1


class Refused(WorkerError):
    """The coordinator does not take this worker as it is."""


class Worker:
    """Run it once. stop, hand_back and abort may come from other threads, in this order or any part of it."""

    def __init__(self, config: Config, work: WorkDir, log: Log, described: dict[str, Any]) -> None:
        self._config, self._work, self._log, self._described = config, work, log, described
        self._clean = Sanitizer(config.token)
        self._transport = Transport(config.coordinator_url, config.token, self._clean, 2 * config.concurrency + 2)
        self._coordinator = Coordinator(self._transport, self._clean, int(config.claim_wait))
        self._worker_id = work.worker_id() or ""
        self._interval = 0.0
        self._registrations = 0
        self._registering = threading.Lock()
        self._lock = threading.Lock()
        self._tasks: set[Task] = set()
        self._claimed = 0
        self._left: list[TaskFolder] = []
        self._stopping = threading.Event()
        self._how = ""  # how new tasks end at once: handed back or aborted
        self._fault: Exception | None = None

    def stop(self) -> None:
        """Claim no more."""
        self._stopping.set()

    def hand_back(self) -> None:
        """End running tasks and hand them back; finished work that nobody takes now is kept."""
        self._end_tasks("hand_back")

    def abort(self) -> None:
        """End at once and leave the folders of running tasks for the next process."""
        self._end_tasks("abort")

    def _end_tasks(self, how: str) -> None:
        self._stopping.set()
        with self._lock:
            self._how = how
            tasks = list(self._tasks)
        for task in tasks:
            self._end(task)

    def _end(self, task: Task) -> None:
        if self._how == "abort":
            task.abort()
        else:
            task.hand_back("worker is stopping")

    def run(self) -> None:
        """Work until stopped; with once or max_tasks it may end before."""
        try:
            self._left = self._work.leftovers()
            slots = [threading.Thread(target=self._slot, name=f"slot-{n}") for n in range(self._slots())]
            for slot in slots:
                slot.start()
            for slot in slots:
                slot.join()
        finally:
            self._transport.close()
        if self._fault is not None:
            raise self._fault

    def _slots(self) -> int:
        return 1 if self._config.once else self._config.concurrency

    def _slot(self) -> None:
        try:
            # What an earlier process left needs no registration, and must not wait for it.
            while not self._stopping.is_set() and (folder := self._leftover()) is not None:
                self._log.info("task taken up", operation="resume", task_id=folder.state.lease.task_id)
                self._carry_out(folder, sent=time.monotonic(), ttl=folder.state.ttl, resumed=True)
            if self._register(0):
                self._claim_on()
        except Exception as e:  # noqa: BLE001 - one slot's fault ends the worker, with its cause
            self._fault = e
            self.abort()

    def _leftover(self) -> TaskFolder | None:
        with self._lock:
            return self._left.pop() if self._left else None

    def _claim_on(self) -> None:
        backoff = Backoff()
        while not self._stopping.is_set() and self._reserve():
            registrations, sent = self._registrations, time.monotonic()
            try:
                found = self._claim()
            except CallError as e:
                self._unreserve()
                delay = backoff.next(e)
                self._log.warning("claim failed", operation="claim", delay=round(delay, 3), error=str(e))
                if e.lease_gone:
                    self._register(registrations)
                self._stopping.wait(delay)
                continue
            if found is None:
                self._unreserve()
                backoff.reset()
                if self._config.once:
                    return
                # Where the coordinator let the claim wait there is no need to.
                if not self._config.claim_wait or time.monotonic() - sent < self._config.claim_wait / 2:
                    self._stopping.wait(jitter(self._config.poll_interval))
            elif self._take(found, sent):
                backoff.reset()
            else:
                self._stopping.wait(min(backoff.next(WorkerError()), _ENDED_PAUSE))

    def _claim(self) -> Assignment | None:
        """Claim one task; None also if the worker stops meanwhile.

        A claim that is abandoned ends with the connection, and its task, if one
        comes all the same, is handed back.
        """
        claimed: Future[Assignment | None] = Future()

        def ask() -> None:
            error, found = None, None
            try:
                found = self._coordinator.claim(self._worker_id, list(self._config.workloads), self._config.concurrency)
            except Exception as e:  # noqa: BLE001 - the slot raises it
                error = e
            if not claimed.set_running_or_notify_cancel():
                if found is not None:
                    with suppress(CallError):
                        self._coordinator.release(found.lease)
            elif error is not None:
                claimed.set_exception(error)
            else:
                claimed.set_result(found)

        threading.Thread(target=ask, name="claim", daemon=True).start()
        while not (self._stopping.is_set() and claimed.cancel()):
            with suppress(TimeoutError):
                return claimed.result(_LOOK)
        return None

    def _take(self, a: Assignment, sent: float) -> bool:
        self._log.info("task claimed", operation="claim", task_id=a.lease.task_id, attempt=a.lease.attempt)
        try:
            folder = TaskFolder.create(self._work, a)
        except MachineError as e:
            self._log.error("task handed back", operation="claim", task_id=a.lease.task_id, error=str(e))
            with suppress(CallError):
                self._coordinator.release(a.lease)
            return False
        return self._carry_out(folder, sent=sent, ttl=a.ttl)

    def _carry_out(self, folder: TaskFolder, *, sent: float, ttl: float = 0.0, resumed: bool = False) -> bool:
        task = Task(
            self._config,
            self._coordinator,
            self._clean,
            self._log,
            folder,
            interval=self._interval,
            sent=sent,
            ttl=ttl,
            resumed=resumed,
        )
        with self._lock:
            self._tasks.add(task)
            stopped = self._how
        if stopped:
            self._end(task)
        try:
            return task.run()
        finally:
            with self._lock:
                self._tasks.discard(task)

    def _reserve(self) -> bool:
        """Count a task against max_tasks and tell whether it may be claimed."""
        limit = 1 if self._config.once else self._config.max_tasks
        with self._lock:
            if limit and self._claimed >= limit:
                return False
            self._claimed += 1
            return True

    def _unreserve(self) -> None:
        with self._lock:
            self._claimed -= 1

    def _register(self, seen: int) -> bool:
        """Announce the worker until the coordinator takes it, however long that takes.

        It does nothing if another slot has done so since `seen` registrations.
        """
        with self._registering:
            if self._registrations != seen:
                return True
            backoff = Backoff()
            while not self._stopping.is_set():
                try:
                    answer = self._coordinator.register(self._registration())
                except CallError as e:
                    if not (e.unavailable or e.denied):
                        raise Refused(str(e)) from e
                    delay = backoff.next(e)
                    self._log.warning("not registered yet", operation="register", delay=round(delay, 3), error=str(e))
                    self._stopping.wait(delay)
                    continue
                self._worker_id = str(answer.worker_id)
                self._interval = float(answer.heartbeat_interval_seconds)
                self._registrations += 1
                self._work.save_worker_id(self._worker_id, self._config.name)
                self._log.info(
                    "worker registered",
                    operation="register",
                    worker_id=self._worker_id,
                    workloads=self._config.workloads,
                )
                return True
            return False

    def _registration(self) -> RegisterRequest:
        try:
            known = UUID(self._worker_id)
        except ValueError:
            known = None
        return RegisterRequest(
            name=self._config.name,
            capabilities=list(self._config.workloads),
            cpu_count=os.cpu_count() or 1,
            memory_mb=self._config.memory_mb,
            worker_id=known or UNSET,
            engine=self._described["engine"],
            golden=RegisterRequestGolden.from_dict(self._described["golden"]),
            workloads=[BroughtWorkload.from_dict(w) for w in self._described["workloads"]] or UNSET,
        )
