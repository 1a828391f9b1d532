from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar
from uuid import UUID

from attrs import define as _attrs_define

T = TypeVar("T", bound="ReleaseRequest")


@_attrs_define
class ReleaseRequest:
    """
    Attributes:
        worker_id (UUID):
        attempt (int):
    """

    worker_id: UUID
    attempt: int

    def to_dict(self) -> dict[str, Any]:
        worker_id = str(self.worker_id)

        attempt = self.attempt

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "worker_id": worker_id,
                "attempt": attempt,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        worker_id = UUID(d.pop("worker_id"))

        attempt = d.pop("attempt")

        release_request = cls(
            worker_id=worker_id,
            attempt=attempt,
        )

        return release_request
