"""An engine process whose molecules say what they do: C+ scores, kill, stall, twice."""

import os
import signal
import sys
from pathlib import Path

from scimesh_worker.workloads.rows import ANSWER, INVALID, SCORED, frame, read_frame


def main() -> None:
    read_frame(sys.stdin.buffer)
    os.write(1, frame([b"ok"]))
    while (rows := read_frame(sys.stdin.buffer)) is not None:
        for row in rows:
            signal.setitimer(signal.ITIMER_PROF, float(sys.argv[1]))
            if row == b"kill":
                os.kill(os.getpid(), signal.SIGSEGV)
            if row == b"stall":
                while True:
                    pass
            if row.startswith(b"once:"):  # the first process that reads it dies
                marker = Path(row[5:].decode())
                if not marker.exists():
                    marker.touch()
                    os.kill(os.getpid(), signal.SIGSEGV)
            os.write(1, ANSWER.pack(INVALID if row == b"bad" else SCORED, 1, len(row)))


main()
