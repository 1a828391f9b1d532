#!/usr/bin/env python3
"""Similarity graph in one process, with RDKit and nothing else of SciMesh.

This program is what a distributed graph is compared with, byte for byte. It is
written for clearness: it holds the whole input and compares all pairs.

    reference_graph.py --input molecules.tsv --threshold 0.7 > edges.csv

INPUT is a table as reference.py reads it. Its molecules are the rows whose SMILES
RDKit accepts, of the first max_rows rows. Each has an id that is not empty and
that no other molecule has; otherwise there is no graph.

EDGES are the pairs of molecules whose similarity, Tanimoto's of Morgan
fingerprints with radius 2 and 2048 bits, is at least the threshold (of the
direction `less`: at most). It is compared as an exact fraction; two molecules
without on bits have similarity 1. The source of an edge is the earlier row.

OUTPUT is CSV as Python's csv module writes it (minimal quoting, CRLF), in UTF-8,
with the columns source_id, target_id and similarity, the double common / union
with six decimals, sorted by source id, then target id, as Unicode code points.
Standard error gets one line: rows read = molecules + rejected, pairs, edges.
"""

from __future__ import annotations

import argparse
import csv
import io
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import BinaryIO, NoReturn

import reference as ref
from rdkit import Chem, rdBase
from rdkit.Chem import rdFingerprintGenerator

MORGAN = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)


@dataclass(frozen=True)
class Parameters:
    """Which graph to make, as in a Job's spec.parameters."""

    threshold: Fraction = Fraction(7, 10)
    threshold_direction: str = "greater"
    max_rows: int | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.threshold <= 1:
            raise ref.Refused("threshold must be between 0 and 1")
        if self.threshold_direction not in ("greater", "less"):
            raise ref.Refused("threshold_direction must be greater or less")
        if self.max_rows is not None and self.max_rows < 1:
            raise ref.Refused("max_rows must be at least 1")

    def accepts(self, common: int, union: int) -> bool:
        """Whether a pair with these counts of on bits is an edge."""
        if union == 0:
            common = union = 1
        left, right = common * self.threshold.denominator, self.threshold.numerator * union
        return left <= right if self.threshold_direction == "less" else left >= right


@dataclass(frozen=True)
class Node:
    """A molecule: its id, and its on bits as the bits of a number."""

    id: str
    bits: int
    count: int


@dataclass(frozen=True)
class Edge:
    """A pair of molecules with its counts of on bits."""

    source: str
    target: str
    common: int
    union: int

    def decimal(self) -> str:
        """The similarity as it is printed."""
        return f"{self.common / self.union if self.union else 1.0:.6f}"


@dataclass
class Ledger:
    """What was read and compared."""

    read: int = 0
    molecules: int = 0
    rejected: int = 0
    pairs: int = 0
    edges: int = 0


def read_nodes(data: bytes, params: Parameters, ledger: Ledger) -> list[Node]:
    """Return the molecules of a table."""
    nodes: list[Node] = []
    row_of: dict[str, int] = {}
    for number, row in enumerate(ref.read_table(data), start=1):
        if params.max_rows is not None and number > params.max_rows:
            break
        ledger.read += 1
        mol = None if row.smiles is None else Chem.MolFromSmiles(row.smiles)
        if mol is None:
            ledger.rejected += 1
            continue
        if row.id == "":
            raise ref.Refused(f"row {number} has no id")
        if row.id in row_of:
            raise ref.Refused(f"id {row.id!r} is that of rows {row_of[row.id]} and {number}")
        row_of[row.id] = number
        bits = sum(1 << bit for bit in MORGAN.GetFingerprint(mol).GetOnBits())
        nodes.append(Node(row.id, bits, bits.bit_count()))
    ledger.molecules = len(nodes)
    return nodes


def find_edges(nodes: list[Node], params: Parameters, ledger: Ledger) -> Iterator[Edge]:
    """Compare every pair once."""
    for i, a in enumerate(nodes):
        for b in nodes[i + 1 :]:
            ledger.pairs += 1
            common = (a.bits & b.bits).bit_count()
            union = a.count + b.count - common
            if params.accepts(common, union):
                yield Edge(a.id, b.id, common, union)


def graph(data: bytes, params: Parameters, out: BinaryIO) -> Ledger:
    """Make the graph of a table and write it."""
    ledger = Ledger()
    nodes = read_nodes(data, params, ledger)
    if ledger.read == 0:
        raise ref.Refused("the input has a header and no rows")
    edges = sorted(find_edges(nodes, params, ledger), key=lambda e: (e.source, e.target))
    ledger.edges = len(edges)
    text = io.TextIOWrapper(out, encoding="utf-8", newline="")
    writer = csv.writer(text, lineterminator="\r\n", quoting=csv.QUOTE_MINIMAL)
    writer.writerow(["source_id", "target_id", "similarity"])
    writer.writerows([e.source, e.target, e.decimal()] for e in edges)
    text.flush()
    text.detach()
    return ledger


def parse_arguments(arguments: list[str] | None) -> tuple[Path, Parameters]:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Similarity graph in one process, with RDKit.")
    parser.add_argument("--input", type=Path, required=True, help="table of molecules")
    parser.add_argument("--threshold", default="0.7", help="decimal between 0 and 1")
    parser.add_argument("--threshold-direction", default="greater", choices=["greater", "less"])
    parser.add_argument("--max-rows", type=int)
    a = parser.parse_args(arguments)
    return a.input, Parameters(ref.parse_decimal(a.threshold), a.threshold_direction, a.max_rows)


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the program: status 1 for an input or a parameter that is refused, 2 for usage."""
    rdBase.DisableLog("rdApp.*")
    try:
        path, params = parse_arguments(arguments)
        ledger = graph(path.read_bytes(), params, sys.stdout.buffer)
    except (ref.Refused, OSError) as e:
        sys.exit(f"reference_graph.py: {e}")
    print(
        f"read={ledger.read} molecules={ledger.molecules} rejected={ledger.rejected} "
        f"pairs={ledger.pairs} edges={ledger.edges}",
        file=sys.stderr,
    )
    sys.exit(0)


if __name__ == "__main__":
    main()
