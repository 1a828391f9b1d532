from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast
from uuid import UUID

from attrs import define as _attrs_define

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.brought_workload import BroughtWorkload
    from ..models.register_request_golden import RegisterRequestGolden


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
        golden (RegisterRequestGolden | Unset): Proof of an engine that names the coordinator's rdkit-model: for each of
            its SMILES the SHA-256, in lowercase hexadecimal, of the bytes of two Morgan fingerprints (radius 2 with 2048
            bits, then radius 4 with 8192 bits; bit i is bit i % 8 of byte i / 8), or the word refused. A wrong or missing
            answer is refused. Without the field, the engine counts as another one that has proved nothing.
        workloads (list[BroughtWorkload] | Unset): Workloads whose code the worker brings: the coordinator knows them
            from now on. Their plan and reduce steps are tasks, too.
    """

    name: str
    capabilities: list[str]
    cpu_count: int
    memory_mb: int
    worker_id: UUID | Unset = UNSET
    engine: str | Unset = UNSET
    golden: RegisterRequestGolden | Unset = UNSET
    workloads: list[BroughtWorkload] | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        name = self.name

        capabilities = self.capabilities

        cpu_count = self.cpu_count

        memory_mb = self.memory_mb

        worker_id: str | Unset = UNSET
        if not isinstance(self.worker_id, Unset):
            worker_id = str(self.worker_id)

        engine = self.engine

        golden: dict[str, Any] | Unset = UNSET
        if not isinstance(self.golden, Unset):
            golden = self.golden.to_dict()

        workloads: list[dict[str, Any]] | Unset = UNSET
        if not isinstance(self.workloads, Unset):
            workloads = []
            for workloads_item_data in self.workloads:
                workloads_item = workloads_item_data.to_dict()
                workloads.append(workloads_item)

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
        if golden is not UNSET:
            field_dict["golden"] = golden
        if workloads is not UNSET:
            field_dict["workloads"] = workloads

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.brought_workload import BroughtWorkload
        from ..models.register_request_golden import RegisterRequestGolden

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

        _golden = d.pop("golden", UNSET)
        golden: RegisterRequestGolden | Unset
        if isinstance(_golden, Unset):
            golden = UNSET
        else:
            golden = RegisterRequestGolden.from_dict(_golden)

        _workloads = d.pop("workloads", UNSET)
        workloads: list[BroughtWorkload] | Unset = UNSET
        if _workloads is not UNSET:
            workloads = []
            for workloads_item_data in _workloads:
                workloads_item = BroughtWorkload.from_dict(workloads_item_data)

                workloads.append(workloads_item)

        register_request = cls(
            name=name,
            capabilities=capabilities,
            cpu_count=cpu_count,
            memory_mb=memory_mb,
            worker_id=worker_id,
            engine=engine,
            golden=golden,
            workloads=workloads,
        )

        return register_request
