from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar
from uuid import UUID

from attrs import define as _attrs_define

from ..types import UNSET, Unset

T = TypeVar("T", bound="HeartbeatRequest")


@_attrs_define
class HeartbeatRequest:
    """
    Attributes:
        worker_id (UUID):
        attempt (int):
        progress (float | Unset): Share of the task that is done.
    """

    worker_id: UUID
    attempt: int
    progress: float | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        worker_id = str(self.worker_id)

        attempt = self.attempt

        progress = self.progress

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "worker_id": worker_id,
                "attempt": attempt,
            }
        )
        if progress is not UNSET:
            field_dict["progress"] = progress

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        worker_id = UUID(d.pop("worker_id"))

        attempt = d.pop("attempt")

        progress = d.pop("progress", UNSET)

        heartbeat_request = cls(
            worker_id=worker_id,
            attempt=attempt,
            progress=progress,
        )

        return heartbeat_request
