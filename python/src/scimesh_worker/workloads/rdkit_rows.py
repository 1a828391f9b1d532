"""The engine process: reads batches of SMILES from stdin, answers each row at once.

``python -m scimesh_worker.workloads.rdkit_rows SECONDS``; the messages are those
of ``rows``. The first holds the query. The process ends with stdin, or by SIGPROF
when one row has used SECONDS of CPU time, even inside of C++ code.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable

from scimesh_worker.workloads.morgan import Molecules
from scimesh_worker.workloads.rows import ANSWER, INVALID, LIMIT, QUERY, SCORED, frame, read_frame

# MAX_SMILES_BYTES is the longest string that the engines of SciMesh read.
MAX_SMILES_BYTES = 1 << 20


def main(arguments: list[str]) -> int:
    """Answer until stdin ends."""
    seconds = float(arguments[0])
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    out = sys.stdout.fileno()
    molecules = Molecules()

    def budget() -> None:
        signal.setitimer(signal.ITIMER_PROF, seconds)

    first = read_frame(sys.stdin.buffer)
    if first is None:
        return 0
    budget()
    query = molecules.read(first[0])
    _write(out, frame([b"ok" if query is not None else b"invalid"]))
    if query is None:
        return 0
    compare = molecules.comparer(query)
    while (rows := read_frame(sys.stdin.buffer)) is not None:
        for row in rows:
            budget()
            _write(out, _answer(compare, row))
    return 0


def _answer(compare: Callable[[bytes], tuple[int, int, bool] | None], row: bytes) -> bytes:
    if len(row) > MAX_SMILES_BYTES:
        return ANSWER.pack(LIMIT, 0, 0)
    counts = compare(row)
    if counts is None:
        return ANSWER.pack(INVALID, 0, 0)
    common, union, same = counts
    return ANSWER.pack(QUERY if same else SCORED, common, union)


def _write(fd: int, data: bytes) -> None:
    while data:
        data = data[os.write(fd, data) :]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
