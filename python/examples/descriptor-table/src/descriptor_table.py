"""Descriptors of every molecule of a table, in the order of the input."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from scimesh_worker.authoring import FinalResult, RunResult, TaskPlan
from scimesh_worker.workloads.csvfile import record
from scimesh_worker.workloads.table import Row, read_table

COLUMNS = (
    b"chembl_id",
    b"canonical_smiles",
    b"molecular_weight",
    b"logp",
    b"tpsa",
    b"h_bond_donors",
    b"h_bond_acceptors",
    b"rotatable_bonds",
)
SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "decimals": {
            "type": "integer",
            "minimum": 0,
            "maximum": 6,
            "default": 3,
            "title": "Decimals",
            "description": "Decimals of molecular weight, logP and TPSA.",
        }
    },
}


class DescriptorTable:
    """The workload."""

    name = "descriptor-table"
    version = "1"

    def describe(self) -> dict[str, Any]:
        """Say what the workload takes and gives."""
        return {
            "description": "Molecular weight, logP, TPSA, hydrogen bond donors and acceptors, and rotatable bonds "
            "of every molecule of a table, by RDKit.",
            "parameters_schema": SCHEMA,
            "inputs": ["TSV with a header and the columns chembl_id and canonical_smiles; plain, gzip or zstd"],
            "outputs": ["descriptors.csv: " + ",".join(c.decode() for c in COLUMNS)],
        }

    def validate_job(self, input_path: Path, parameters: dict[str, Any]) -> None:
        """Read the header, which raises what is wrong with it."""
        with input_path.open("rb") as file:
            next(read_table(file), None)

    def plan(self, input_path: Path, parameters: dict[str, Any], workspace: Path) -> list[TaskPlan]:
        """Cut the table into shards of sharding_rows rows; the first task is told what was rejected here."""
        shards: list[Path] = []
        rejected: Counter[str] = Counter()
        with input_path.open("rb") as file:
            rows = (row for row in read_table(file) if not row.reject or rejected.update([row.reject]))
            while _write_shard(rows, workspace / f"shard-{len(shards)}.tsv", parameters["sharding_rows"], bool(shards)):
                shards.append(workspace / f"shard-{len(shards)}.tsv")
        own = {"decimals": parameters["decimals"]}
        return [TaskPlan(n, path, own if n else {**own, "rejected": dict(rejected)}) for n, path in enumerate(shards)]

    def execute_task(self, task: TaskPlan, workspace: Path) -> RunResult:
        """Compute the rows of one shard, and count them."""
        rows = workspace / "rows.csv"
        counts = Counter(task.parameters.get("rejected", {}))
        counts["read"] = counts.total()
        with task.input.open("rb") as file, rows.open("wb") as out:
            for row in read_table(file):
                counts["read"] += 1
                values = _descriptors(row.smiles, task.parameters["decimals"])
                if values is None:
                    counts["InvalidSMILES"] += 1
                else:
                    out.write(record(row.id, row.smiles, *values))
        result = workspace / "partial"
        with rows.open("rb") as file, result.open("wb") as out:
            out.write(json.dumps(counts, sort_keys=True).encode() + b"\n")
            _copy(file, out)
        return RunResult(result, {"processed_rows": counts["read"]})

    def reduce(self, partial_results: list[Path], parameters: dict[str, Any], workspace: Path) -> FinalResult:
        """Put the rows one after another."""
        final = workspace / "descriptors.csv"
        counts: Counter[str] = Counter()
        with final.open("wb") as out:
            out.write(record(*COLUMNS))
            for partial in partial_results:
                with partial.open("rb") as file:
                    counts.update(json.loads(file.readline()))
                    _copy(file, out)
        read = counts.pop("read", 0)
        return FinalResult(final, rows=read - counts.total(), rows_read=read, rejected=dict(counts))


def _descriptors(smiles: bytes, decimals: int) -> list[bytes] | None:
    from rdkit import Chem, rdBase
    from rdkit.Chem import Crippen, Descriptors, Lipinski, rdMolDescriptors

    rdBase.DisableLog("rdApp.*")
    mol = Chem.MolFromSmiles(smiles.decode())
    if mol is None:
        return None
    real = (Descriptors.MolWt(mol), Crippen.MolLogP(mol), rdMolDescriptors.CalcTPSA(mol))
    whole = (Lipinski.NumHDonors(mol), Lipinski.NumHAcceptors(mol), rdMolDescriptors.CalcNumRotatableBonds(mol))
    return [f"{x:.{decimals}f}".encode() for x in real] + [b"%d" % n for n in whole]


def _write_shard(rows: Iterator[Row], path: Path, limit: int, empty_ends: bool) -> bool:
    """Write the next rows as a table of their own; tell whether there were any (or it is the first one)."""
    written = 0
    with path.open("wb") as out:
        out.write(b"chembl_id\tcanonical_smiles\n")
        for row in islice(rows, limit):
            out.write(row.id + b"\t" + row.smiles + b"\n")
            written += 1
    return written > 0 or not empty_ends


def _copy(source: BinaryIO, out: BinaryIO) -> None:
    while chunk := source.read(1 << 20):
        out.write(chunk)
