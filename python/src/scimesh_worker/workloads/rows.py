"""Compares rows with a query in a process of its own that a molecule may kill.

RDKit is C++: a molecule can crash it or keep it busy for ever. The engine
process answers row by row, and the kernel ends it when one row has used its CPU
time, so the row at fault is always the first one that was not answered. It is tried
once more alone in a fresh process, and rejected if that fails as well.
"""

from __future__ import annotations

import signal
import struct
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import IO

from scimesh_worker.workloads.base import WorkloadError

ANSWER = struct.Struct("<BHH")
# Outcomes of a row.
SCORED, INVALID, LIMIT, QUERY = range(4)
_ENGINE = "scimesh_worker.workloads.rdkit_rows"
# _MAX_CRASHES is how many rows in a row may crash before the machine is to blame.
_MAX_CRASHES = 16


@dataclass(frozen=True)
class Answer:
    """What the engine says of one row; reject is a reason."""

    common: int = 0
    union: int = 0
    is_query: bool = False
    reject: str = ""


class EngineBroken(Exception):
    """The engine does not work on this machine."""


def frame(texts: Sequence[bytes]) -> bytes:
    """Return texts as one message: their number, then each with its length."""
    parts = [struct.pack("<I", len(texts))]
    for text in texts:
        parts += (struct.pack("<I", len(text)), text)
    return b"".join(parts)


def read_frame(stream: IO[bytes]) -> list[bytes] | None:
    """Read a message; None at the end of the stream."""
    head = stream.read(4)
    if len(head) < 4:
        return None
    texts = []
    for _ in range(struct.unpack("<I", head)[0]):
        texts.append(stream.read(struct.unpack("<I", stream.read(4))[0]))
    return texts


class RowEngine:
    """Compares SMILES with one query. Use it as a context manager, in one thread."""

    def __init__(self, query: bytes, row_seconds: float, module: str = _ENGINE) -> None:
        self._module = module
        self._query = query
        self._row_seconds = row_seconds
        self._process: subprocess.Popen[bytes] | None = None
        self._crashes = 0
        self._ended_by = 0  # the status of the last process that ended by itself

    def __enter__(self) -> RowEngine:
        self._running()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    def answers(self, rows: Sequence[bytes]) -> Iterator[Answer]:
        """Yield the answer to each row, in order."""
        at = 0
        while at < len(rows):
            got = 0
            for answer in self._ask(rows[at:]):
                self._crashes = 0
                got += 1
                yield answer
            at += got
            if at < len(rows):  # the row at `at` ended the process
                yield self._alone(rows[at])
                at += 1

    def _alone(self, row: bytes) -> Answer:
        for answer in self._ask([row]):
            return answer
        reason = self._reason()
        if reason == "EngineFailed":
            self._crashes += 1
            if self._crashes >= _MAX_CRASHES:
                raise EngineBroken(f"the engine process failed at {self._crashes} rows in a row")
        return Answer(reject=reason)

    def _reason(self) -> str:
        """Say why the last process ended."""
        return "RowTimeout" if self._ended_by == -signal.SIGPROF else "EngineFailed"

    def _ask(self, rows: Sequence[bytes]) -> Iterator[Answer]:
        """Yield answers until all are there or the process has ended."""
        process = self._running()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(frame(rows))
            process.stdin.flush()
        except BrokenPipeError:
            self._ended_by = process.wait()
            return
        for _ in rows:
            raw = process.stdout.read(ANSWER.size)
            if len(raw) < ANSWER.size:
                self._ended_by = process.wait()
                return
            yield _decode(raw)

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is not None and self._process.poll() is None:
            return self._process
        self._stop()
        self._process = subprocess.Popen(
            [sys.executable, "-m", self._module, str(self._row_seconds)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            close_fds=True,
        )
        self._greet(self._process)
        return self._process

    def _greet(self, process: subprocess.Popen[bytes]) -> None:
        """Tell a new process the query and read whether it can use it."""
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(frame([self._query]))
        process.stdin.flush()
        reply = read_frame(process.stdout)
        if reply is None:
            self._ended_by = process.wait()
            if self._reason() == "RowTimeout":
                raise WorkloadError("QueryInvalid", f"query_smiles takes the engine more than {self._row_seconds:g} s")
            raise EngineBroken("the engine process ended before it had read the query")
        if reply[0] != b"ok":
            self._stop()
            raise WorkloadError("QueryInvalid", "query_smiles: RDKit does not accept it")

    def _stop(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with suppress(BrokenPipeError):
                    pipe.close()


def _decode(raw: bytes) -> Answer:
    outcome, common, union = ANSWER.unpack(raw)
    if outcome == INVALID:
        return Answer(reject="InvalidSMILES")
    if outcome == LIMIT:
        return Answer(reject="EngineLimit")
    return Answer(common, union, outcome == QUERY)
