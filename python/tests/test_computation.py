"""The computation's process: limits, deaths and messages."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from scimesh_worker.computation import Computation, Limits
from scimesh_worker.errors import Failure, TaskEnded
from scimesh_worker.sanitize import Sanitizer
from scimesh_worker.workloads.base import WorkloadError

HEADER = b"chembl_id\tcanonical_smiles\n"


def start(tmp_path: Path, limits: Limits, ended: threading.Event, table: bytes, query: str = "CCO") -> Computation:
    (tmp_path / "input").write_bytes(table)
    request = {
        "workload": "similarity-search",
        "parameters": {"query_smiles": query, "top_k": 5, "threshold_direction": "greater"},
        "input": str(tmp_path / "input"),
        "output": str(tmp_path / "output"),
        "workspace": str(tmp_path),
    }
    return Computation(request, tmp_path / "stderr", limits, Sanitizer(), ended)


def run(computation: Computation) -> None:
    computation.run(lambda _: None, lambda _: None, lambda: None)


def test_a_task_that_takes_too_long_fails(tmp_path: Path) -> None:
    stall = HEADER + b"A\t" + b"C" * 100_000 + b"\n"
    with pytest.raises(Failure, match="TaskTimeout"):
        run(start(tmp_path, Limits(seconds=1, row_seconds=600), threading.Event(), stall))


def test_a_task_that_needs_too_much_memory_fails(tmp_path: Path) -> None:
    line = HEADER + b"A\t" + b"C" * (15 << 20) + b"\n"
    with pytest.raises(Failure):
        run(start(tmp_path, Limits(memory_mb=60), threading.Event(), line))


def test_the_end_of_a_task_kills_the_whole_group(tmp_path: Path) -> None:
    ended = threading.Event()
    stall = HEADER + b"A\t" + b"C" * 100_000 + b"\n"
    computation = start(tmp_path, Limits(row_seconds=600), ended, stall)
    group = computation._process.pid
    threading.Timer(1.0, ended.set).start()
    with pytest.raises(TaskEnded):
        run(computation)
    deadline = time.monotonic() + 10
    while True:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return
        assert time.monotonic() < deadline, "processes of the group are left"
        time.sleep(0.05)


def test_faults_of_the_user_are_told_as_such(tmp_path: Path) -> None:
    with pytest.raises(WorkloadError, match="InputInvalid"):
        run(start(tmp_path, Limits(), threading.Event(), b""))
