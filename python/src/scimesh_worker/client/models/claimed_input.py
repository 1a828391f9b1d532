from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

T = TypeVar("T", bound="ClaimedInput")


@_attrs_define
class ClaimedInput:
    """
    Attributes:
        uri (str): Where to read the input: at the coordinator, or a URI that the Job named.
        sha256 (str):
        size_bytes (int | Unset): Size, where the coordinator knows it.
    """

    uri: str
    sha256: str
    size_bytes: int | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        uri = self.uri

        sha256 = self.sha256

        size_bytes = self.size_bytes

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "uri": uri,
                "sha256": sha256,
            }
        )
        if size_bytes is not UNSET:
            field_dict["size_bytes"] = size_bytes

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        uri = d.pop("uri")

        sha256 = d.pop("sha256")

        size_bytes = d.pop("size_bytes", UNSET)

        claimed_input = cls(
            uri=uri,
            sha256=sha256,
            size_bytes=size_bytes,
        )

        claimed_input.additional_properties = d
        return claimed_input

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
