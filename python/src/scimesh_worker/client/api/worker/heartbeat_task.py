from http import HTTPStatus
from typing import Any
from urllib.parse import quote
from uuid import UUID

import httpx

from ... import errors
from ...client import AuthenticatedClient, Client
from ...models.error_response import ErrorResponse
from ...models.heartbeat_request import HeartbeatRequest
from ...models.heartbeat_response import HeartbeatResponse
from ...types import Response


def _get_kwargs(
    task_id: UUID,
    *,
    body: HeartbeatRequest,
) -> dict[str, Any]:
    headers: dict[str, Any] = {}

    _kwargs: dict[str, Any] = {
        "method": "post",
        "url": "/tasks/{task_id}/heartbeat".format(
            task_id=quote(str(task_id), safe=""),
        ),
    }

    _kwargs["json"] = body.to_dict()

    headers["Content-Type"] = "application/json"

    _kwargs["headers"] = headers
    return _kwargs


def _parse_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> ErrorResponse | HeartbeatResponse | None:
    if response.status_code == 200:
        response_200 = HeartbeatResponse.from_dict(response.json())

        return response_200

    if response.status_code == 400:
        response_400 = ErrorResponse.from_dict(response.json())

        return response_400

    if response.status_code == 401:
        response_401 = ErrorResponse.from_dict(response.json())

        return response_401

    if response.status_code == 403:
        response_403 = ErrorResponse.from_dict(response.json())

        return response_403

    if response.status_code == 404:
        response_404 = ErrorResponse.from_dict(response.json())

        return response_404

    if response.status_code == 408:
        response_408 = ErrorResponse.from_dict(response.json())

        return response_408

    if response.status_code == 409:
        response_409 = ErrorResponse.from_dict(response.json())

        return response_409

    if response.status_code == 413:
        response_413 = ErrorResponse.from_dict(response.json())

        return response_413

    if response.status_code == 415:
        response_415 = ErrorResponse.from_dict(response.json())

        return response_415

    if response.status_code == 429:
        response_429 = ErrorResponse.from_dict(response.json())

        return response_429

    if response.status_code == 500:
        response_500 = ErrorResponse.from_dict(response.json())

        return response_500

    if response.status_code == 503:
        response_503 = ErrorResponse.from_dict(response.json())

        return response_503

    if client.raise_on_unexpected_status:
        raise errors.UnexpectedStatus(response.status_code, response.content)
    else:
        return None


def _build_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> Response[ErrorResponse | HeartbeatResponse]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    task_id: UUID,
    *,
    client: AuthenticatedClient,
    body: HeartbeatRequest,
) -> Response[ErrorResponse | HeartbeatResponse]:
    """Renew a lease

     Renews the lease and, the first time, moves the task from `leased` to `running`. The next heartbeat
    is due
    before half of the time left has passed. `cancel` asks the worker to stop the task and hand it back.
    A lease
    that has expired cannot be renewed.

    Args:
        task_id (UUID):
        body (HeartbeatRequest):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[ErrorResponse | HeartbeatResponse]
    """

    kwargs = _get_kwargs(
        task_id=task_id,
        body=body,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    task_id: UUID,
    *,
    client: AuthenticatedClient,
    body: HeartbeatRequest,
) -> ErrorResponse | HeartbeatResponse | None:
    """Renew a lease

     Renews the lease and, the first time, moves the task from `leased` to `running`. The next heartbeat
    is due
    before half of the time left has passed. `cancel` asks the worker to stop the task and hand it back.
    A lease
    that has expired cannot be renewed.

    Args:
        task_id (UUID):
        body (HeartbeatRequest):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        ErrorResponse | HeartbeatResponse
    """

    return sync_detailed(
        task_id=task_id,
        client=client,
        body=body,
    ).parsed


async def asyncio_detailed(
    task_id: UUID,
    *,
    client: AuthenticatedClient,
    body: HeartbeatRequest,
) -> Response[ErrorResponse | HeartbeatResponse]:
    """Renew a lease

     Renews the lease and, the first time, moves the task from `leased` to `running`. The next heartbeat
    is due
    before half of the time left has passed. `cancel` asks the worker to stop the task and hand it back.
    A lease
    that has expired cannot be renewed.

    Args:
        task_id (UUID):
        body (HeartbeatRequest):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[ErrorResponse | HeartbeatResponse]
    """

    kwargs = _get_kwargs(
        task_id=task_id,
        body=body,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    task_id: UUID,
    *,
    client: AuthenticatedClient,
    body: HeartbeatRequest,
) -> ErrorResponse | HeartbeatResponse | None:
    """Renew a lease

     Renews the lease and, the first time, moves the task from `leased` to `running`. The next heartbeat
    is due
    before half of the time left has passed. `cancel` asks the worker to stop the task and hand it back.
    A lease
    that has expired cannot be renewed.

    Args:
        task_id (UUID):
        body (HeartbeatRequest):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        ErrorResponse | HeartbeatResponse
    """

    return (
        await asyncio_detailed(
            task_id=task_id,
            client=client,
            body=body,
        )
    ).parsed
