from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar
from uuid import UUID

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.task_phase import TaskPhase, check_task_phase

T = TypeVar("T", bound="TaskState")


@_attrs_define
class TaskState:
    """
    Attributes:
        task_id (UUID):
        attempt (int):
        status (TaskPhase):
    """

    task_id: UUID
    attempt: int
    status: TaskPhase
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        task_id = str(self.task_id)

        attempt = self.attempt

        status: str = self.status

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "task_id": task_id,
                "attempt": attempt,
                "status": status,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        task_id = UUID(d.pop("task_id"))

        attempt = d.pop("attempt")

        status = check_task_phase(d.pop("status"))

        task_state = cls(
            task_id=task_id,
            attempt=attempt,
            status=status,
        )

        task_state.additional_properties = d
        return task_state

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
