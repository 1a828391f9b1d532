"""Makes text fit to leave the machine: no token, traceback, absolute path or raw input."""

from __future__ import annotations

import re

from scimesh_worker.errors import Failure
from scimesh_worker.workloads.base import WorkloadError

MAX_MESSAGE = 1000  # bytes
_MAX_CODE = 64

# An absolute path begins a word; a slash within one, as in a SMILES or a media type, does not.
_PATH = re.compile(
    r"""(^|[\s"'=(\[<,;:|])((?:/[^\s"'<>|:;,()\[\]/]+)+/?|[A-Za-z]:[\\/][^\s"'<>|;,()]*"""
    r"""|\\\\[^\s"'<>|;,()]+|~/[^\s"'<>|:;,()]+)"""
)
_URL = re.compile(r"""([A-Za-z][A-Za-z0-9+.-]*://)(?:[^\s/?#"'<>@]*@)?([^\s/?#"'<>:]*(?::\d+)?)(?:[/?#][^\s"'<>]*)?""")
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"|`[^`]*`|\'[^\']{3,}\'')
_SPACE = re.compile("[\t\n\r\u2028\u2029]")
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")
_CODE = re.compile(r"[A-Za-z][A-Za-z0-9]*")


class Sanitizer:
    """Knows the secrets that may be in no text."""

    def __init__(self, *secrets: str) -> None:
        self._secrets = [s for s in secrets if s]

    def line(self, text: str, limit: int = MAX_MESSAGE) -> str:
        """Return text as one line of at most limit bytes without what must stay here."""
        for secret in self._secrets:
            text = text.replace(secret, "[redacted]")
        text = text.encode("utf-8", "replace").decode()
        text = _CONTROL.sub("", _SPACE.sub(" ", text))
        text = _URL.sub(r"\1\2", text)
        text = _PATH.sub(r"\1[path]", text).strip()
        raw = text.encode()
        if len(raw) <= limit:
            return text
        return raw[: limit - 3].decode(errors="ignore") + "…"

    def failure(self, error: Exception) -> Failure:
        """Return what may be told of an error.

        A WorkloadError was written for the user; of any other error the type and
        the first line are kept, without what stands in quotes, since that is
        often a piece of the input.
        """
        if isinstance(error, Failure):
            return Failure(error.code, self.line(error.message), error.retryable)
        if isinstance(error, WorkloadError):
            known = len(error.reason) <= _MAX_CODE and _CODE.fullmatch(error.reason)
            message = self.line(error.message) or "the workload gave no reason"
            return Failure(error.reason if known else "ExecutionError", message, error.retryable)
        return self.unexpected(type(error).__name__, str(error))

    def unexpected(self, kind: str, text: str) -> Failure:
        """Return the failure of an exception that no workload meant to raise."""
        first = _QUOTED.sub('"…"', text.split("\n", 1)[0])
        return Failure("ExecutionError", self.line(f"{kind}: {first}" if first else kind), True)
