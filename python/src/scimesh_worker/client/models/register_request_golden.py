from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="RegisterRequestGolden")


@_attrs_define
class RegisterRequestGolden:
    """Proof of an engine that names the coordinator's rdkit-model: for each of its SMILES the SHA-256, in lowercase
    hexadecimal, of the bytes of two Morgan fingerprints (radius 2 with 2048 bits, then radius 4 with 8192 bits; bit i
    is bit i % 8 of byte i / 8), or the word refused. A wrong or missing answer is refused. Without the field, the
    engine counts as another one that has proved nothing.

    """

    additional_properties: dict[str, str] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        register_request_golden = cls()

        register_request_golden.additional_properties = d
        return register_request_golden

    @property
    def additional_keys(self) -> list[str]:
        return list(self.additional_properties.keys())

    def __getitem__(self, key: str) -> str:
        return self.additional_properties[key]

    def __setitem__(self, key: str, value: str) -> None:
        self.additional_properties[key] = value

    def __delitem__(self, key: str) -> None:
        del self.additional_properties[key]

    def __contains__(self, key: str) -> bool:
        return key in self.additional_properties
