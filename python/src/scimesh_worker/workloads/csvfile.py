"""The one form of CSV that SciMesh writes: CRLF, and quotes only where they must be.

It is what Python's csv module writes, for bytes: results of Go and Python
workers are compared byte for byte.
"""

from __future__ import annotations

import re

_SPECIAL = re.compile(rb'[",\r\n]')


def record(*fields: bytes) -> bytes:
    """Return one record with its line end."""
    return b",".join(_quote(f) for f in fields) + b"\r\n"


def _quote(text: bytes) -> bytes:
    if _SPECIAL.search(text) is None:
        return text
    return b'"' + text.replace(b'"', b'""') + b'"'
