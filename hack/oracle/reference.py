#!/usr/bin/env python3
"""Similarity search in one process, with RDKit and nothing else of SciMesh.

This program is what a distributed search is compared with, byte for byte. It is
written for clearness: it holds the whole input and sorts all of it.

    reference.py --input molecules.tsv --query-id CHEMBL25 > neighbours.csv

INPUT is a table of tab-separated columns, plain or compressed with gzip (any
number of members) or zstd (any number of frames), which is seen from its first
bytes. Lines end with LF or CRLF, the last one perhaps with neither; a byte order
mark at the very beginning is ignored. Blank lines, those without any character,
are nothing. The first other line is the header and must name the columns
chembl_id and canonical_smiles once each. Nothing is quoted. Every later line is
a row, counted from 1. A row is rejected if it is longer than 16 MiB, too short to
have both columns, not UTF-8 in one of them, or if RDKit refuses its SMILES.

THE QUERY is a SMILES or the id of a row, which is looked for in all of the input:
of several rows with that id the first whose SMILES is valid counts.

SIMILARITY is Tanimoto's, of Morgan fingerprints with radius 2 and 2048 bits:
common on bits / union of on bits, and 1 where both molecules have none. It
is an exact fraction. The threshold is an exact decimal, so no row is a hit, or
is none, because of rounding. Other measures, with a bits on in the query, b in
the molecule and c in both, are dice 2c / (a + b), cosine c / sqrt(ab), compared
by its square, and tversky c / (c + alpha (a - c) + beta (b - c)); without common
bits they are 0, and 1 where both molecules have none. The radius and the number
of bits can be given.

MANY QUERIES, each with an id and a SMILES, find what each of them would find alone,
where both its id and its SMILES tell the query molecule. The output begins with the
column query_id; every row with a valid molecule counts as scored.

FORMATS besides the table, which must be named: csv with a header, smi (a SMILES, a
blank, the id), and fps, of which the fingerprints are compared; there only the id
tells the query molecule, and no SMILES is printed.

THE ROWS considered are the first max_rows, rejected ones counted (all, without
max_rows). The query molecule is left out: rows with the query's id, if it was
given by id, and rows with its canonical isomeric SMILES.

HITS of the direction `greater` have similarity >= threshold (all rows, without a
threshold) and are sorted by falling similarity; those of `less` have similarity
<= threshold and are sorted by rising similarity. Equal similarities are sorted by
id, then SMILES, as Unicode code points. Of these the first top_k are kept and
ranked from 1.

OUTPUT is CSV as Python's csv module writes it (minimal quoting, CRLF), in UTF-8,
with the columns rank, chembl_id, canonical_smiles (as in the input) and
similarity, the double common / union with six decimals. Standard error gets one
line that accounts for every row: read = scored + excluded + rejected.
"""

from __future__ import annotations

import argparse
import csv
import functools
import gzip
import io
import math
import re
import sys
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import BinaryIO, NoReturn

import zstandard
from rdkit import Chem, DataStructs, rdBase
from rdkit.Chem import rdFingerprintGenerator
from rdkit.DataStructs import ExplicitBitVect

ID_COLUMN = "chembl_id"
SMILES_COLUMN = "canonical_smiles"
MAX_LINE_BYTES = 16 << 20
MAX_DECIMALS = 18

class Refused(Exception):
    """The input or a parameter cannot be used; the text says why."""


@dataclass(frozen=True)
class Parameters:
    """What to search for, as in a Job's spec.parameters."""

    query_id: str | None = None
    query_smiles: str | None = None
    top_k: int = 20
    threshold: Fraction | None = None
    threshold_direction: str = "greater"
    max_rows: int | None = None
    measure: str = "tanimoto"
    alpha: Fraction | None = None
    beta: Fraction | None = None
    radius: int = 2
    bits: int = 2048
    format: str = "tsv"
    queries: tuple[tuple[str, str], ...] = ()  # ids and SMILES

    def __post_init__(self) -> None:
        if self.measure not in ("tanimoto", "dice", "cosine", "tversky"):
            raise Refused("measure must be tanimoto, dice, cosine or tversky")
        if (self.measure == "tversky") != (self.alpha is not None and self.beta is not None):
            raise Refused("alpha and beta go with measure tversky")
        if (self.query_id is not None) + (self.query_smiles is not None) + bool(self.queries) != 1:
            raise Refused("exactly one of query_id, query_smiles and queries is needed")
        if self.top_k < 1:
            raise Refused("top_k must be at least 1")
        if self.threshold is not None and not 0 <= self.threshold <= 1:
            raise Refused("threshold must be between 0 and 1")
        if self.threshold_direction not in ("greater", "less"):
            raise Refused("threshold_direction must be greater or less")
        if self.max_rows is not None and self.max_rows < 1:
            raise Refused("max_rows must be at least 1")


@dataclass(frozen=True)
class Row:
    """One row of the input; smiles is None if the row cannot be read, or has a fingerprint."""

    id: str
    smiles: str | None
    fingerprint: ExplicitBitVect | None = None


@dataclass(frozen=True)
class Molecule:
    """What is compared of a molecule; canonical is None if only the fingerprint is known."""

    canonical: str | None
    fingerprint: ExplicitBitVect


@dataclass(frozen=True)
class Score:
    """A row with its similarity.

    exact is the similarity, but for cosine its square, which is rational.
    """

    id: str
    smiles: str
    exact: Fraction
    value: float

    def decimal(self) -> str:
        """The similarity as it is printed."""
        return f"{self.value:.6f}"


def similarity(a: int, b: int, c: int, params: Parameters) -> tuple[Fraction, float]:
    """Return the similarity, exact (of cosine the square) and as a double.

    a and b are the bits that are on in the query and in the molecule, c in both.
    """
    if a == b == 0:
        return Fraction(1), 1.0
    if c == 0:
        return Fraction(0), 0.0
    if params.measure == "cosine":
        return Fraction(c * c, a * b), c / math.sqrt(a * b)
    if params.measure == "dice":
        exact = Fraction(2 * c, a + b)
    elif params.alpha is not None and params.beta is not None:
        exact = c / (c + params.alpha * (a - c) + params.beta * (b - c))
    else:
        exact = Fraction(c, a + b - c)
    return exact, float(exact)


@dataclass
class Ledger:
    """What became of the rows that were read."""

    read: int = 0
    scored: int = 0
    excluded: int = 0
    rejected: int = 0


def parse_decimal(text: str) -> Fraction:
    """Read a number as JSON writes it, exactly."""
    if not re.fullmatch(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]{1,4})?", text):
        raise Refused(f"{text!r} is no decimal number")
    value = Fraction(text)
    if (value * 10**MAX_DECIMALS).denominator != 1:
        raise Refused(f"{text!r} has more than {MAX_DECIMALS} digits after the decimal point")
    return value


def decompress(data: bytes) -> bytes:
    """Undo the compression that the first bytes show, if any."""
    try:
        if data.startswith(b"\x1f\x8b"):
            return gzip.decompress(data)
        if re.match(rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18", data):
            return decompress_zstd(data)
    except (EOFError, OSError, zlib.error, zstandard.ZstdError) as e:
        raise Refused(f"the input is compressed, but corrupt: {e}") from e
    return data


def decompress_zstd(data: bytes) -> bytes:
    """Decompress all frames; data that end within one are an error."""
    out = []
    while data:
        frame = zstandard.ZstdDecompressor().decompressobj()
        out.append(frame.decompress(data))
        if not frame.eof:
            raise EOFError("the last frame is incomplete")
        data = frame.unused_data
    return b"".join(out)


def read_rows(data: bytes, params: Parameters) -> Iterator[Row]:
    """Yield the rows of an input in any format."""
    if params.format == "tsv":
        yield from read_table(data)
        return
    text = decompress(data).decode()
    if params.format == "csv":
        for record in csv.DictReader(io.StringIO(text, newline="")):
            yield Row(record[ID_COLUMN], record[SMILES_COLUMN])
    elif params.format == "smi":
        for line in filter(str.strip, text.splitlines()):
            smiles, _, title = line.partition(" ")
            yield Row(title, smiles)
    else:
        for line in text.splitlines():
            if not line.startswith("#"):
                digits, row_id = line.split("\t")
                yield Row(row_id, None, DataStructs.CreateFromFPSText(digits))


def read_table(data: bytes) -> Iterator[Row]:
    """Yield the rows of a table."""
    lines = decompress(data).removeprefix(b"\xef\xbb\xbf").split(b"\n")
    filled = (line for line in (raw.removesuffix(b"\r") for raw in lines) if line)
    header = next(filled, None)
    if header is None:
        raise Refused("the input is empty")
    columns = header.split(b"\t")
    id_at = find_column(columns, ID_COLUMN)
    smiles_at = find_column(columns, SMILES_COLUMN)
    for line in filled:
        yield parse_row(line, id_at, smiles_at)


def find_column(columns: list[bytes], name: str) -> int:
    """Return the place of a column that must be there once."""
    if columns.count(name.encode()) != 1:
        found = b", ".join(columns).decode(errors="replace")
        raise Refused(f"one column {name} is needed; columns found: {found}")
    return columns.index(name.encode())


def parse_row(line: bytes, id_at: int, smiles_at: int) -> Row:
    """Take the two columns from a line. A row that is rejected has no usable id."""
    columns = line.split(b"\t")
    if len(line) > MAX_LINE_BYTES or len(columns) <= max(id_at, smiles_at):
        return Row("", None)
    try:
        return Row(columns[id_at].decode(), columns[smiles_at].decode())
    except UnicodeDecodeError:
        return Row("", None)


@functools.cache
def morgan(radius: int, bits: int) -> rdFingerprintGenerator.FingerprintGenerator64:
    """Return the generator of a fingerprint."""
    return rdFingerprintGenerator.GetMorganGenerator(radius=radius, fpSize=bits)


def read_molecule(smiles: str | None, radius: int = 2, bits: int = 2048) -> Molecule | None:
    """Return the molecule of a SMILES, or None if RDKit refuses it."""
    mol = None if smiles is None else Chem.MolFromSmiles(smiles)
    if mol is None:
        return None
    return Molecule(Chem.MolToSmiles(mol), morgan(radius, bits).GetFingerprint(mol))


def molecule_of(row: Row, params: Parameters) -> Molecule | None:
    """Return the molecule of a row, or None if it is rejected."""
    if row.fingerprint is not None:
        return Molecule(None, row.fingerprint)
    return read_molecule(row.smiles, params.radius, params.bits)


def find_query(rows: list[Row], params: Parameters) -> Molecule:
    """Return the molecule to compare with."""
    if params.query_smiles is not None:
        query = read_molecule(params.query_smiles, params.radius, params.bits)
        if query is None:
            raise Refused("query_smiles is no valid SMILES")
        return query
    for row in rows:
        if row.id == params.query_id:
            query = molecule_of(row, params)
            if query is not None:
                return query
    raise Refused(f"no row with a valid SMILES has the id {params.query_id!r}")


def score(
    rows: Iterable[Row], query: Molecule, query_id: str | None, params: Parameters, ledger: Ledger
) -> list[Score]:
    """Compare every row with the query, apart from the query molecule itself."""
    scores = []
    for row in rows:
        ledger.read += 1
        molecule = molecule_of(row, params)
        if molecule is None:
            ledger.rejected += 1
            continue
        same = molecule.canonical is not None and molecule.canonical == query.canonical
        if same or (query_id is not None and row.id == query_id):
            ledger.excluded += 1
            continue
        ledger.scored += 1
        common = (molecule.fingerprint & query.fingerprint).GetNumOnBits()
        ones = query.fingerprint.GetNumOnBits(), molecule.fingerprint.GetNumOnBits()
        scores.append(Score(row.id, row.smiles or "", *similarity(*ones, common, params)))
    return scores


def select(scores: Iterable[Score], params: Parameters) -> list[Score]:
    """Return the hits in their order."""
    sign = 1 if params.threshold_direction == "less" else -1
    limit = params.threshold
    if limit is not None and params.measure == "cosine":
        limit *= limit
    hits = [s for s in scores if limit is None or sign * s.exact <= sign * limit]
    hits.sort(key=lambda s: (sign * s.exact, s.id, s.smiles))
    return hits[: params.top_k]


def write_csv(hits: Iterable[Score], out: BinaryIO) -> None:
    """Write the final table."""
    text = io.TextIOWrapper(out, encoding="utf-8", newline="")
    writer = csv.writer(text, lineterminator="\r\n", quoting=csv.QUOTE_MINIMAL)
    writer.writerow(["rank", ID_COLUMN, SMILES_COLUMN, "similarity"])
    for rank, hit in enumerate(hits, start=1):
        writer.writerow([rank, hit.id, hit.smiles, hit.decimal()])
    text.flush()
    text.detach()


def search_many(rows: list[Row], params: Parameters, out: BinaryIO) -> Ledger:
    """Search for each of many queries. Every valid row is scored."""
    text = io.TextIOWrapper(out, encoding="utf-8", newline="")
    writer = csv.writer(text, lineterminator="\r\n", quoting=csv.QUOTE_MINIMAL)
    writer.writerow(["query_id", "rank", ID_COLUMN, SMILES_COLUMN, "similarity"])
    ledger = Ledger()
    for query_id, smiles in params.queries:
        query = read_molecule(smiles, params.radius, params.bits)
        if query is None:
            raise Refused(f"the query {query_id!r} is no valid SMILES")
        ledger = Ledger()
        hits = select(score(rows, query, query_id, params, ledger), params)
        for rank, hit in enumerate(hits, start=1):
            writer.writerow([query_id, rank, hit.id, hit.smiles, hit.decimal()])
    text.flush()
    text.detach()
    return Ledger(ledger.read, ledger.scored + ledger.excluded, 0, ledger.rejected)


def search(data: bytes, params: Parameters, out: BinaryIO) -> Ledger:
    """Search a table and write the result."""
    rows = list(read_rows(data, params))
    if not rows:
        raise Refused("the input has a header and no rows")
    if params.queries:
        return search_many(rows[: params.max_rows], params, out)
    query = find_query(rows, params)
    ledger = Ledger()
    hits = select(score(rows[: params.max_rows], query, params.query_id, params, ledger), params)
    write_csv(hits, out)
    return ledger


def parse_arguments(arguments: list[str] | None) -> tuple[Path, Parameters]:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Similarity search in one process, with RDKit.")
    parser.add_argument("--input", type=Path, required=True, help="table of molecules")
    parser.add_argument("--query-id")
    parser.add_argument("--query-smiles")
    parser.add_argument("--top-k", type=int, default=20)
    parser.add_argument("--threshold", help="decimal between 0 and 1")
    parser.add_argument("--threshold-direction", default="greater", choices=["greater", "less"])
    parser.add_argument("--max-rows", type=int)
    parser.add_argument("--measure", default="tanimoto", choices=["tanimoto", "dice", "cosine", "tversky"])
    parser.add_argument("--alpha", help="weight of tversky, a decimal")
    parser.add_argument("--beta", help="weight of tversky, a decimal")
    parser.add_argument("--radius", type=int, default=2)
    parser.add_argument("--bits", type=int, default=2048)
    parser.add_argument("--format", default="tsv", choices=["tsv", "csv", "smi", "fps"])
    a = parser.parse_args(arguments)
    threshold = None if a.threshold is None else parse_decimal(a.threshold)
    return a.input, Parameters(
        query_id=a.query_id,
        query_smiles=a.query_smiles,
        top_k=a.top_k,
        threshold=threshold,
        threshold_direction=a.threshold_direction,
        max_rows=a.max_rows,
        measure=a.measure,
        alpha=None if a.alpha is None else parse_decimal(a.alpha),
        beta=None if a.beta is None else parse_decimal(a.beta),
        radius=a.radius,
        bits=a.bits,
        format=a.format,
    )


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the program: status 1 for an input or a parameter that is refused, 2 for usage."""
    rdBase.DisableLog("rdApp.*")
    try:
        path, params = parse_arguments(arguments)
        ledger = search(path.read_bytes(), params, sys.stdout.buffer)
    except (Refused, OSError) as e:
        sys.exit(f"reference.py: {e}")
    print(
        f"read={ledger.read} scored={ledger.scored} excluded={ledger.excluded} rejected={ledger.rejected}",
        file=sys.stderr,
    )
    sys.exit(0)


if __name__ == "__main__":
    main()
