"""Settings: every fault at once, exit status 2, and no token anywhere."""

from pathlib import Path

import pytest

from scimesh_worker.cli import main
from scimesh_worker.config import seconds

TOKEN = "not-to-be-seen"


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCIMESH_TOKEN", TOKEN)
    monkeypatch.setenv("SCIMESH_COORDINATOR_URL", "http://127.0.0.1:1")


@pytest.mark.parametrize(
    ("flags", "want"),
    [
        ([], "--work-dir is required"),
        (["--coordinator-url", "ftp://x"], "must be an http or https URL"),
        (["--coordinator-url", "http://u:p@x"], "must not hold credentials"),
        (["--concurrency", "0"], "--concurrency must be at least 1"),
        (["--concurrency", "two"], "--concurrency must be a whole number"),
        (["--claim-wait", "1.5s"], "--claim-wait must be whole seconds"),
        (["--poll-interval", "soon"], "is no duration"),
        (["--token-file", "/nowhere"], "the token file cannot be read"),
        (["--workloads", "rocket-science", "--work-dir", "WORK"], "the workloads cannot be loaded"),
    ],
)
def test_invalid_configuration(flags: list[str], want: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path) if f == "WORK" else f for f in flags]) == 2
    err = capsys.readouterr().err
    assert want in err
    assert TOKEN not in err


def test_help_names_every_setting(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["--help"])
    assert end.value.code == 0
    text = capsys.readouterr().out
    assert TOKEN not in text
    for name in (
        "COORDINATOR_URL",
        "WORKER_NAME",
        "TOKEN",
        "POLL_INTERVAL",
        "WORK_DIR",
        "CONCURRENCY",
        "ONCE",
        "MAX_TASKS",
        "KEEP_WORK",
        "ROW_TIMEOUT",
        "TASK_TIMEOUT",
        "TASK_MEMORY_MB",
    ):
        assert f"SCIMESH_{name}" in text


def test_durations() -> None:
    assert [seconds(t) for t in ("500ms", "20s", "1m30s", "2h", "3", "0.5")] == [0.5, 20, 90, 7200, 3, 0.5]
