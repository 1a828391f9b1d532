"""The worker's settings: from flags and the environment, checked once."""

from __future__ import annotations

import os
import re
import socket
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from scimesh_worker.computation import Limits
from scimesh_worker.workloads.registry import BUILT_IN

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
MAX_CLAIM_WAIT = 30.0


def seconds(text: str) -> float:
    """Read a duration such as 500ms, 20s, 1m30s or a number of seconds."""
    if re.fullmatch(r"\d+(\.\d+)?", text):
        return float(text)
    if not re.fullmatch(r"(\d+(\.\d+)?(ms|s|m|h))+", text):
        raise ValueError(f"{text!r} is no duration: expected one such as 500ms, 20s or 1m30s")
    return sum(float(n) * _UNITS[unit] for n, unit in re.findall(r"([\d.]+)(ms|s|m|h)", text))


def machine_memory_mb() -> int:
    """Return the memory of this machine in MiB."""
    return max(1, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20)


@dataclass(frozen=True)
class Config:
    """What a worker needs. Times are in seconds."""

    coordinator_url: str
    token: str = field(repr=False)
    work_dir: Path
    name: str = field(default_factory=socket.gethostname)
    workloads: tuple[str, ...] = BUILT_IN
    concurrency: int = 1
    memory_mb: int = field(default_factory=machine_memory_mb)
    claim_wait: float = 20.0
    poll_interval: float = 2.0
    once: bool = False
    max_tasks: int = 0
    keep_work: bool = False
    drain_timeout: float = 30.0
    outage_grace: float = 600.0
    limits: Limits = field(default_factory=Limits)

    def faults(self) -> list[str]:
        """Return every fault. No text holds the token."""
        found = _url_faults(self.coordinator_url)
        if not self.token:
            found.append("the token is missing: set SCIMESH_TOKEN, or SCIMESH_TOKEN_FILE to a file that holds it")
        elif not re.fullmatch(r"[!-~]+", self.token):
            found.append("the token must be printable ASCII without spaces")
        if not 1 <= len(self.name) <= 253:
            found.append("--name must have 1 to 253 characters")
        if not str(self.work_dir) or str(self.work_dir) == ".":
            found.append("--work-dir is required")
        if not self.workloads:
            found.append("--workloads must name at least one workload")
        if not 0 <= self.claim_wait <= MAX_CLAIM_WAIT or self.claim_wait % 1:
            found.append("--claim-wait must be whole seconds, at most 30s")
        for flag, value, least in (
            ("--concurrency", self.concurrency, 1),
            ("--memory-mb", self.memory_mb, 1),
            ("--max-tasks", self.max_tasks, 0),
            ("--task-memory-mb", self.limits.memory_mb, 0),
        ):
            if value < least:
                found.append(f"{flag} must be at least {least}")
        if self.limits.row_seconds <= 0:
            found.append("--row-timeout must be more than 0")
        return found


def _url_faults(url: str) -> list[str]:
    if not url:
        return ["--coordinator-url is required"]
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return ["--coordinator-url is no URL"]
    if parts.username or parts.password:
        return ["--coordinator-url must not hold credentials"]
    if parts.scheme not in ("http", "https") or not host or parts.query or parts.fragment:
        return ["--coordinator-url must be an http or https URL with a host and without query and fragment"]
    return []
