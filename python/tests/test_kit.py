"""The examples pass the kit, and the kit finds what is wrong."""

from pathlib import Path

import pytest

from scimesh_worker.kit import main

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.mark.parametrize("name", ["two-shard", "descriptor-table"])
def test_the_examples_may_be_distributed(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["test", str(EXAMPLES / name)]) == 0, capsys.readouterr().out


@pytest.mark.parametrize(
    ("old", "new", "broken"),
    [
        ('"description": "Counts lines."', '"description": ""', "it describes itself"),
        ("TaskPlan(n, shard)", 'TaskPlan(n, shard, {"at": str(shard)})', "its plan is the same"),
        ("TaskPlan(n, shard)", "TaskPlan(n + 1, shard)", "distributed equals local"),
        ("write_text(str(len(", "write_text(str(id(task) + len(", "a task that is tried again"),
        ('raise WorkloadError("InputInvalid", "the input is empty")', "raise KeyError", "errors are for users"),
        ("(len(lines) + 1) // 2", '(len(lines) + 1) // min(2, parameters["sharding_rows"])', ""),
    ],
)
def test_a_broken_workload_is_found(
    old: str, new: str, broken: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "example").mkdir()
    source = (EXAMPLES / "two-shard" / "two_shard.py").read_text()
    assert old in source
    module = f"broken_{tmp_path.name.strip('0123456789')}_{abs(hash(new))}"
    (tmp_path / f"{module}.py").write_text(source.replace(old, new))
    project = (EXAMPLES / "two-shard" / "pyproject.toml").read_text()
    (tmp_path / "pyproject.toml").write_text(project.replace("two_shard:", f"{module}:"))
    for name in ("input.txt", "parameters.json"):
        (tmp_path / "example" / name).write_text((EXAMPLES / "two-shard" / "example" / name).read_text())
    assert main(["test", str(tmp_path)]) == (1 if broken else 0)
    if broken:
        assert f"FAIL  two-shard: {broken}" in capsys.readouterr().out
