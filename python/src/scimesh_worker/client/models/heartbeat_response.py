from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, Self, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

T = TypeVar("T", bound="HeartbeatResponse")


@_attrs_define
class HeartbeatResponse:
    """
    Attributes:
        lease_expires_at (datetime.datetime):
        lease_seconds (float | Unset): How long the lease lasts from now on by the clock that decides, so that no other
            clock matters.
        cancel (bool | Unset): The task is to be stopped.
    """

    lease_expires_at: datetime.datetime
    lease_seconds: float | Unset = UNSET
    cancel: bool | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        lease_expires_at = self.lease_expires_at.isoformat()

        lease_seconds = self.lease_seconds

        cancel = self.cancel

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "lease_expires_at": lease_expires_at,
            }
        )
        if lease_seconds is not UNSET:
            field_dict["lease_seconds"] = lease_seconds
        if cancel is not UNSET:
            field_dict["cancel"] = cancel

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        lease_expires_at = datetime.datetime.fromisoformat(d.pop("lease_expires_at"))

        lease_seconds = d.pop("lease_seconds", UNSET)

        cancel = d.pop("cancel", UNSET)

        heartbeat_response = cls(
            lease_expires_at=lease_expires_at,
            lease_seconds=lease_seconds,
            cancel=cancel,
        )

        heartbeat_response.additional_properties = d
        return heartbeat_response

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
