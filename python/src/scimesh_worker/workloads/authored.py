"""Carries out the steps of authored workloads: plan, task and reduce."""

from __future__ import annotations

import json
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from scimesh_worker import bundle
from scimesh_worker.authoring import DistributedWorkload, FinalResult, TaskPlan
from scimesh_worker.workdir import sha256_file
from scimesh_worker.workloads.base import Json, TaskRequest, TaskResult, WorkloadError, unsupported

GROUP = "scimesh.workloads"


def load(name: str) -> DistributedWorkload:
    """Return the workload that an installed package names so."""
    found = [e for e in entry_points(group=GROUP) if e.name == name]
    if len(found) != 1:
        raise WorkloadError("UnknownWorkload", f"{len(found)} installed packages have an entry point {name} in {GROUP}")
    workload = found[0].load()()
    if not isinstance(workload, DistributedWorkload) or workload.name != name:
        raise WorkloadError("UnknownWorkload", f"the entry point {name} is no workload of that name")
    return workload


def description(workload: DistributedWorkload) -> Json:
    """Return what the coordinator is told of a workload."""
    said = workload.describe()
    return {
        "name": workload.name,
        "version": workload.version,
        "description": str(said["description"]),
        "parameters_schema": said["parameters_schema"],
        "inputs": list(said["inputs"]),
        "outputs": list(said["outputs"]),
    }


class AuthoredWorkload:
    """An authored workload as the tasks of a Job see it."""

    def __init__(self, workload: DistributedWorkload) -> None:
        self._workload = workload
        self.name = workload.name

    def execute(self, request: TaskRequest) -> TaskResult:
        """Carry out the step that the parameters name."""
        p = request.parameters
        if p.get("version") != self._workload.version:
            raise unsupported(f"version {p.get('version')} of {self.name}; it has version {self._workload.version}")
        if p["step"] == "plan":
            return self._plan(request, p["parameters"], p["sharding_rows"])
        if p["step"] == "task":
            task = TaskPlan(p["chunk_index"], request.input_path, p["parameters"])
            result = self._workload.execute_task(task, request.workspace)
            _inside(result.path, request.workspace).rename(request.output_path)
            return TaskResult(metrics=dict(result.metrics))
        if p["step"] == "reduce":
            return self._reduce(request, p["parameters"])
        raise WorkloadError("InvalidParameters", "the task names no step")

    def _plan(self, request: TaskRequest, parameters: Json, rows: int) -> TaskResult:
        self._workload.validate_job(request.input_path, dict(parameters))
        tasks = self._workload.plan(request.input_path, {**parameters, "sharding_rows": rows}, request.workspace)
        with request.output_path.open("wb") as out:
            write_plan(out, tasks, request.workspace)
        return TaskResult(metrics={"planned_tasks": len(tasks)})

    def _reduce(self, request: TaskRequest, parameters: Json) -> TaskResult:
        with request.input_path.open("rb") as source:
            partials = list(bundle.unpack(source, request.workspace))
        final = self._workload.reduce(partials, dict(parameters), request.workspace)
        with request.output_path.open("wb") as out:
            write_final(out, final, request.workspace)
        return TaskResult(metrics={"rows": final.rows})


def write_plan(out: Any, tasks: list[TaskPlan], workspace: Path) -> None:
    """Write the bundle of a plan: the tasks, and each shard once, named by its digest."""
    shards: dict[str, Path] = {}
    wire = []
    for task in tasks:
        path = _inside(task.input, workspace)
        digest = sha256_file(path)
        shards[digest] = path
        entry: dict[str, Any] = {"chunk_index": task.chunk_index, "input": {"sha256": digest}}
        if task.parameters:
            entry["parameters"] = dict(task.parameters)
        wire.append(entry)
    try:
        plan = json.dumps({"tasks": wire}, allow_nan=False, sort_keys=True)
    except (TypeError, ValueError) as e:
        raise WorkloadError("PlanInvalid", "the plan's parameters are not JSON") from e
    bundle.write_bytes(out, "plan", plan.encode())
    for digest, path in shards.items():
        bundle.write_file(out, digest, path)
    bundle.write_end(out)


def write_final(out: Any, final: FinalResult, workspace: Path) -> None:
    """Write the bundle of a result: an account of it, and the file."""
    path = _inside(final.path, workspace)
    account = {
        "filename": path.name,
        "content_type": final.content_type,
        "rows": final.rows,
        "rows_read": final.rows_read,
        "excluded": dict(final.excluded),
        "rejected": dict(final.rejected),
    }
    bundle.write_bytes(out, "final", json.dumps(account, sort_keys=True).encode())
    bundle.write_file(out, "result", path)
    bundle.write_end(out)


def _inside(path: Path, workspace: Path) -> Path:
    """Return the path if it is of a file below the workspace."""
    resolved = path.resolve()
    if not resolved.is_relative_to(workspace.resolve()) or not resolved.is_file():
        raise WorkloadError("PlanInvalid", "the workload names a file outside of its workspace")
    return resolved
