from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar
from uuid import UUID

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.claimed_input import ClaimedInput
    from ..models.parameters import Parameters


T = TypeVar("T", bound="ClaimedTask")


@_attrs_define
class ClaimedTask:
    """
    Attributes:
        task_id (UUID):
        attempt (int): To be named in every further call for this task.
        lease_expires_at (datetime.datetime):
        workload (str):
        input_ (ClaimedInput):
        parameters (Parameters): The workload's own; GET /workloads/{name} has their schema.
        lease_seconds (float | Unset): How long the lease lasts from now on by the clock that decides, so that no other
            clock matters.
        inputs (list[ClaimedInput] | Unset): Further files that the task reads beside its input, in an order that the
            workload knows. Absent for most workloads.
    """

    task_id: UUID
    attempt: int
    lease_expires_at: datetime.datetime
    workload: str
    input_: ClaimedInput
    parameters: Parameters
    lease_seconds: float | Unset = UNSET
    inputs: list[ClaimedInput] | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        task_id = str(self.task_id)

        attempt = self.attempt

        lease_expires_at = self.lease_expires_at.isoformat()

        workload = self.workload

        input_ = self.input_.to_dict()

        parameters = self.parameters.to_dict()

        lease_seconds = self.lease_seconds

        inputs: list[dict[str, Any]] | Unset = UNSET
        if not isinstance(self.inputs, Unset):
            inputs = []
            for inputs_item_data in self.inputs:
                inputs_item = inputs_item_data.to_dict()
                inputs.append(inputs_item)

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "task_id": task_id,
                "attempt": attempt,
                "lease_expires_at": lease_expires_at,
                "workload": workload,
                "input": input_,
                "parameters": parameters,
            }
        )
        if lease_seconds is not UNSET:
            field_dict["lease_seconds"] = lease_seconds
        if inputs is not UNSET:
            field_dict["inputs"] = inputs

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.claimed_input import ClaimedInput
        from ..models.parameters import Parameters

        d = dict(src_dict)
        task_id = UUID(d.pop("task_id"))

        attempt = d.pop("attempt")

        lease_expires_at = datetime.datetime.fromisoformat(d.pop("lease_expires_at"))

        workload = d.pop("workload")

        input_ = ClaimedInput.from_dict(d.pop("input"))

        parameters = Parameters.from_dict(d.pop("parameters"))

        lease_seconds = d.pop("lease_seconds", UNSET)

        _inputs = d.pop("inputs", UNSET)
        inputs: list[ClaimedInput] | Unset = UNSET
        if _inputs is not UNSET:
            inputs = []
            for inputs_item_data in _inputs:
                inputs_item = ClaimedInput.from_dict(inputs_item_data)

                inputs.append(inputs_item)

        claimed_task = cls(
            task_id=task_id,
            attempt=attempt,
            lease_expires_at=lease_expires_at,
            workload=workload,
            input_=input_,
            parameters=parameters,
            lease_seconds=lease_seconds,
            inputs=inputs,
        )

        claimed_task.additional_properties = d
        return claimed_task

    @property
    def additional_keys(self) -> list[str]:
        return list(self.additional_properties.keys())

    def __getitem__(self, key: str) -> Any:
        return self.additional_properties[key]

    def __setitem__(self, key: str, value: Any) -> None:
        self.additional_properties[key] = value

    def __delitem__(self, key: str) -> None:
        del self.additional_properties[key]

    def __contains__(self, key: str) -> bool:
        return key in self.additional_properties
