"""One attempt on this worker, from its claim, or from what an earlier process left, to its end.

    claimed ── fetch, verify ──► fetched ── compute ──► computed ── upload ──► uploaded ── complete
                    │                         │
                    └───────── failed ────────┴── report

Each step is recorded before the next one begins. Beside them a thread renews the lease.
"""

from __future__ import annotations

import threading
import time
from contextlib import suppress

from scimesh_worker.computation import Computation
from scimesh_worker.config import Config
from scimesh_worker.coordinator import Artifact, Coordinator, lease_fields
from scimesh_worker.errors import CallError, Failure, LeaseLost, MachineError, TaskEnded
from scimesh_worker.fetch import fetch
from scimesh_worker.lease import LeaseKeeper
from scimesh_worker.logs import Log
from scimesh_worker.retry import repeat
from scimesh_worker.sanitize import Sanitizer
from scimesh_worker.tasklog import TaskLog
from scimesh_worker.workdir import TaskFolder, machine_errors, sha256_file
from scimesh_worker.workloads.base import WorkloadError

# _MAX_STARTS bounds how often processes begin to compute one attempt.
_MAX_STARTS = 3
# _MAX_DAMAGED bounds the uploads that arrive as other bytes.
_MAX_DAMAGED = 3
_MAX_METRICS = 15 << 10
_EXTENSIONS = {
    "text/csv": ".csv",
    "text/tab-separated-values": ".tsv",
    "application/json": ".json",
    "text/plain": ".txt",
}


class Task:
    """One attempt. Run it once, in a thread of its own."""

    def __init__(
        self,
        config: Config,
        coordinator: Coordinator,
        clean: Sanitizer,
        log: Log,
        folder: TaskFolder,
        *,
        interval: float,
        sent: float,
        ttl: float = 0.0,
        resumed: bool = False,
    ) -> None:
        self._config, self._coordinator, self._clean, self._folder = config, coordinator, clean, folder
        self._resumed = resumed
        self._lease = folder.state.lease
        self._log = log.bind(**lease_fields(self._lease))
        self._tasklog = TaskLog(coordinator, self._lease, clean, folder.state.log_seq)
        self._tasklog.taken = lambda seq: self._folder.save(log_seq=seq)
        self._progress: float | None = None
        self._lock = threading.Lock()
        self._ending = self._reason = ""  # how the task is to end here, and why
        self._ended = threading.Event()  # a computation is to stop
        # The delivery of finished work is to stop. A lost lease does not stop it: a
        # heartbeat that meets the completion is told that the lease has ended, and the
        # completion's own answer is the one that counts.
        self._stopped = threading.Event()
        self._keeper = LeaseKeeper(
            coordinator,
            self._lease,
            self._log,
            sent=sent,
            ttl=ttl,
            interval=interval,
            grace=config.outage_grace,
            progress=lambda: self._progress,
            lost=lambda reason: self._end("lost", reason),
            expired=self._expired,
        )

    def hand_back(self, reason: str) -> None:
        """End the task here: a computation is given to another worker, finished work is left in its folder."""
        self._end("released", reason)

    def abort(self) -> None:
        """End the task here at once and leave its folder for the next process."""
        self._end("kept", "worker was told to stop at once")

    def run(self) -> bool:
        """Carry the task out; tell whether it completed or failed here."""
        self._keeper.start()
        how = "ended"
        try:
            self._steps()
        except (LeaseLost, CallError) as e:
            how = "lost"
            self._log.info("lease lost, task dropped", operation="task", error=str(e))
        except (TaskEnded, MachineError) as e:
            how = self._ending or "released"
            if how == "released" and self._finished():
                how = "kept"
            self._log.info("task ended without a result", operation="task", how=how, error=self._reason or str(e))
        finally:
            self._keeper.stop()
        self._leave(how)
        return how == "ended"

    def _finished(self) -> bool:
        return self._folder.state.stage in ("computed", "uploaded", "failed")

    def _steps(self) -> None:
        state = self._folder.state
        if state.stage in ("claimed", "fetched"):
            if self._resumed:
                self._await_lease()  # nothing is computed for a lease that has gone meanwhile
            try:
                self._produce()
            except (Failure, WorkloadError) as e:
                self._record_failure(self._clean.failure(e))
        self._await_lease()
        if state.stage == "computed":
            try:
                self._upload()
            except Failure as e:
                self._record_failure(e)
        self._deliver()

    def _await_lease(self) -> None:
        while not self._keeper.held.wait(0.2):
            if self._ended.is_set():
                raise TaskEnded(self._reason)
        if self._ending in ("lost", "kept"):
            raise TaskEnded(self._reason)

    def _produce(self) -> None:
        folder, state = self._folder, self._folder.state
        if state.starts >= _MAX_STARTS:
            raise Failure("WorkerProcessEnded", f"the worker ended {state.starts} times while it computed this attempt")
        fetch(self._coordinator, folder, self._ended, self._log)
        folder.save(stage="fetched", starts=state.starts + 1)
        self._tasklog.line(f"input verified, computing {state.workload}")
        if state.workload not in self._config.workloads:
            raise Failure("UnknownWorkload", "this worker does not have the workload")
        started = time.monotonic()
        part = folder.path / "output.part"
        request = {
            "workload": state.workload,
            "parameters": state.parameters,
            "input": str(folder.input),
            "output": str(part),
            "workspace": str(folder.path),
        }
        stderr = folder.path / "stderr"
        computation = Computation(request, stderr, self._config.limits, self._clean, self._ended)
        outcome = computation.run(self._set_progress, self._tasklog.line, self._tasklog.flush_sometimes)
        with machine_errors():
            part.replace(folder.output)
            digest = sha256_file(folder.output)
        metrics = {"elapsed_seconds": round(time.monotonic() - started, 3)}
        if len(repr(outcome.metrics)) <= _MAX_METRICS:
            metrics |= outcome.metrics
        folder.save(stage="computed", output_sha256=digest, content_type=outcome.content_type, metrics=metrics)

    def _upload(self) -> None:
        folder, state = self._folder, self._folder.state
        if not folder.output.exists() or sha256_file(folder.output) != state.output_sha256:
            raise Failure("LocalStorage", "the result file was damaged before it could be delivered")
        name = "partial" + _EXTENSIONS.get(state.content_type.split(";")[0].strip(), ".bin")
        digest = state.output_sha256

        def send() -> Artifact:
            return self._coordinator.upload(self._lease, name, state.content_type, folder.output, digest)

        for _ in range(_MAX_DAMAGED):
            try:
                artifact = repeat(self._stopped, self._log, "upload", send)
            except CallError as e:
                raise self._refused(e) from e
            if artifact.sha256 == digest:
                self._tasklog.line(f"result uploaded: sha256 {digest}")
                folder.save(stage="uploaded", artifact=artifact)
                return
        raise Failure("ResultRefused", "the coordinator received other bytes than were sent")

    def _deliver(self) -> None:
        state, c = self._folder.state, self._coordinator
        if state.stage == "uploaded" and state.artifact is not None:
            artifact = state.artifact
            try:
                repeat(
                    self._stopped,
                    self._log,
                    "complete",
                    lambda: c.complete(self._lease, artifact, state.content_type, state.metrics),
                )
                self._log.info("task completed", operation="complete")
                return
            except CallError as e:
                self._record_failure(self._refused(e))
        failure = state.failure
        if failure is not None:
            repeat(self._stopped, self._log, "fail", lambda: c.fail(self._lease, failure))

    def _refused(self, error: CallError) -> Failure:
        """Return the failure of a result that will never be accepted; raise what just ends the task."""
        if error.lease_gone:
            raise LeaseLost(str(error)) from error
        return Failure("ResultRefused", self._clean.line(str(error)))

    def _record_failure(self, failure: Failure) -> None:
        self._log.warning("task failed", operation="execute", code=failure.code, error=failure.message)
        self._tasklog.line(f"failed: {failure}")
        self._folder.save(stage="failed", failure=failure)

    def _leave(self, how: str) -> None:
        """End the log and the folder, and with how = released give the task back."""
        if how == "kept":
            if self._folder.state.stage == "fetched":  # the next process may try as often as this one
                self._folder.save(starts=self._folder.state.starts - 1)
            return
        if how == "released":
            self._tasklog.line(f"handed back: {self._reason or 'the work dir cannot be used'}")
            with suppress(CallError):
                self._coordinator.release(self._lease)
        if how != "lost":
            self._tasklog.flush(final=True)
        if self._config.keep_work:
            self._folder.keep()
        else:
            self._folder.remove()

    def _set_progress(self, share: float) -> None:
        self._progress = min(1.0, max(0.0, share))

    def _expired(self) -> None:
        """The deadline and the grace have passed: a computation ends, a finished result is kept."""
        if self._folder.state.stage in ("claimed", "fetched"):
            self._end("lost", "lease expired without a renewal")

    def _end(self, how: str, reason: str) -> None:
        with self._lock:
            if self._ending != "lost":
                self._ending, self._reason = how, reason
        if how != "lost":
            self._stopped.set()
        self._ended.set()
