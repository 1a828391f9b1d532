from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar
from uuid import UUID

from attrs import define as _attrs_define

from ..types import UNSET, Unset

T = TypeVar("T", bound="FailureRequest")


@_attrs_define
class FailureRequest:
    """
    Attributes:
        worker_id (UUID):
        attempt (int):
        error_code (str):
        error_message (str):
        retryable (bool | Unset): False if another attempt would fail alike. Default: True.
    """

    worker_id: UUID
    attempt: int
    error_code: str
    error_message: str
    retryable: bool | Unset = True

    def to_dict(self) -> dict[str, Any]:
        worker_id = str(self.worker_id)

        attempt = self.attempt

        error_code = self.error_code

        error_message = self.error_message

        retryable = self.retryable

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "worker_id": worker_id,
                "attempt": attempt,
                "error_code": error_code,
                "error_message": error_message,
            }
        )
        if retryable is not UNSET:
            field_dict["retryable"] = retryable

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        worker_id = UUID(d.pop("worker_id"))

        attempt = d.pop("attempt")

        error_code = d.pop("error_code")

        error_message = d.pop("error_message")

        retryable = d.pop("retryable", UNSET)

        failure_request = cls(
            worker_id=worker_id,
            attempt=attempt,
            error_code=error_code,
            error_message=error_message,
            retryable=retryable,
        )

        return failure_request
