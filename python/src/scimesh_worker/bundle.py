"""Several files as one: a line of JSON before each, and a last line that says that it was the last."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from scimesh_worker.workloads.base import WorkloadError

_MAX_HEADER = 4 << 10
_CHUNK = 256 << 10


def write_bytes(out: BinaryIO, name: str, data: bytes) -> None:
    """Write one entry."""
    out.write(json.dumps({"name": name, "size_bytes": len(data)}).encode() + b"\n" + data)


def write_file(out: BinaryIO, name: str, path: Path) -> None:
    """Write one entry from a file."""
    out.write(json.dumps({"name": name, "size_bytes": path.stat().st_size}).encode() + b"\n")
    with path.open("rb") as file:
        shutil.copyfileobj(file, out, _CHUNK)


def write_end(out: BinaryIO) -> None:
    """Write the end of a bundle."""
    out.write(b'{"end": true}\n')


def unpack(source: BinaryIO, folder: Path) -> Iterator[Path]:
    """Yield each entry as a file in the folder, named by its place."""
    number = 0
    while True:
        header = json.loads(source.readline(_MAX_HEADER) or "{}")
        if header.get("end"):
            return
        if "size_bytes" not in header:
            raise WorkloadError("InputCorrupt", "the bundle of partial results ends too early")
        path = folder / f"partial-{number}"
        left = int(header["size_bytes"])
        with path.open("wb") as out:
            while left:
                chunk = source.read(min(left, _CHUNK))
                if not chunk:
                    raise WorkloadError("InputCorrupt", "the bundle of partial results ends too early")
                out.write(chunk)
                left -= len(chunk)
        yield path
        number += 1
