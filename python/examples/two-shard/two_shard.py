"""Counts the lines of a file in two halves: the smallest workload there is."""

from pathlib import Path
from typing import Any

from scimesh_worker.authoring import FinalResult, RunResult, TaskPlan, WorkloadError


class TwoShard:
    """The workload."""

    name = "two-shard"
    version = "1"

    def describe(self) -> dict[str, Any]:
        """Say what the workload takes and gives."""
        schema = {"type": "object", "additionalProperties": False, "properties": {}}
        return {
            "description": "Counts lines.",
            "parameters_schema": schema,
            "inputs": ["text"],
            "outputs": ["lines.csv"],
        }

    def validate_job(self, input_path: Path, parameters: dict[str, Any]) -> None:
        """Refuse an empty input."""
        if input_path.stat().st_size == 0:
            raise WorkloadError("InputInvalid", "the input is empty")

    def plan(self, input_path: Path, parameters: dict[str, Any], workspace: Path) -> list[TaskPlan]:
        """Cut the lines in two."""
        lines = input_path.read_bytes().splitlines(keepends=True)
        middle, tasks = (len(lines) + 1) // 2, []
        for n, part in enumerate((lines[:middle], lines[middle:])):
            shard = workspace / f"half-{n}.txt"
            shard.write_bytes(b"".join(part))
            tasks.append(TaskPlan(n, shard))
        return tasks

    def execute_task(self, task: TaskPlan, workspace: Path) -> RunResult:
        """Count the lines of one half."""
        count = workspace / "count.txt"
        count.write_text(str(len(task.input.read_bytes().splitlines())))
        return RunResult(count)

    def reduce(self, partial_results: list[Path], parameters: dict[str, Any], workspace: Path) -> FinalResult:
        """Add both up."""
        total = sum(int(path.read_text()) for path in partial_results)
        final = workspace / "lines.csv"
        final.write_text(f"lines\r\n{total}\r\n", newline="")
        return FinalResult(final, rows=1, rows_read=total)
