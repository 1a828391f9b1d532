"""The work dir: the worker's identity, one folder a task, and a lock for one process.

What survives a process is what is here. A task's state names its stage, and what
a stage promises is on disk:

    claimed    nothing but the state      uploaded   the artifact's manifest
    fetched    the verified input         failed     the failure to be reported
    computed   the output and its digest
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from scimesh_worker.coordinator import Artifact, Assignment, Lease
from scimesh_worker.errors import Failure, MachineError, WorkerError

_CHUNK = 1 << 20


class WorkDirInUse(WorkerError):
    """Another process works in the work dir."""


class WorkDir:
    """A locked work dir. The lock goes with the process."""

    def __init__(self, path: Path) -> None:
        self.path = path.resolve()
        self.tasks = self.path / "tasks"
        self.tasks.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._lock = open(self.path / "lock", "a+", encoding="ascii")  # noqa: SIM115 - held as long as the process
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._lock.seek(0)
            raise WorkDirInUse(f"work dir is in use by another worker process ({self._lock.read().strip()})") from None
        self._lock.truncate(0)
        self._lock.write(f"{os.getpid()}\n")
        self._lock.flush()

    def worker_id(self) -> str | None:
        """Return the kept identity. A damaged file counts as none: identities are cheap."""
        try:
            value = json.loads((self.path / "worker.json").read_text())["worker_id"]
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return value if isinstance(value, str) else None

    def save_worker_id(self, worker_id: str, name: str) -> None:
        """Keep the identity for the next process."""
        write_json(self.path / "worker.json", {"worker_id": worker_id, "name": name})

    def leftovers(self) -> list[TaskFolder]:
        """Return the tasks that an earlier process left; what cannot be taken up is removed."""
        found = []
        for path in sorted(self.tasks.iterdir()):
            try:
                found.append(TaskFolder.load(path))
            except (OSError, ValueError, KeyError, TypeError):
                shutil.rmtree(path, ignore_errors=True)
        return found


@dataclass
class TaskState:
    """All that another process needs to go on with an attempt."""

    lease: Lease
    workload: str
    input_uri: str
    input_sha256: str
    parameters: dict[str, Any]
    stage: str = "claimed"
    ttl: float = 0.0  # of the lease when it was given, in seconds; 0 if unknown
    input_etag: str = ""
    starts: int = 0
    log_seq: int = 0
    output_sha256: str = ""
    content_type: str = ""
    metrics: dict[str, Any] = field(default_factory=dict)
    artifact: Artifact | None = None
    failure: Failure | None = None


class TaskFolder:
    """The folder of one attempt."""

    def __init__(self, path: Path, state: TaskState) -> None:
        self.path = path
        self.state = state
        self.input = path / "input"
        self.output = path / "output"

    @classmethod
    def create(cls, work: WorkDir, a: Assignment) -> TaskFolder:
        """Make the folder of a claimed task. Two attempts of one task never share one."""
        state = TaskState(a.lease, a.workload, a.input_uri, a.input_sha256, a.parameters, ttl=a.ttl)
        folder = cls(work.tasks / f"{a.lease.task_id}.{a.lease.attempt}", state)
        with machine_errors():
            folder.path.mkdir(mode=0o700, exist_ok=True)
            folder.save()
        return folder

    @classmethod
    def load(cls, path: Path) -> TaskFolder:
        """Read the folder that an earlier process left."""
        raw = json.loads((path / "state.json").read_text())
        raw["lease"] = Lease(**raw["lease"])
        raw["artifact"] = Artifact(**raw["artifact"]) if raw["artifact"] else None
        raw["failure"] = Failure(**raw["failure"]) if raw["failure"] else None
        state = TaskState(**raw)
        if path.name != f"{state.lease.task_id}.{state.lease.attempt}":
            raise ValueError("the state lies in another task's folder")
        return cls(path, state)

    def save(self, **changes: Any) -> None:
        """Change the state and write it down."""
        for name, value in changes.items():
            setattr(self.state, name, value)
        with machine_errors():
            write_json(self.path / "state.json", asdict(self.state))

    def keep(self) -> None:
        """Move the folder of an ended task aside, for people to look at."""
        kept = self.path.parent.parent / "kept" / self.path.name
        shutil.rmtree(kept, ignore_errors=True)
        with machine_errors():
            kept.parent.mkdir(mode=0o700, exist_ok=True)
            self.path.rename(kept)

    def remove(self) -> None:
        """End the folder."""
        shutil.rmtree(self.path, ignore_errors=True)


@contextmanager
def machine_errors() -> Iterator[None]:
    """Turn faults of the disk into MachineError."""
    try:
        yield
    except OSError as e:
        raise MachineError(f"the work dir cannot be used: {e.strerror}") from e


def write_json(path: Path, value: object) -> None:
    """Replace a file, whole or not at all, readable by this user alone."""
    tmp = path.with_name(path.name + ".tmp")
    with open(os.open(tmp, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as f:
        json.dump(value, f)
    tmp.replace(path)


def sha256_file(path: Path) -> str:
    """Return the digest of a file in lowercase hex."""
    digest = hashlib.sha256()
    with path.open("rb") as f:
        while chunk := f.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()
