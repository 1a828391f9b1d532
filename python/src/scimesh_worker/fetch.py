"""Brings an input into a task's folder and verifies it; bytes that are there already are kept."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import IO

from scimesh_worker.coordinator import Coordinator
from scimesh_worker.errors import BeyondEnd, CallError, Failure, InputError, LeaseLost, TaskEnded, WorkerError
from scimesh_worker.logs import Log
from scimesh_worker.retry import Backoff
from scimesh_worker.workdir import TaskFolder, machine_errors, sha256_file

# _MAX_STALLS bounds the tries in a row that bring not one byte of an input that the coordinator does not serve itself.
_MAX_STALLS = 10


def fetch(coordinator: Coordinator, folder: TaskFolder, ended: threading.Event, log: Log) -> None:
    """Leave the verified input in the folder, or raise a Failure."""
    state = folder.state
    if folder.input.exists() and sha256_file(folder.input) == state.input_sha256:
        return
    part = folder.path / "input.part"
    for anew in (False, True):
        with machine_errors(), open(part, "wb" if anew else "ab") as file:
            resumed = file.tell() > 0
            pieces = _fetch_all(coordinator, folder, file, ended, log)
            size = file.tell()
        with machine_errors():
            got = sha256_file(part)
            if got == state.input_sha256:
                part.replace(folder.input)
                return
        if not resumed and pieces <= 1:
            break
        # Joined pieces may be of two versions: once more from the beginning.
        log.warning("joined input does not match its checksum", bytes=size)
    raise Failure(
        "InputChecksumMismatch", f"the input's SHA-256 is {got}, not {state.input_sha256}, after {size} bytes"
    )


def _fetch_all(coordinator: Coordinator, folder: TaskFolder, file: IO[bytes], ended: threading.Event, log: Log) -> int:
    """Read to the end of the input, going on where a connection broke; return the number of pieces."""
    backoff, stalls, pieces = Backoff(), 0, 0
    while True:
        before = file.tell()
        error: WorkerError
        try:
            pieces += 1
            if _fetch_some(coordinator, folder, file, ended.is_set):
                return pieces
            error = CallError("download", 0, "the input ended too early")
        except CallError as e:
            if e.lease_gone and e.status != 404:
                raise LeaseLost("lease lost while downloading") from e
            if not (e.unavailable or e.denied):
                raise Failure("InputUnavailable", str(e)) from e
            error = e
        except InputError as e:
            if not e.transient:
                raise Failure("InputUnavailable", str(e)) from e
            error = e
        if ended.is_set():
            raise TaskEnded("stopped while downloading")
        stalls = 0 if file.tell() > before else stalls + 1
        if stalls == 0:
            backoff.reset()
        foreign = isinstance(error, InputError) or (isinstance(error, CallError) and error.status == 500)
        if foreign and stalls >= _MAX_STALLS:
            raise Failure("InputUnavailable", str(error)) from error
        delay = backoff.next(error)
        log.warning("input not complete", operation="download", bytes=file.tell(), delay=delay, error=str(error))
        if ended.wait(delay):
            raise TaskEnded("stopped while downloading")


def _fetch_some(coordinator: Coordinator, folder: TaskFolder, file: IO[bytes], stopped: Callable[[], bool]) -> bool:
    """Read what one request brings; tell whether that was the rest of the input."""
    state, at = folder.state, file.tell()
    try:
        with coordinator.download(state.lease, state.input_uri, at, state.input_etag) as body:
            if body.offset not in (0, at):
                return False
            if body.offset != at:
                _restart(file)
            if body.etag != state.input_etag:
                folder.save(input_etag=body.etag)
            for chunk in body.chunks:
                file.write(chunk)
                if stopped():
                    raise TaskEnded("stopped while downloading")
            file.flush()
            return body.size < 0 or file.tell() == body.size
    except BeyondEnd:
        _restart(file)
        return False


def _restart(file: IO[bytes]) -> None:
    file.seek(0)
    file.truncate()
