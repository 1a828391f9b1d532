"""A molecule that kills or stalls the engine costs its row alone."""

from pathlib import Path

import pytest

from scimesh_worker.workloads.base import WorkloadError
from scimesh_worker.workloads.rows import EngineBroken, RowEngine


@pytest.fixture(autouse=True)
def _modules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))


def ask(rows: list[bytes]) -> list[str | int]:
    with RowEngine(b"Q", 0.5, "fake_engine") as engine:
        return [a.reject or a.union for a in engine.answers(rows)]


def test_rows_at_fault_are_rejected_and_the_others_answered() -> None:
    rows = [b"C", b"kill", b"CC", b"bad", b"stall", b"CCC", b"kill", b"kill", b"CCCC"]
    assert ask(rows) == [1, "EngineFailed", 2, "InvalidSMILES", "RowTimeout", 3, "EngineFailed", "EngineFailed", 4]


def test_a_row_that_succeeds_alone_is_not_at_fault(tmp_path: Path) -> None:
    row = b"once:" + str(tmp_path / "marker").encode()
    assert ask([b"C", row, b"CC"]) == [1, len(row), 2]


def test_an_engine_that_fails_at_every_row_is_the_machines_fault() -> None:
    with pytest.raises(EngineBroken):
        ask([b"kill"] * 40)


def test_rdkit_is_stopped_within_its_c_code() -> None:
    with RowEngine(b"CCO", 1.0) as engine:
        answers = list(engine.answers([b"CCO", b"C" * 100_000, b"OCC", b"C1CC", b""]))
    assert [a.reject for a in answers] == ["", "RowTimeout", "", "InvalidSMILES", ""]
    assert [a.is_query for a in answers] == [True, False, True, False, False]


def test_a_query_that_rdkit_refuses_is_the_users_fault() -> None:
    with pytest.raises(WorkloadError, match="QueryInvalid"), RowEngine(b"C1CC", 1.0):
        pass
