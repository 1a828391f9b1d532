from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar
from uuid import UUID

from attrs import define as _attrs_define

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.metrics import Metrics
    from ..models.result_manifest import ResultManifest


T = TypeVar("T", bound="ResultRequest")


@_attrs_define
class ResultRequest:
    """
    Attributes:
        worker_id (UUID):
        attempt (int):
        result (ResultManifest):
        metrics (Metrics | Unset): What the worker measured, for people; at most 16 KiB.
    """

    worker_id: UUID
    attempt: int
    result: ResultManifest
    metrics: Metrics | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        worker_id = str(self.worker_id)

        attempt = self.attempt

        result = self.result.to_dict()

        metrics: dict[str, Any] | Unset = UNSET
        if not isinstance(self.metrics, Unset):
            metrics = self.metrics.to_dict()

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "worker_id": worker_id,
                "attempt": attempt,
                "result": result,
            }
        )
        if metrics is not UNSET:
            field_dict["metrics"] = metrics

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.metrics import Metrics
        from ..models.result_manifest import ResultManifest

        d = dict(src_dict)
        worker_id = UUID(d.pop("worker_id"))

        attempt = d.pop("attempt")

        result = ResultManifest.from_dict(d.pop("result"))

        _metrics = d.pop("metrics", UNSET)
        metrics: Metrics | Unset
        if isinstance(_metrics, Unset):
            metrics = UNSET
        else:
            metrics = Metrics.from_dict(_metrics)

        result_request = cls(
            worker_id=worker_id,
            attempt=attempt,
            result=result,
            metrics=metrics,
        )

        return result_request
