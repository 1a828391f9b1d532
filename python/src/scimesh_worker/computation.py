"""Runs the computation of one task in a process of its own.

The process gets an explicit argument list, no token, and a process group of its
own, which is killed as a whole. It speaks JSON lines (see ``child``). It ends by
itself when this process does.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scimesh_worker.errors import Failure, TaskEnded
from scimesh_worker.sanitize import Sanitizer
from scimesh_worker.workloads.base import WorkloadError

_POLL = 0.2  # seconds between two looks at whether the task has ended
_MAX_LINE = 1 << 20


@dataclass(frozen=True)
class Limits:
    """What a computation may take; 0 is no limit."""

    seconds: float = 0.0
    memory_mb: int = 0
    row_seconds: float = 10.0


@dataclass(frozen=True)
class Outcome:
    """What a computation says besides its file."""

    content_type: str
    metrics: dict[str, Any]


def child_environment() -> dict[str, str]:
    """Return the environment of children: this process's own without the worker's settings."""
    return {k: v for k, v in os.environ.items() if not k.startswith("SCIMESH_")}


def describe(allowed: list[str]) -> dict[str, Any]:
    """Return what the workloads of this machine say of themselves, asked in a child process."""
    command = [sys.executable, "-m", "scimesh_worker.child", "describe", *allowed]
    done = subprocess.run(command, capture_output=True, text=True, env=child_environment(), check=False, timeout=300)
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise ValueError(f"the workloads cannot be loaded: {last}")
    described: dict[str, Any] = json.loads(done.stdout)
    return described


class Computation:
    """One computation."""

    def __init__(
        self, request: dict[str, Any], stderr: Path, limits: Limits, clean: Sanitizer, ended: threading.Event
    ) -> None:
        self._limits, self._clean, self._ended = limits, clean, ended
        self._deadline = time.monotonic() + limits.seconds if limits.seconds else None
        with stderr.open("ab") as errors:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "scimesh_worker.child", "execute"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=child_environment(),
                cwd=stderr.parent,
                start_new_session=True,
            )
        assert self._process.stdin is not None
        message = {**request, "memory_mb": limits.memory_mb, "row_seconds": limits.row_seconds}
        try:
            # The pipe stays open: its end tells the child that this process has gone.
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # its end is seen below

    def run(self, progress: Callable[[float], None], log: Callable[[str], None], idle: Callable[[], None]) -> Outcome:
        """Wait for the result. idle is called several times a second.

        Raises TaskEnded once the task has ended, WorkloadError for what the user can
        mend, and Failure for everything else.
        """
        try:
            for message in self._messages(idle):
                if "progress" in message:
                    progress(float(message["progress"]))
                elif "log" in message:
                    log(str(message["log"]))
                elif "reason" in message:
                    raise WorkloadError(
                        str(message["reason"]), str(message["message"]), retryable=bool(message["retryable"])
                    )
                elif "exception" in message:
                    raise self._clean.unexpected(str(message["exception"]), str(message["message"]))
                elif "result" in message:
                    result = message["result"]
                    return Outcome(str(result["content_type"]), dict(result["metrics"]))
        finally:
            self.kill()
        raise self._died()

    def kill(self) -> None:
        """End the whole process group and wait for it."""
        with suppress(ProcessLookupError, PermissionError):  # which say that it has ended
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()

    def _messages(self, idle: Callable[[], None]) -> Iterator[dict[str, Any]]:
        assert self._process.stdout is not None
        fd = self._process.stdout.fileno()
        buffer = b""
        while True:
            ready, _, _ = select.select([fd], [], [], _POLL)
            if self._ended.is_set():
                raise TaskEnded("stopped while computing")
            if self._deadline is not None and time.monotonic() > self._deadline:
                raise Failure("TaskTimeout", f"the computation took more than {self._limits.seconds:g} s")
            idle()
            if not ready:
                continue
            data = os.read(fd, 64 << 10)
            if not data:
                return
            buffer += data
            *lines, buffer = buffer.split(b"\n")
            if len(buffer) > _MAX_LINE:
                raise Failure("ExecutionError", "the computation wrote a message that is too long")
            for line in lines:
                yield json.loads(line)

    def _died(self) -> Failure:
        code = self._process.returncode
        if code == -signal.SIGKILL:
            return Failure("ProcessKilled", "the computation's process was killed, perhaps for lack of memory")
        if code < 0:
            return Failure("ProcessKilled", f"the computation's process was ended by signal {-code}")
        return Failure("ProcessEnded", f"the computation's process ended with status {code} and no result")
