"""Tests of the reference graph, with values worked out by hand where it matters."""

from __future__ import annotations

import io
import sys
from fractions import Fraction
from pathlib import Path

import pytest
from rdkit import Chem, DataStructs

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import reference as ref
import reference_graph as graph

HEADER = "chembl_id\tcanonical_smiles\n"
TABLE = HEADER + "B\tCCO\nA\tCCCO\nC\tOCC\nD\tnonsense\nE\tc1ccccc1O\n"


def run(table: str, **parameters: object) -> tuple[list[str], graph.Ledger]:
    out = io.BytesIO()
    ledger = graph.graph(table.encode(), graph.Parameters(**parameters), out)  # type: ignore[arg-type]
    lines = out.getvalue().decode().split("\r\n")
    assert lines[0] == "source_id,target_id,similarity"
    assert lines[-1] == ""
    return lines[1:-1], ledger


def test_every_pair_is_compared_once_and_the_earlier_row_comes_first() -> None:
    edges, ledger = run(TABLE, threshold=Fraction(0))
    assert [e.rsplit(",", 1)[0] for e in edges] == ["A,C", "A,E", "B,A", "B,C", "B,E", "C,E"]
    assert (ledger.read, ledger.molecules, ledger.rejected, ledger.pairs, ledger.edges) == (5, 4, 1, 6, 6)


def test_both_directions_keep_a_similarity_that_equals_the_threshold() -> None:
    assert run(TABLE, threshold=Fraction(1))[0] == ["B,C,1.000000"]
    assert len(run(TABLE, threshold=Fraction(1), threshold_direction="less")[0]) == 6


def test_the_similarity_is_that_of_rdkit() -> None:
    a, b = (graph.MORGAN.GetFingerprint(Chem.MolFromSmiles(s)) for s in ("CCO", "CCCO"))
    want = DataStructs.TanimotoSimilarity(a, b)
    assert f"B,A,{want:.6f}" in run(TABLE, threshold=Fraction(0))[0]


def test_ids_must_name_molecules() -> None:
    with pytest.raises(ref.Refused, match="'A' is that of rows 1 and 3"):
        run(HEADER + "A\tC\nA\tnonsense\nA\tCC\n")
    with pytest.raises(ref.Refused, match="row 2 has no id"):
        run(HEADER + "A\tC\n\tCC\n")
    assert run(HEADER + "A\tC\nA\tCC\n", max_rows=1)[0] == []
