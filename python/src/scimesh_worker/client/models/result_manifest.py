from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar
from uuid import UUID

from attrs import define as _attrs_define

from ..types import UNSET, Unset

T = TypeVar("T", bound="ResultManifest")


@_attrs_define
class ResultManifest:
    """
    Attributes:
        artifact_id (UUID):
        uri (str):
        sha256 (str):
        content_type (str | Unset):
    """

    artifact_id: UUID
    uri: str
    sha256: str
    content_type: str | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        artifact_id = str(self.artifact_id)

        uri = self.uri

        sha256 = self.sha256

        content_type = self.content_type

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "artifact_id": artifact_id,
                "uri": uri,
                "sha256": sha256,
            }
        )
        if content_type is not UNSET:
            field_dict["content_type"] = content_type

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        artifact_id = UUID(d.pop("artifact_id"))

        uri = d.pop("uri")

        sha256 = d.pop("sha256")

        content_type = d.pop("content_type", UNSET)

        result_manifest = cls(
            artifact_id=artifact_id,
            uri=uri,
            sha256=sha256,
            content_type=content_type,
        )

        return result_manifest
