"""The calls that a worker makes, over the client generated from api/openapi.yaml.

Files are streamed here; all else is the generated client's.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote, urljoin, urlsplit
from uuid import UUID

import httpx

from scimesh_worker.client.api.worker import (
    claim_task,
    complete_task,
    fail_task,
    heartbeat_task,
    register_worker,
    release_task,
)
from scimesh_worker.client.client import AuthenticatedClient
from scimesh_worker.client.models.claim_request import ClaimRequest
from scimesh_worker.client.models.claimed_task import ClaimedTask
from scimesh_worker.client.models.failure_request import FailureRequest
from scimesh_worker.client.models.heartbeat_request import HeartbeatRequest
from scimesh_worker.client.models.heartbeat_response import HeartbeatResponse
from scimesh_worker.client.models.metrics import Metrics
from scimesh_worker.client.models.register_request import RegisterRequest
from scimesh_worker.client.models.register_response import RegisterResponse
from scimesh_worker.client.models.release_request import ReleaseRequest
from scimesh_worker.client.models.result_manifest import ResultManifest
from scimesh_worker.client.models.result_request import ResultRequest
from scimesh_worker.client.types import UNSET, Response, Unset
from scimesh_worker.errors import BeyondEnd, CallError, Failure, InputError
from scimesh_worker.sanitize import Sanitizer
from scimesh_worker.transport import ANSWER_TIMEOUT, Transport, origin

T = TypeVar("T")

HEARTBEAT_TIMEOUT = 10.0
# _UPLOAD_TIMEOUT is longer than others: after the last byte the coordinator makes the file durable.
_UPLOAD_TIMEOUT = 120.0
# _LONGEST_TTL bounds what is believed of a lease: more can only come from clocks that disagree.
_LONGEST_TTL = 24 * 3600.0
_CHUNK = 256 << 10


@dataclass(frozen=True)
class Lease:
    """Names an attempt. Every change of a task carries it."""

    worker_id: str
    task_id: str
    attempt: int


@dataclass(frozen=True)
class Assignment:
    """A claimed task. ttl is what is left of the lease in seconds, 0 if unknown; so is input_size in bytes."""

    lease: Lease
    ttl: float
    workload: str
    input_uri: str
    input_sha256: str
    input_size: int
    parameters: dict[str, Any]


@dataclass(frozen=True)
class Renewal:
    """The answer to a heartbeat."""

    ttl: float
    cancel: bool


@dataclass(frozen=True)
class Artifact:
    """A file that the coordinator has taken."""

    artifact_id: str
    uri: str
    sha256: str


@dataclass(frozen=True)
class Body:
    """An input being read: from which byte, of how many (-1 if unknown)."""

    chunks: Iterator[bytes]
    offset: int
    size: int
    etag: str


class Coordinator:
    """The coordinator behind a URL."""

    def __init__(self, transport: Transport, clean: Sanitizer, claim_wait: int) -> None:
        self._transport = transport
        self._clean = clean
        self._claim_wait = claim_wait
        self._api = self._generated(ANSWER_TIMEOUT)
        self._claims = self._generated(ANSWER_TIMEOUT + claim_wait)
        self._beats = self._generated(HEARTBEAT_TIMEOUT)
        self._uploads = transport.client(_UPLOAD_TIMEOUT)

    def _generated(self, read_timeout: float) -> AuthenticatedClient:
        api = AuthenticatedClient(base_url=self._transport.base_url, token="")  # the transport adds it
        api.set_httpx_client(self._transport.client(read_timeout))
        return api

    def register(self, request: RegisterRequest) -> RegisterResponse:
        """Announce the worker. The id of the answer counts."""
        return self._parsed(
            "register", RegisterResponse, lambda: register_worker.sync_detailed(client=self._api, body=request)
        )[0]

    def claim(self, worker_id: str, capabilities: list[str], max_concurrency: int) -> Assignment | None:
        """Ask for one task, waiting for it; None if there is none."""
        body = ClaimRequest(UUID(worker_id), capabilities, max_concurrency, self._claim_wait)
        answer = self._call("claim", lambda: claim_task.sync_detailed(client=self._claims, body=body))
        if answer.status_code == 204:
            return None
        task, headers = self._body("claim", ClaimedTask, answer)
        return Assignment(
            lease=Lease(worker_id, str(task.task_id), task.attempt),
            ttl=_lease_ttl(task.lease_seconds, task.lease_expires_at, headers),
            workload=task.workload,
            input_uri=task.input_.uri,
            input_sha256=task.input_.sha256,
            input_size=task.input_.size_bytes or 0,
            parameters=task.parameters.to_dict(),
        )

    def heartbeat(self, lease: Lease, progress: float | None) -> Renewal:
        """Renew a lease."""
        body = HeartbeatRequest(UUID(lease.worker_id), lease.attempt, UNSET if progress is None else progress)
        answer, headers = self._parsed(
            "heartbeat",
            HeartbeatResponse,
            lambda: heartbeat_task.sync_detailed(UUID(lease.task_id), client=self._beats, body=body),
        )
        return Renewal(_lease_ttl(answer.lease_seconds, answer.lease_expires_at, headers), bool(answer.cancel))

    def complete(self, lease: Lease, artifact: Artifact, content_type: str, metrics: dict[str, Any]) -> None:
        """End an attempt with its artifact. The same manifest again succeeds."""
        manifest = ResultManifest(UUID(artifact.artifact_id), artifact.uri, artifact.sha256, content_type)
        body = ResultRequest(UUID(lease.worker_id), lease.attempt, manifest, Metrics.from_dict(metrics))
        self._call("complete", lambda: complete_task.sync_detailed(UUID(lease.task_id), client=self._api, body=body))

    def fail(self, lease: Lease, failure: Failure) -> None:
        """End an attempt that failed."""
        body = FailureRequest(UUID(lease.worker_id), lease.attempt, failure.code, failure.message, failure.retryable)
        self._call("fail", lambda: fail_task.sync_detailed(UUID(lease.task_id), client=self._api, body=body))

    def release(self, lease: Lease) -> None:
        """Hand a task back; it costs no attempt."""
        body = ReleaseRequest(UUID(lease.worker_id), lease.attempt)
        self._call("release", lambda: release_task.sync_detailed(UUID(lease.task_id), client=self._beats, body=body))

    def append_log(self, lease: Lease, seq: int, body: bytes, final: bool) -> None:
        """Add one chunk to the attempt's log. The same chunk again succeeds."""
        headers = {**_identity(lease), "X-Log-Final": str(final).lower(), "Content-Type": "text/plain; charset=utf-8"}
        path = f"/tasks/{lease.task_id}/logs/{seq}"
        client = self._beats.get_httpx_client()
        self._call("append_log", lambda: client.put(path, content=body, headers=headers))

    def upload(self, lease: Lease, filename: str, content_type: str, path: Path, sha256: str) -> Artifact:
        """Stream the result file of an attempt."""
        with path.open("rb") as file:
            headers = {
                **_identity(lease),
                "Content-Type": content_type,
                "Content-Length": str(path.stat().st_size),
                "X-Content-SHA256": sha256,
            }
            url = f"/tasks/{lease.task_id}/artifacts/{quote(filename)}"
            pieces = iter(lambda: file.read(_CHUNK), b"")
            answer = self._call("upload", lambda: self._uploads.put(url, content=pieces, headers=headers))
        try:
            fields = answer.json()
            return Artifact(str(UUID(fields["artifact_id"])), str(fields["uri"]), str(fields["sha256"]))
        except (ValueError, KeyError, TypeError) as e:
            raise self._strange("upload") from e

    @contextmanager
    def download(self, lease: Lease, uri: str, offset: int, etag: str) -> Iterator[Body]:
        """Open an input from byte offset on; the server may begin anew."""
        url = urljoin(self._transport.base_url + "/", uri)
        # The coordinator may call itself by another name than this worker does.
        # Nobody else can have named the task's id in a URI.
        own_path = f"/tasks/{lease.task_id}/input"
        if urlsplit(url).path.endswith(own_path):
            url = self._transport.base_url + own_path
        headers = {}
        if offset:
            headers["Range"] = f"bytes={offset}-"
            if etag and not etag.startswith("W/"):
                headers["If-Range"] = etag
        asked_own = origin(url) == self._transport.home
        try:
            with self._transport.download(url, headers, _identity(lease)) as (response, own):
                yield self._opened(response, offset, own, asked_own)
        except (httpx.UnsupportedProtocol, httpx.InvalidURL, ValueError) as e:
            raise InputError("download: the input's URI cannot be used", transient=False) from e
        except httpx.HTTPError as e:
            if asked_own:
                raise self._unanswered("download", e) from e
            raise InputError(self._clean.line(f"download from {_host(url)}: {e}"), transient=True) from e

    def _opened(self, response: httpx.Response, offset: int, own: bool, asked_own: bool) -> Body:
        etag, length = response.headers.get("ETag", ""), response.headers.get("Content-Length", "")
        content_range = response.headers.get("Content-Range", "")
        if response.status_code == 200:
            return Body(response.iter_bytes(), 0, int(length) if length.isdigit() else -1, etag)
        if response.status_code == 206 and (m := re.fullmatch(r"bytes (\d+)-\d+/(\d+|\*)", content_range)):
            return Body(response.iter_bytes(), int(m[1]), -1 if m[2] == "*" else int(m[2]), etag)
        if response.status_code == 416 and content_range == f"bytes */{offset}":
            return Body(iter(()), offset, offset, etag)  # all bytes had come when the connection broke
        error = self._transport.status_error("download", response)
        if response.status_code == 416:
            raise BeyondEnd("asked for bytes behind the end of the input")
        if own:
            raise error
        # Behind a redirect the coordinator may give another address the next time.
        raise InputError(
            f"download from {_host(str(response.url))}: status {error.status}",
            transient=asked_own or error.unavailable,
            retry_after=error.retry_after,
        )

    def _call(self, operation: str, send: Callable[[], T]) -> T:
        try:
            return send()
        except CallError as e:
            raise CallError(operation, e.status, e.text, retry_after=e.retry_after, request_id=e.request_id) from None
        except httpx.HTTPError as e:
            raise self._unanswered(operation, e) from None
        except (ValueError, KeyError, TypeError, AttributeError):
            raise self._strange(operation) from None

    def _parsed(self, operation: str, kind: type[T], send: Callable[[], Response[Any]]) -> tuple[T, httpx.Headers]:
        return self._body(operation, kind, self._call(operation, send))

    def _body(self, operation: str, kind: type[T], answer: Response[Any]) -> tuple[T, httpx.Headers]:
        if not isinstance(answer.parsed, kind):
            raise self._strange(operation)
        return answer.parsed, httpx.Headers(dict(answer.headers))

    def _unanswered(self, operation: str, error: Exception) -> CallError:
        return CallError(operation, 0, self._clean.line(f"{type(error).__name__}: {error}"))

    def _strange(self, operation: str) -> CallError:
        return CallError(operation, 0, "the answer is not what a coordinator sends")


def _identity(lease: Lease) -> dict[str, str]:
    return {"X-Worker-ID": lease.worker_id, "X-Task-Attempt": str(lease.attempt)}


def _host(url: str) -> str:
    return urlsplit(url).hostname or ""


def _lease_ttl(seconds: float | Unset, expires: datetime.datetime, headers: httpx.Headers) -> float:
    """Return how long a lease lasts, in seconds; 0 if the answer does not tell.

    It is what the answer says, or else the time to its end by the server's own
    clock, so that this machine's does not matter. Date has no fraction: up to a
    second of the difference is not there.
    """
    if not isinstance(seconds, Unset) and 0 < seconds <= _LONGEST_TTL:
        return float(seconds)
    try:
        ttl = (expires - parsedate_to_datetime(headers.get("Date", ""))).total_seconds()
    except (TypeError, ValueError):
        return 0.0
    return ttl - min(1.0, ttl / 3) if 0 < ttl <= _LONGEST_TTL else 0.0


def lease_fields(lease: Lease) -> dict[str, Any]:
    """Return a lease as fields of a log entry or a state file."""
    return asdict(lease)
