"""HTTP with one rule: the token goes to the coordinator's origin and nowhere else."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urljoin, urlsplit

import httpx

from scimesh_worker.errors import CallError
from scimesh_worker.sanitize import Sanitizer

_MAX_REDIRECTS = 5
_MAX_ERROR_BODY = 64 << 10
CONNECT_TIMEOUT = 10.0
ANSWER_TIMEOUT = 30.0
_DEFAULT_PORTS = {"http": 80, "https": 443}

Origin = tuple[str, str, int | None]


def origin(url: str) -> Origin:
    """Return scheme, host and port: what a token may be sent to (RFC 6454)."""
    parts = urlsplit(url)
    return parts.scheme, (parts.hostname or "").lower(), parts.port or _DEFAULT_PORTS.get(parts.scheme)


class Transport:
    """Sends requests to the coordinator, and downloads from where it says."""

    def __init__(self, base_url: str, token: str, clean: Sanitizer, connections: int) -> None:
        self.base_url = base_url.rstrip("/")
        self.home = origin(self.base_url)
        self._clean = clean
        self._limits = httpx.Limits(max_connections=None, max_keepalive_connections=connections)
        self._token = token
        self._clients: list[httpx.Client] = []
        self._files = self.client(ANSWER_TIMEOUT)
        self._foreign = self._new({}, {}, ANSWER_TIMEOUT)

    def client(self, read_timeout: float) -> httpx.Client:
        """Return a client of the coordinator that raises a CallError for every answer but a success."""
        return self._new(
            {"Authorization": f"Bearer {self._token}"}, {"response": [self._raise_for_status]}, read_timeout
        )

    def _new(self, headers: dict[str, str], hooks: dict[str, list[Any]], read_timeout: float) -> httpx.Client:
        client = httpx.Client(
            base_url=self.base_url,
            # Bodies come as they are: ranges and digests are those of the file.
            headers={"Accept-Encoding": "identity", **headers},
            event_hooks=hooks,
            follow_redirects=False,
            timeout=httpx.Timeout(read_timeout, connect=CONNECT_TIMEOUT, write=ANSWER_TIMEOUT),
            limits=self._limits,
        )
        self._clients.append(client)
        return client

    def close(self) -> None:
        """End all connections."""
        for client in self._clients:
            client.close()

    def _raise_for_status(self, response: httpx.Response) -> None:
        """Make an error of an answer of the coordinator that is not a success."""
        request = response.request
        if response.status_code < 300 or request.extensions.get("download"):
            return
        raise self.status_error(request.method, response)

    def status_error(self, operation: str, response: httpx.Response) -> CallError:
        """Return the error of an answer. Its body may be of any shape: a proxy may have written it."""
        text = f"status {response.status_code}"
        try:
            body = b""
            for chunk in response.iter_bytes():
                body += chunk
                if len(body) > _MAX_ERROR_BODY:
                    break
            error = httpx.Response(200, content=body).json()["error"]
            text += self._clean.line(f" {error['code']}: {error['message']}")
        except (httpx.HTTPError, ValueError, KeyError, TypeError):
            pass
        request_id = self._clean.line(response.headers.get("X-Request-ID", ""), 128)
        return CallError(
            operation, response.status_code, text, retry_after=_retry_after(response), request_id=request_id
        )

    @contextmanager
    def download(
        self, url: str, headers: dict[str, str], identity: dict[str, str]
    ) -> Iterator[tuple[httpx.Response, bool]]:
        """Open url, following redirects; tell whether the answer is the coordinator's own.

        The token and the headers of identity go along only while every request of
        the chain is to the coordinator: one that another origin sent back gets none.
        """
        trusted = True
        for _ in range(_MAX_REDIRECTS + 1):
            if urlsplit(url).scheme not in _DEFAULT_PORTS or not urlsplit(url).hostname:
                raise httpx.UnsupportedProtocol("the URL is neither http nor https")
            own = origin(url) == self.home
            trusted = trusted and own
            client = self._files if trusted else self._foreign
            request = client.build_request("GET", url, headers={**headers, **identity} if trusted else headers)
            request.extensions["download"] = True
            response = client.send(request, stream=True)
            try:
                if response.status_code not in (301, 302, 303, 307, 308):
                    yield response, own
                    return
                url = urljoin(url, response.headers.get("Location", ""))
            finally:
                response.close()
        raise httpx.TooManyRedirects("too many redirects")


def _retry_after(response: httpx.Response) -> float:
    """Read Retry-After in either form, the date by the server's own clock."""
    value = response.headers.get("Retry-After", "")
    if value.isdigit():
        return float(value[:6])
    try:
        at = parsedate_to_datetime(value)
        return max(0.0, (at - parsedate_to_datetime(response.headers.get("Date", ""))).total_seconds())
    except (TypeError, ValueError):
        return 0.0
