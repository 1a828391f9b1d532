"""The computation's process: ``python -m scimesh_worker.child execute|describe``.

``execute`` reads one JSON line from stdin: workload, parameters, input, output,
workspace, memory_mb, row_seconds. It writes JSON lines: {"progress"}, {"log"},
and last {"result"}, {"reason", "message", "retryable"} for what the user can mend, or
{"exception", "message"}. The end of stdin says that the worker has gone: then
this process and those that it started end at once.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import threading
import time
import traceback
from pathlib import Path
from typing import Any, TextIO

from scimesh_worker.workloads import registry
from scimesh_worker.workloads.base import TaskRequest, WorkloadError

_PROGRESS_EVERY = 0.5  # seconds


class Reporter:
    """Writes messages to the worker."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._reported = 0.0

    def send(self, **message: Any) -> None:
        """Write one message."""
        self._out.write(json.dumps(message) + "\n")
        self._out.flush()

    def progress(self, share: float) -> None:
        """Tell the share that is done, now and then."""
        now = time.monotonic()
        if now - self._reported >= _PROGRESS_EVERY:
            self._reported = now
            self.send(progress=share)

    def log(self, line: str) -> None:
        """Add a line to the attempt's log."""
        self.send(log=line)


def main(arguments: list[str]) -> int:
    """Run one of the two commands."""
    if arguments[0] == "describe":
        json.dump(registry.describe(arguments[1:]), sys.stdout)
        return 0
    # What a workload prints must not be taken for a message.
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    line = sys.stdin.buffer.readline()
    if not line:
        return 1
    threading.Thread(target=_end_with_worker, daemon=True).start()
    request: dict[str, Any] = json.loads(line)
    if megabytes := request["memory_mb"]:
        resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20))
    reporter = Reporter(out)
    try:
        reporter.send(result=_execute(request, reporter))
    except WorkloadError as e:
        reporter.send(reason=e.reason, message=e.message, retryable=e.retryable)
    except MemoryError:
        reporter.send(exception="MemoryError", message="the task's memory limit was reached")
    except Exception as e:  # noqa: BLE001 - whatever a workload raises is reported
        traceback.print_exc()  # into a file that stays on this machine
        reporter.send(exception=type(e).__name__, message=str(e))
    return 0


def _execute(request: dict[str, Any], reporter: Reporter) -> dict[str, Any]:
    executor = registry.executor(request["workload"])
    result = executor.execute(
        TaskRequest(
            input_path=Path(request["input"]),
            output_path=Path(request["output"]),
            parameters=request["parameters"],
            workspace=Path(request["workspace"]),
            row_seconds=request["row_seconds"],
            progress=reporter.progress,
            log=reporter.log,
        )
    )
    return {"content_type": result.content_type, "metrics": dict(result.metrics)}


def _end_with_worker() -> None:
    while os.read(0, 4096):
        pass
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
