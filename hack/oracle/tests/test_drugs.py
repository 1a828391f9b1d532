"""manifests/data/drugs.tsv: each structure is readable, is there once, and has its formula."""

from __future__ import annotations

import csv
import re
from collections import Counter
from pathlib import Path

import pytest
from rdkit import Chem
from rdkit.Chem.rdMolDescriptors import CalcMolFormula

TABLE = Path(__file__).resolve().parents[3] / "manifests" / "data" / "drugs.tsv"
COLUMNS = ["chembl_id", "canonical_smiles", "formula"]


def read() -> list[dict[str, str]]:
    with TABLE.open(encoding="ascii", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        assert rows.fieldnames == COLUMNS
        return list(rows)


ROWS = read()


def repeated(values: list[str]) -> list[str]:
    return [value for value, count in Counter(values).items() if count > 1]


@pytest.mark.parametrize("row", ROWS, ids=[row["chembl_id"] for row in ROWS])
def test_structure_has_the_formula_written_beside_it(row: dict[str, str]) -> None:
    molecule = Chem.MolFromSmiles(row["canonical_smiles"])
    assert molecule is not None
    assert CalcMolFormula(molecule) == row["formula"]


def test_structures_are_unique() -> None:
    molecules = [Chem.MolFromSmiles(row["canonical_smiles"]) for row in ROWS]
    assert repeated([Chem.MolToSmiles(molecule) for molecule in molecules if molecule]) == []


def test_identifiers_are_unique_lower_case_names() -> None:
    ids = [row["chembl_id"] for row in ROWS]
    assert repeated(ids) == []
    assert [id for id in ids if not re.fullmatch(r"[a-z][a-z0-9-]*[a-z0-9]", id)] == []


def test_lines_are_those_of_a_plain_table() -> None:
    data = TABLE.read_bytes()
    assert data.endswith(b"\n") and b"\r" not in data
    assert {line.count(b"\t") for line in data.splitlines()} == {len(COLUMNS) - 1}


def test_table_is_large_enough_to_search() -> None:
    assert len(ROWS) >= 300
