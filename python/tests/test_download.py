"""Inputs: resumed, verified, and fetched without giving the token away."""

from __future__ import annotations

import hashlib
import threading
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from servers import answer, serving

from scimesh_worker.coordinator import Assignment, Coordinator, Lease
from scimesh_worker.errors import Failure, LeaseLost
from scimesh_worker.fetch import fetch
from scimesh_worker.logs import Log
from scimesh_worker.sanitize import Sanitizer
from scimesh_worker.transport import Transport
from scimesh_worker.workdir import TaskFolder, WorkDir

TOKEN = "secret-token"
LEASE = Lease("0190b2a4-0000-7000-8000-000000000001", "0190b2a4-0000-7000-8000-000000000002", 1)
DATA = bytes(range(256)) * 4000


def fetch_from(url: str, tmp_path: Path, uri: str, data: bytes = DATA) -> TaskFolder:
    clean = Sanitizer(TOKEN)
    coordinator = Coordinator(Transport(url, TOKEN, clean, 2), clean, 0)
    digest = hashlib.sha256(data).hexdigest()
    folder = TaskFolder.create(WorkDir(tmp_path), Assignment(LEASE, 30.0, "w", uri, digest, 0, {}))
    fetch(coordinator, folder, threading.Event(), Log("error"))
    return folder


def test_a_broken_download_goes_on_where_it_broke(tmp_path: Path) -> None:
    ranges: list[str | None] = []

    def handle(h: BaseHTTPRequestHandler) -> None:
        ranges.append(h.headers["Range"])
        start = int((h.headers["Range"] or "bytes=0-")[6:-1])
        if len(ranges) < 3:
            answer(
                h,
                206 if start else 200,
                DATA[start : start + 300_000],
                ETag='"e"',
                Content_Length=str(len(DATA) - start),
                Content_Range=f"bytes {start}-{len(DATA) - 1}/{len(DATA)}",
            )
            h.close_connection = True
            return
        assert h.headers["If-Range"] == '"e"'
        answer(h, 206, DATA[start:], ETag='"e"', Content_Range=f"bytes {start}-{len(DATA) - 1}/{len(DATA)}")

    with serving(handle) as url:
        folder = fetch_from(url, tmp_path, f"{url}/tasks/{LEASE.task_id}/input")
    assert folder.input.read_bytes() == DATA
    assert ranges == [None, "bytes=300000-", "bytes=600000-"]


def test_a_wrong_checksum_is_a_failure_after_one_more_try_of_joined_pieces(tmp_path: Path) -> None:
    with (
        serving(lambda h: answer(h, 200, b"other bytes")) as url,
        pytest.raises(Failure, match="InputChecksumMismatch"),
    ):
        fetch_from(url, tmp_path, f"{url}/tasks/{LEASE.task_id}/input")


def test_a_conflict_means_that_the_lease_is_lost(tmp_path: Path) -> None:
    with serving(lambda h: answer(h, 409)) as url, pytest.raises(LeaseLost):
        fetch_from(url, tmp_path, f"{url}/tasks/{LEASE.task_id}/input")


def test_the_token_stays_at_its_origin(tmp_path: Path) -> None:
    seen: list[tuple[str, str | None, str | None]] = []
    home = ""

    def foreign(h: BaseHTTPRequestHandler) -> None:
        seen.append(("foreign", h.headers["Authorization"], h.headers["X-Worker-ID"]))
        answer(h, 302, Location=f"{home}/back")

    with serving(foreign) as other:

        def coordinator(h: BaseHTTPRequestHandler) -> None:
            seen.append((h.path, h.headers["Authorization"], h.headers["X-Worker-ID"]))
            if h.path == "/back":
                answer(h, 200, DATA)
            else:
                answer(h, 307, Location=f"{other}/elsewhere?signature=x")

        with serving(coordinator) as url:
            home = url
            folder = fetch_from(url, tmp_path, f"https://public.example/tasks/{LEASE.task_id}/input")
    assert folder.input.read_bytes() == DATA
    # The request that the other origin sent back gets no token either.
    assert seen == [
        (f"/tasks/{LEASE.task_id}/input", f"Bearer {TOKEN}", LEASE.worker_id),
        ("foreign", None, None),
        ("/back", None, None),
    ]
