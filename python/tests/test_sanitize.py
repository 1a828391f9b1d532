"""No token, path, URL, quoted input or control character leaves the machine."""

import pytest

from scimesh_worker.errors import Failure
from scimesh_worker.sanitize import Sanitizer
from scimesh_worker.workloads.base import WorkloadError


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("cannot open /var/lib/scimesh/input: no", "cannot open [path]: no"),
        ("C:\\Users\\me\\x is gone", "[path] is gone"),
        ("F/C=C/F is no path", "F/C=C/F is no path"),
        ("GET https://u:p@host:8/a?sig=1 failed", "GET https://host:8 failed"),
        ("token s3cret!", "token [redacted]!"),
        ("two\nlines\x07", "two lines"),
    ],
)
def test_line(text: str, want: str) -> None:
    assert Sanitizer("s3cret").line(text) == want


def test_line_is_cut_between_characters() -> None:
    cut = Sanitizer().line("é" * 1000, 100)
    assert len(cut.encode()) <= 100
    assert cut.endswith("é…")


def test_failures_of_workloads_are_told_apart() -> None:
    clean = Sanitizer()
    assert (
        str(clean.failure(WorkloadError("InputInvalid", "a column is missing"))) == "InputInvalid: a column is missing"
    )
    assert not clean.failure(WorkloadError("InputInvalid", "")).retryable
    unexpected = clean.failure(KeyError("CHEMBL25 CC(=O)Oc1ccccc1C(=O)O"))
    assert (unexpected.code, unexpected.message, unexpected.retryable) == ("ExecutionError", 'KeyError: "…"', True)
    assert clean.failure(Failure("X", "in /tmp/x", False)).message == "in [path]"
