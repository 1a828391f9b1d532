"""Structured logs: one JSON object a line on standard error, with constant messages."""

from __future__ import annotations

import json
import sys
import threading
from datetime import UTC, datetime
from typing import Any, TextIO

LEVELS = ("debug", "info", "warn", "error")


class Log:
    """Writes entries with fields. No secret given to it is ever printed."""

    def __init__(self, level: str = "info", stream: TextIO | None = None, secrets: tuple[str, ...] = ()) -> None:
        self._from = LEVELS.index(level)
        self._stream = stream or sys.stderr
        self._secrets = tuple(s for s in secrets if s)
        self._lock = threading.Lock()
        self._fields: dict[str, Any] = {}

    def bind(self, **fields: Any) -> Log:
        """Return a log whose entries carry more fields."""
        child = Log(LEVELS[self._from], self._stream, self._secrets)
        child._lock = self._lock
        child._fields = {**self._fields, **fields}
        return child

    def debug(self, message: str, **fields: Any) -> None:
        """Write the flow."""
        self._write(0, message, fields)

    def info(self, message: str, **fields: Any) -> None:
        """Write a change of state."""
        self._write(1, message, fields)

    def warning(self, message: str, **fields: Any) -> None:
        """Write what went wrong and will be tried again."""
        self._write(2, message, fields)

    def error(self, message: str, **fields: Any) -> None:
        """Write what went wrong for good."""
        self._write(3, message, fields)

    def _write(self, level: int, message: str, fields: dict[str, Any]) -> None:
        if level < self._from:
            return
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        entry = {"level": LEVELS[level], "ts": now, "msg": message, **self._fields, **fields}
        text = json.dumps(entry, default=str)
        for secret in self._secrets:
            text = text.replace(secret, "[redacted]")
        with self._lock:
            try:
                self._stream.write(text + "\n")
                self._stream.flush()
            except (OSError, ValueError):
                pass  # nobody reads the log any more
