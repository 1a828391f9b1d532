"""Which computations this worker has. Only a child process imports them."""

from __future__ import annotations

from typing import Any

from scimesh_worker.workloads.base import Executor, WorkloadError

BUILT_IN = ("similarity-search",)


def executor(name: str) -> Executor:
    """Return the computation of that name."""
    if name == "similarity-search":
        from scimesh_worker.workloads.similarity_search import SimilaritySearch

        return SimilaritySearch()
    raise WorkloadError("UnknownWorkload", "this worker does not have the workload")


def describe(names: list[str]) -> dict[str, Any]:
    """Load the computations of those names and say what computes, with its proof."""
    for name in names:
        executor(name)
    from scimesh_worker.workloads import golden
    from scimesh_worker.workloads.morgan import ENGINE

    return {"engine": ENGINE, "golden": golden.answers()}
