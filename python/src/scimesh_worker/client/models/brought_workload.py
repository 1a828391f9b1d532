from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from attrs import define as _attrs_define

if TYPE_CHECKING:
    from ..models.brought_workload_parameters_schema import (
        BroughtWorkloadParametersSchema,
    )


T = TypeVar("T", bound="BroughtWorkload")


@_attrs_define
class BroughtWorkload:
    """
    Attributes:
        name (str): Also one of the worker's capabilities, and not the name of a built-in workload.
        version (str): Another description needs another version.
        description (str):
        parameters_schema (BroughtWorkloadParametersSchema): JSON Schema of the parameters: an object without additional
            properties. A keyword that the coordinator does not check is refused.
        inputs (list[str]):
        outputs (list[str]):
    """

    name: str
    version: str
    description: str
    parameters_schema: BroughtWorkloadParametersSchema
    inputs: list[str]
    outputs: list[str]

    def to_dict(self) -> dict[str, Any]:
        name = self.name

        version = self.version

        description = self.description

        parameters_schema = self.parameters_schema.to_dict()

        inputs = self.inputs

        outputs = self.outputs

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "name": name,
                "version": version,
                "description": description,
                "parameters_schema": parameters_schema,
                "inputs": inputs,
                "outputs": outputs,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.brought_workload_parameters_schema import (
            BroughtWorkloadParametersSchema,
        )

        d = dict(src_dict)
        name = d.pop("name")

        version = d.pop("version")

        description = d.pop("description")

        parameters_schema = BroughtWorkloadParametersSchema.from_dict(
            d.pop("parameters_schema")
        )

        inputs = cast(list[str], d.pop("inputs"))

        outputs = cast(list[str], d.pop("outputs"))

        brought_workload = cls(
            name=name,
            version=version,
            description=description,
            parameters_schema=parameters_schema,
            inputs=inputs,
            outputs=outputs,
        )

        return brought_workload
