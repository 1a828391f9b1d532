from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar, cast
from uuid import UUID

from attrs import define as _attrs_define

from ..types import UNSET, Unset

T = TypeVar("T", bound="RegisterRequest")


@_attrs_define
class RegisterRequest:
    """
    Attributes:
        name (str): For people; need not be unique.
        capabilities (list[str]): Workloads that it can compute.
        cpu_count (int):
        memory_mb (int):
        worker_id (UUID | Unset): The id that this worker was given before; it stays the same worker.
        engine (str | Unset): What computes: a Job keeps to one engine unless two are known to agree bit for bit.
    """

    name: str
    capabilities: list[str]
    cpu_count: int
    memory_mb: int
    worker_id: UUID | Unset = UNSET
    engine: str | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        name = self.name

        capabilities = self.capabilities

        cpu_count = self.cpu_count

        memory_mb = self.memory_mb

        worker_id: str | Unset = UNSET
        if not isinstance(self.worker_id, Unset):
            worker_id = str(self.worker_id)

        engine = self.engine

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "name": name,
                "capabilities": capabilities,
                "cpu_count": cpu_count,
                "memory_mb": memory_mb,
            }
        )
        if worker_id is not UNSET:
            field_dict["worker_id"] = worker_id
        if engine is not UNSET:
            field_dict["engine"] = engine

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        name = d.pop("name")

        capabilities = cast(list[str], d.pop("capabilities"))

        cpu_count = d.pop("cpu_count")

        memory_mb = d.pop("memory_mb")

        _worker_id = d.pop("worker_id", UNSET)
        worker_id: UUID | Unset
        if isinstance(_worker_id, Unset):
            worker_id = UNSET
        else:
            worker_id = UUID(_worker_id)

        engine = d.pop("engine", UNSET)

        register_request = cls(
            name=name,
            capabilities=capabilities,
            cpu_count=cpu_count,
            memory_mb=memory_mb,
            worker_id=worker_id,
            engine=engine,
        )

        return register_request
