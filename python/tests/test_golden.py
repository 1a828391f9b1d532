"""RDKit gives the answers that the coordinator expects."""

from pathlib import Path

from scimesh_worker.computation import describe

EXPECTED = Path(__file__).parents[2] / "workloads" / "golden" / "golden.tsv"


def test_answers_are_the_coordinators() -> None:
    first, *rows = EXPECTED.read_text().splitlines()
    described = describe(["similarity-search"])
    assert described["golden"] == dict(row.split("\t") for row in rows)
    assert described["engine"].split()[-1] == first.removeprefix("# ")
