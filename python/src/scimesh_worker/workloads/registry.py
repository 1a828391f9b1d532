"""Which computations this worker has. Only a child process imports them."""

from __future__ import annotations

from typing import Any

from scimesh_worker.workloads.base import Executor

BUILT_IN = ("similarity-search",)


def executor(name: str) -> Executor:
    """Return the computation of that name: built in, or of an installed package."""
    if name == "similarity-search":
        from scimesh_worker.workloads.similarity_search import SimilaritySearch

        return SimilaritySearch()
    from scimesh_worker.workloads.authored import AuthoredWorkload, load

    return AuthoredWorkload(load(name))


def describe(names: list[str]) -> dict[str, Any]:
    """Say what computes, with its proof, and describe the computations that the coordinator cannot know."""
    from scimesh_worker.workloads import golden
    from scimesh_worker.workloads.authored import description, load
    from scimesh_worker.workloads.morgan import ENGINE

    brought = [description(load(name)) for name in names if name not in BUILT_IN]
    return {"engine": ENGINE, "golden": golden.answers(), "workloads": brought}
