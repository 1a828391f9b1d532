"""The log of one attempt on its way to the coordinator: best effort, never in a task's way."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime

from scimesh_worker.coordinator import Coordinator, Lease
from scimesh_worker.errors import CallError
from scimesh_worker.sanitize import Sanitizer

_MAX_BYTES = 1 << 20  # of one attempt
_MAX_CHUNK = 32 << 10  # of one request
_MAX_LINE = 4 << 10
_FLUSH_EVERY = 2.0  # seconds
_PAUSE = 10.0  # seconds after a chunk that was not taken
_CUT = "… the rest of this log is left out: it passed its limit of 1 MiB\n".encode()


class TaskLog:
    """Lines of one attempt. Used by the task's thread alone."""

    def __init__(self, coordinator: Coordinator, lease: Lease, clean: Sanitizer, seq: int) -> None:
        self._coordinator, self._lease, self._clean = coordinator, lease, clean
        self.seq = seq  # of the next chunk
        self.taken: Callable[[int], None] = lambda _: None
        self._pending = b""
        self._size = 0
        self._next = time.monotonic() + _FLUSH_EVERY

    def line(self, text: str) -> None:
        """Add a line, stamped with the time in UTC."""
        if self._size >= _MAX_BYTES:
            return
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        raw = f"{now} {self._clean.line(text, _MAX_LINE)}\n".encode()
        if self._size + len(raw) + len(_CUT) > _MAX_BYTES:
            raw, self._size = _CUT, _MAX_BYTES
        self._size += len(raw)
        self._pending += raw

    def flush_sometimes(self) -> None:
        """Send what is pending, if it is time to."""
        if self._pending and time.monotonic() >= self._next:
            self.flush(final=False)

    def flush(self, *, final: bool) -> None:
        """Send what is pending; what is not taken stays for the next time."""
        while self._pending or final:
            cut = len(self._pending)
            if cut > _MAX_CHUNK:
                cut = self._pending.rindex(b"\n", 0, _MAX_CHUNK) + 1
            last = final and cut == len(self._pending)
            try:
                self._coordinator.append_log(self._lease, self.seq, self._pending[:cut], last)
            except CallError as e:
                if not e.unavailable:
                    self._pending, self._size = b"", _MAX_BYTES  # nobody wants it
                self._next = time.monotonic() + _PAUSE
                return
            self._pending = self._pending[cut:]
            self.seq += 1
            self.taken(self.seq)
            if last:
                return
        self._next = time.monotonic() + _FLUSH_EVERY
