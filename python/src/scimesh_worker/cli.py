"""The command ``scimesh-worker``."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from types import FrameType
from typing import Any

from scimesh_worker.computation import Limits, describe
from scimesh_worker.config import Config, machine_memory_mb, seconds
from scimesh_worker.logs import LEVELS, Log
from scimesh_worker.workdir import WorkDir, WorkDirInUse
from scimesh_worker.worker import Refused, Worker
from scimesh_worker.workloads.registry import BUILT_IN

USAGE, FAILED, INTERRUPTED = 2, 1, 130

_DESCRIPTION = """\
Claim tasks from a SciMesh coordinator over outbound HTTP, compute them with RDKit
and deliver the results. Every setting may be given as a flag or in the environment
(in brackets); a flag wins. The token is never a flag, since those are visible to all
users of a machine: it is read from SCIMESH_TOKEN, or from the file that
SCIMESH_TOKEN_FILE or --token-file names. Durations are such as 500ms, 20s or 1m30s.

On SIGTERM the worker claims no more, finishes what it can within --drain-timeout and
hands the rest back at no cost. Ctrl-C hands back at once. A second signal ends at
once and leaves running tasks in the work dir, where the next start takes them up.
"""
_EPILOG = "Exit status: 0 after SIGTERM or when done, 1 failure, 2 invalid configuration, 130 after Ctrl-C."


def main(arguments: list[str] | None = None) -> int:
    """Run the worker and return its exit status."""
    parser = _parser()
    try:
        config, level = _configure(parser.parse_args(arguments))
    except (ValueError, OSError) as e:
        return _refuse(parser, [str(e)])
    if faults := config.faults():
        return _refuse(parser, faults)
    log = Log(level, secrets=(config.token,))
    try:
        work = WorkDir(config.work_dir)
        described = describe(list(config.workloads))
    except (WorkDirInUse, ValueError) as e:
        return _refuse(parser, [str(e)])
    except OSError as e:
        return _refuse(parser, [f"work dir: {e.strerror}"])
    return _serve(config, work, log, described)


def _refuse(parser: argparse.ArgumentParser, faults: list[str]) -> int:
    for fault in faults:
        print(f"{parser.prog}: {fault}", file=sys.stderr)
    return USAGE


def _serve(config: Config, work: WorkDir, log: Log, described: dict[str, Any]) -> int:
    log.info(
        "worker starts",
        version=version("scimesh-worker"),
        engine=described["engine"],
        work_dir=str(work.path),
        workloads=config.workloads,
    )
    worker = Worker(config, work, log, described)
    signals: list[int] = []
    asked = threading.Event()

    def on_signal(number: int, _: FrameType | None) -> None:
        signals.append(number)
        asked.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, on_signal)
    failure: list[Exception] = []
    runner = threading.Thread(target=_run, args=(worker, failure, asked), name="worker")
    runner.start()
    asked.wait()
    if signals:
        _wind_down(worker, runner, signals, config.drain_timeout, log)
    runner.join()
    log.info("worker stopped", operation="stop")
    if failure:
        print(f"scimesh-worker: {failure[0]}", file=sys.stderr)
        return USAGE if isinstance(failure[0], Refused) else FAILED
    return INTERRUPTED if signals and signals[0] == signal.SIGINT else 0


def _run(worker: Worker, failure: list[Exception], ended: threading.Event) -> None:
    try:
        worker.run()
    except Exception as e:  # noqa: BLE001 - told to the user by the main thread
        failure.append(e)
    ended.set()


def _wind_down(worker: Worker, runner: threading.Thread, signals: list[int], drain: float, log: Log) -> None:
    log.info("worker stops claiming", operation="drain", timeout=drain)
    worker.stop()
    if signals[0] == signal.SIGTERM:
        _join(runner, drain, lambda: len(signals) > 1)
    if len(signals) < 2:
        worker.hand_back()
        _join(runner, None, lambda: len(signals) > 1)
    if runner.is_alive():
        worker.abort()


def _join(thread: threading.Thread, limit: float | None, interrupted: Callable[[], bool]) -> None:
    """Wait for a thread in steps, since a signal does not end a join."""
    waited = 0.0
    while thread.is_alive() and not interrupted() and (limit is None or waited < limit):
        thread.join(0.1)
        waited += 0.1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="scimesh-worker",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=version("scimesh-worker"))

    def flag(name: str, env: str, default: str, text: str) -> None:
        shown = f"; default: {default}" if default else ""
        parser.add_argument(
            f"--{name}", metavar="VALUE", default=os.environ.get(env, default), help=f"{text} [{env}{shown}]"
        )

    flag("coordinator-url", "SCIMESH_COORDINATOR_URL", "", "URL of the coordinator (required)")
    flag("name", "SCIMESH_WORKER_NAME", "", "name for people; default: the host's")
    flag("token-file", "SCIMESH_TOKEN_FILE", "", "file that holds the token")
    flag("work-dir", "SCIMESH_WORK_DIR", "", "folder of the identity and of running tasks, for one worker (required)")
    flag(
        "workloads",
        "SCIMESH_WORKLOADS",
        ",".join(BUILT_IN),
        "workloads that may run here, separated by commas; others than built-in ones are entry points",
    )
    flag("concurrency", "SCIMESH_CONCURRENCY", "1", "tasks at once")
    flag("memory-mb", "SCIMESH_MEMORY_MB", "", "memory to announce; default: the machine's")
    flag("claim-wait", "SCIMESH_CLAIM_WAIT", "20s", "how long a claim waits at the coordinator for a task; 0 to 30s")
    flag("poll-interval", "SCIMESH_POLL_INTERVAL", "2s", "pause after a claim that did not wait")
    flag("max-tasks", "SCIMESH_MAX_TASKS", "0", "exit after so many tasks; 0 is no limit")
    flag("drain-timeout", "SCIMESH_DRAIN_TIMEOUT", "30s", "time for running tasks after SIGTERM")
    flag("outage-grace", "SCIMESH_OUTAGE_GRACE", "10m", "how long to compute on while the coordinator is away")
    flag("row-timeout", "SCIMESH_ROW_TIMEOUT", "10s", "CPU time of one row, which is rejected when it takes more")
    flag("task-timeout", "SCIMESH_TASK_TIMEOUT", "0", "time of one task, which fails when it takes more; 0 is no limit")
    flag("task-memory-mb", "SCIMESH_TASK_MEMORY_MB", "0", "memory of each process of a task; 0 is no limit")
    flag("log-level", "SCIMESH_LOG_LEVEL", "info", ", ".join(LEVELS))
    for name, env, text in (
        ("once", "SCIMESH_ONCE", "exit after one claim and its task, if there was one"),
        ("keep-work", "SCIMESH_KEEP_WORK", "keep the folders of ended tasks below WORK_DIR/kept"),
    ):
        on = os.environ.get(env, "").lower() in ("1", "true", "yes")
        parser.add_argument(f"--{name}", action="store_true", default=on, help=f"{text} [{env}]")
    return parser


def _configure(args: argparse.Namespace) -> tuple[Config, str]:
    if args.log_level not in LEVELS:
        raise ValueError(f"--log-level must be one of {', '.join(LEVELS)}")
    defaults = {"name": args.name} if args.name else {}
    config = Config(
        coordinator_url=args.coordinator_url,
        token=_token(args.token_file),
        work_dir=Path(args.work_dir),
        workloads=tuple(name.strip() for name in args.workloads.split(",") if name.strip()),
        concurrency=_whole("--concurrency", args.concurrency),
        memory_mb=_whole("--memory-mb", args.memory_mb) if args.memory_mb else machine_memory_mb(),
        claim_wait=seconds(args.claim_wait),
        poll_interval=seconds(args.poll_interval),
        once=args.once,
        max_tasks=_whole("--max-tasks", args.max_tasks),
        keep_work=args.keep_work,
        drain_timeout=seconds(args.drain_timeout),
        outage_grace=seconds(args.outage_grace),
        limits=Limits(
            seconds=seconds(args.task_timeout),
            memory_mb=_whole("--task-memory-mb", args.task_memory_mb),
            row_seconds=seconds(args.row_timeout),
        ),
        **defaults,
    )
    return config, args.log_level


def _whole(flag: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"{flag} must be a whole number") from None


def _token(path: str) -> str:
    if path:
        try:
            return Path(path).read_text(encoding="utf-8").strip()
        except OSError as e:
            raise ValueError(f"the token file cannot be read: {e.strerror}") from None
    return os.environ.get("SCIMESH_TOKEN", "")
