from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar, cast
from uuid import UUID

from attrs import define as _attrs_define

from ..types import UNSET, Unset

T = TypeVar("T", bound="ClaimRequest")


@_attrs_define
class ClaimRequest:
    """
    Attributes:
        worker_id (UUID):
        capabilities (list[str]): Workloads wanted; those that were not registered are ignored.
        max_concurrency (int | Unset):  Default: 1.
        wait_seconds (int | Unset): How long to wait for a task. Default: 0.
        cached_inputs (list[str] | Unset): Inputs that the worker holds: a hint that a coordinator is free to leave
            unused, as this one does.
    """

    worker_id: UUID
    capabilities: list[str]
    max_concurrency: int | Unset = 1
    wait_seconds: int | Unset = 0
    cached_inputs: list[str] | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        worker_id = str(self.worker_id)

        capabilities = self.capabilities

        max_concurrency = self.max_concurrency

        wait_seconds = self.wait_seconds

        cached_inputs: list[str] | Unset = UNSET
        if not isinstance(self.cached_inputs, Unset):
            cached_inputs = self.cached_inputs

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "worker_id": worker_id,
                "capabilities": capabilities,
            }
        )
        if max_concurrency is not UNSET:
            field_dict["max_concurrency"] = max_concurrency
        if wait_seconds is not UNSET:
            field_dict["wait_seconds"] = wait_seconds
        if cached_inputs is not UNSET:
            field_dict["cached_inputs"] = cached_inputs

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        worker_id = UUID(d.pop("worker_id"))

        capabilities = cast(list[str], d.pop("capabilities"))

        max_concurrency = d.pop("max_concurrency", UNSET)

        wait_seconds = d.pop("wait_seconds", UNSET)

        cached_inputs = cast(list[str], d.pop("cached_inputs", UNSET))

        claim_request = cls(
            worker_id=worker_id,
            capabilities=capabilities,
            max_concurrency=max_concurrency,
            wait_seconds=wait_seconds,
            cached_inputs=cached_inputs,
        )

        return claim_request
