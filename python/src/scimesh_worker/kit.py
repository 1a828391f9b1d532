"""``scimesh-workload test DIR``: checks that an author's workload may be distributed.

DIR holds the pyproject.toml that names the workload in the entry point group
``scimesh.workloads``, and a folder ``example`` with one file ``input…`` and
``parameters.json``, from which a result comes that is worth comparing.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import io
import json
import random
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from scimesh_worker import bundle
from scimesh_worker.authoring import DistributedWorkload
from scimesh_worker.workloads.authored import GROUP, AuthoredWorkload, description
from scimesh_worker.workloads.base import TaskRequest, WorkloadError

# SHARDINGS are the values of spec.sharding.rows that must give the same result.
SHARDINGS = (1_000_000, 2, 1)


class Broken(Exception):
    """What a workload does that it must not."""


def load(folder: Path) -> list[DistributedWorkload]:
    """Return the workloads that the project in the folder names."""
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    sys.path[:0] = [str(folder), str(folder / "src")]
    found = []
    for name, target in project.get("entry-points", {}).get(GROUP, {}).items():
        module, _, attribute = target.partition(":")
        workload = getattr(importlib.import_module(module), attribute)()
        if not isinstance(workload, DistributedWorkload) or workload.name != name:
            raise Broken(f"{target} is no workload named {name}")
        found.append(workload)
    if not found:
        raise Broken(f"pyproject.toml names no entry point in {GROUP}")
    return found


class Kit:
    """The checks of one workload."""

    def __init__(self, workload: DistributedWorkload, example: Path, scratch: Path) -> None:
        self._workload = workload
        self._executor = AuthoredWorkload(workload)
        inputs = sorted(example.glob("input*"))
        if len(inputs) != 1:
            raise Broken("example/ must hold one file whose name begins with input")
        self._input = inputs[0].read_bytes()
        self._parameters = json.loads((example / "parameters.json").read_text())
        self._scratch = scratch
        self._steps = 0

    def checks(self) -> list[tuple[str, Callable[[], None]]]:
        """Return all checks by what they promise."""
        return [
            ("it describes itself", self.describes),
            ("its plan is the same every time, and holds JSON without paths", self.plans),
            ("distributed equals local, for several shardings and orders", self.distributes),
            ("a task that is tried again gives the same bytes", self.repeats),
            ("errors are for users, and show nothing of this machine", self.errors),
        ]

    def _run(self, data: bytes, **parameters: Any) -> bytes:
        """Carry out one step in a workspace of its own, as a worker does."""
        self._steps += 1
        workspace = self._scratch / f"step-{self._steps}"
        workspace.mkdir()
        (workspace / "input").write_bytes(data)
        request = TaskRequest(
            input_path=workspace / "input",
            output_path=workspace / "output",
            parameters={"version": self._workload.version, **parameters},
            workspace=workspace,
            row_seconds=60.0,
            progress=lambda _: None,
            log=lambda _: None,
        )
        self._executor.execute(request)
        return (workspace / "output").read_bytes()

    def _plan(self, rows: int, data: bytes | None = None) -> bytes:
        source = self._input if data is None else data
        return self._run(source, step="plan", parameters=self._parameters, sharding_rows=rows)

    def _tasks(self, rows: int) -> list[tuple[bytes, dict[str, Any]]]:
        plan, *shards = _entries(self._plan(rows))
        by_digest = {hashlib.sha256(shard).hexdigest(): shard for shard in shards}
        tasks = sorted(json.loads(plan)["tasks"], key=lambda t: t["chunk_index"])
        if [t["chunk_index"] for t in tasks] != list(range(len(tasks))):
            raise Broken("chunk indexes are not 0, 1, 2, …")
        return [(by_digest[t["input"]["sha256"]], t) for t in tasks]

    def _task(self, shard: bytes, task: dict[str, Any]) -> bytes:
        own = task.get("parameters", {})
        return self._run(shard, step="task", chunk_index=task["chunk_index"], parameters=own)

    def _result(self, rows: int, order: Callable[[list[int]], list[int]]) -> list[bytes]:
        tasks = self._tasks(rows)
        results: dict[int, bytes] = {}
        for n in order(list(range(len(tasks)))):
            results[n] = self._task(*tasks[n])
        packed = io.BytesIO()
        for n in sorted(results):
            bundle.write_bytes(packed, str(n), results[n])
        bundle.write_end(packed)
        return list(_entries(self._run(packed.getvalue(), step="reduce", parameters=self._parameters)))

    def describes(self) -> None:
        """The description is whole and its schema closed."""
        said = description(self._workload)
        schema = said["parameters_schema"]
        if schema.get("type") != "object" or schema.get("additionalProperties") is not False:
            raise Broken("parameters_schema must be of an object with additionalProperties false")
        if missing := [name for name, value in said.items() if not value]:
            raise Broken(f"empty: {', '.join(missing)}")
        if unknown := set(self._parameters) - set(schema.get("properties", {})):
            raise Broken(f"parameters.json has {', '.join(sorted(unknown))}, which the schema does not")

    def plans(self) -> None:
        """Plans are deterministic and portable."""
        for rows in SHARDINGS:
            if self._plan(rows) != self._plan(rows):
                raise Broken(f"two plans with sharding.rows {rows} differ")
            for _, task in self._tasks(rows):
                if str(self._scratch) in json.dumps(task):
                    raise Broken("the parameters of a task hold a path")

    def distributes(self) -> None:
        """The result depends on neither sharding nor order."""
        shuffled = random.Random(1)
        orders: list[Callable[[list[int]], list[int]]] = [
            lambda n: n,
            lambda n: n[::-1],
            lambda n: shuffled.sample(n, len(n)),
        ]
        local = self._result(SHARDINGS[0], orders[0])
        if not local[1]:
            raise Broken("the example's result is empty, which proves nothing")
        for rows in SHARDINGS:
            for order in orders:
                if self._result(rows, order) != local:
                    raise Broken(f"with sharding.rows {rows} the result differs from that of one task")

    def repeats(self) -> None:
        """Tasks are deterministic."""
        for shard, task in self._tasks(SHARDINGS[-1]):
            if self._task(shard, task) != self._task(shard, task):
                raise Broken(f"task {task['chunk_index']} gave other bytes the second time")

    def errors(self) -> None:
        """Inputs that cannot be used are refused with a sentence."""
        for data in (b"", b"\x00\xff" * 500, self._input[: len(self._input) // 2] + b"\xff"):
            try:
                self._plan(2, data)
            except WorkloadError as e:
                if not e.reason.isalnum() or not e.message or str(self._scratch) in e.message or "\n" in e.message:
                    raise Broken(f"an error that is not for users: {e}") from e
            except Exception as e:
                raise Broken(f"a bad input raises {type(e).__name__}, not a WorkloadError") from e


def _entries(data: bytes) -> Iterator[bytes]:
    with tempfile.TemporaryDirectory() as folder:
        for path in bundle.unpack(io.BytesIO(data), Path(folder)):
            yield path.read_bytes()


def main(arguments: list[str] | None = None) -> int:
    """Run the command: status 1 if a check fails, 2 if the folder cannot be used."""
    parser = argparse.ArgumentParser(prog="scimesh-workload", description=__doc__)
    parser.add_argument("command", choices=["test"])
    parser.add_argument("folder", type=Path)
    folder: Path = parser.parse_args(arguments).folder
    passed = failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        try:
            kits = [(w.name, Kit(w, folder / "example", Path(scratch))) for w in load(folder)]
        except (Broken, OSError, KeyError, ValueError, ImportError, AttributeError) as e:
            print(f"scimesh-workload: {folder}: {e}", file=sys.stderr)
            return 2
        for name, kit in kits:
            for promise, check in kit.checks():
                try:
                    check()
                    passed += 1
                    print(f"ok    {name}: {promise}")
                except Exception as e:  # noqa: BLE001 - whatever a workload raises is a finding
                    failed += 1
                    print(f"FAIL  {name}: {promise}\n      {type(e).__name__}: {e}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
