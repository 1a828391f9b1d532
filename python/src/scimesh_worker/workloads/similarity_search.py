"""One task of similarity-search: the nearest (or farthest) molecules of a shard.

The partial result is the CSV file of the records

    record,row,chembl_id,canonical_smiles,common,union,detail
    hit,,ID,SMILES,17,31,              in final order, at most top_k
    reject,12,ID,,,,InvalidSMILES      by ascending row of the shard, from 1
    count,50,,,,,read                  read, scored, excluded:REASON, rejected:REASON
    end,,,,,,

with the same bytes as the Go worker's. Similarities stay pairs of integers.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import IO

from scimesh_worker.workloads.base import Json, TaskRequest, TaskResult, WorkloadError, unsupported
from scimesh_worker.workloads.csvfile import record
from scimesh_worker.workloads.rows import Answer, RowEngine
from scimesh_worker.workloads.table import Row, read_table, valid_text

NAME = "similarity-search"
_KNOWN = {"query_id", "query_smiles", "top_k", "threshold", "threshold_direction"}
# _OTHERS are parameters of which this worker knows only that others can compute them.
_OTHERS = {"query_fingerprint", "measure", "alpha", "beta", "fingerprint", "input", "queries"}
_BATCH_ROWS = 256
_BATCH_BYTES = 256 << 10
_MAX_LOGGED_REJECTS = 20
_DECIMAL = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]{1,4})?")


@dataclass(frozen=True)
class Search:
    """The parameters of a task."""

    query_id: bytes | None
    query_smiles: bytes
    top_k: int
    threshold: Fraction | None
    ascending: bool

    def accepts(self, common: int, union: int) -> bool:
        """Tell whether a ratio satisfies the threshold; 0/0 counts as 1."""
        if self.threshold is None:
            return True
        if union == 0:
            common, union = 1, 1
        left = common * self.threshold.denominator
        right = self.threshold.numerator * union
        return left <= right if self.ascending else left >= right


def parse(parameters: Json) -> Search:
    """Read the parameters of a task. They come from the plan, so a fault is another version's."""

    def bad(what: str) -> WorkloadError:
        return WorkloadError("InvalidParameters", f"task parameters: {what}")

    if others := sorted(_OTHERS & set(parameters)):
        raise unsupported(f"searches with the parameter {others[0]}")
    if unknown := sorted(set(parameters) - _KNOWN):
        raise bad(f"unknown field {unknown[0]}")
    query, query_id = parameters.get("query_smiles"), parameters.get("query_id")
    top_k, threshold = parameters.get("top_k"), parameters.get("threshold")
    direction = parameters.get("threshold_direction")
    if not isinstance(query, str):
        raise bad("query_smiles is missing")
    if query_id is not None and not isinstance(query_id, str):
        raise bad("query_id is not a string")
    if not isinstance(top_k, int) or isinstance(top_k, bool) or not 1 <= top_k <= 1_000_000:
        raise bad("top_k is out of range")
    if direction not in ("greater", "less"):
        raise bad("threshold_direction is neither greater nor less")
    limit = None
    if threshold is not None:
        if not isinstance(threshold, str) or not _DECIMAL.fullmatch(threshold):
            raise bad("threshold is no decimal")
        limit = Fraction(threshold)
        if not 0 <= limit <= 1:
            raise bad("threshold is not between 0 and 1")
    return Search(None if query_id is None else query_id.encode(), query.encode(), top_k, limit, direction == "less")


# A hit: its key puts it in order.
Hit = tuple[int, bytes, bytes, int, int]


class TopK:
    """Keeps the first k hits: by similarity, then id, then SMILES, all by code point."""

    def __init__(self, k: int, ascending: bool) -> None:
        self._k = k
        self._sign = 1 if ascending else -1
        self._hits: list[Hit] = []
        self._worst: Hit | None = None

    def offer(self, common: int, union: int, row: Row) -> None:
        """Add a hit if it is among the first k so far."""
        # Ratios of at most 2^13 bits that differ do so by 2^-26 or more, so the
        # floor of 2^44 times the ratio orders them exactly.
        key = self._sign * ((common << 44) // union if union else 1 << 44)
        hit = (key, row.id, row.smiles, common, union)
        if self._worst is not None and hit >= self._worst:
            return
        self._hits.append(hit)
        if len(self._hits) >= self._k + max(self._k, 1024):
            self._cut()

    def _cut(self) -> None:
        self._hits.sort()
        del self._hits[self._k :]
        if len(self._hits) == self._k:
            self._worst = self._hits[-1]

    def sorted(self) -> list[Hit]:
        """Return the hits in order."""
        self._cut()
        return self._hits


class Collector:
    """Takes rows with their answers, in the order of the shard."""

    def __init__(self, search: Search, request: TaskRequest) -> None:
        self._search = search
        self._log = request.log
        self.hits = TopK(search.top_k, search.ascending)
        self.rejects: list[bytes] = []
        self.rejected: Counter[str] = Counter()
        self.read = self.scored = self.excluded = 0

    def take(self, row: Row, answer: Answer) -> None:
        """Account for one row."""
        self.read += 1
        if answer.reject:
            self._reject(row, answer.reject)
        elif row.id == self._search.query_id or answer.is_query:
            self.excluded += 1
        else:
            self.scored += 1
            if self._search.accepts(answer.common, answer.union):
                self.hits.offer(answer.common, answer.union, row)

    def _reject(self, row: Row, reason: str) -> None:
        self.rejected[reason] += 1
        line = record(b"reject", b"%d" % row.number, valid_text(row.id), b"", b"", b"", reason.encode())
        self.rejects.append(line)
        if len(self.rejects) <= _MAX_LOGGED_REJECTS:
            self._log(f"row {row.number} rejected: {reason}")
        elif len(self.rejects) == _MAX_LOGGED_REJECTS + 1:
            self._log("further rejected rows are only counted here; all are in the result")

    def write(self, out: IO[bytes]) -> int:
        """Write the partial result and return the number of hits."""
        out.write(record(*b"record row chembl_id canonical_smiles common union detail".split()))
        hits = self.hits.sorted()
        for _, id_, smiles, common, union in hits:
            out.write(record(b"hit", b"", id_, smiles, b"%d" % common, b"%d" % union, b""))
        out.writelines(self.rejects)
        counts = [("read", self.read), ("scored", self.scored)]
        if self.excluded:
            counts.append(("excluded:QueryMolecule", self.excluded))
        counts += [(f"rejected:{reason}", n) for reason, n in sorted(self.rejected.items())]
        for name, n in counts:
            out.write(record(b"count", b"%d" % n, b"", b"", b"", b"", name.encode()))
        out.write(record(b"end", b"", b"", b"", b"", b"", b""))
        return len(hits)


class SimilaritySearch:
    """The workload."""

    name = NAME

    def execute(self, request: TaskRequest) -> TaskResult:
        """Search one shard."""
        search = parse(request.parameters)
        collector = Collector(search, request)
        size = max(1, os.path.getsize(request.input_path))
        with request.input_path.open("rb") as file, RowEngine(search.query_smiles, request.row_seconds) as engine:
            for batch in _batches(read_table(file)):
                _score(engine, batch, collector)
                request.progress(min(1.0, file.tell() / size))
        with request.output_path.open("wb") as out:
            hits = collector.write(out)
        rejected = sum(collector.rejected.values())
        request.log(
            f"read {collector.read} rows: {collector.scored} scored, {collector.excluded} excluded, "
            f"{rejected} rejected; {hits} hits"
        )
        metrics = {
            "processed_rows": collector.read,
            "scored_rows": collector.scored,
            "rejected_rows": rejected,
            "hits": hits,
        }
        return TaskResult("text/csv; charset=utf-8", metrics)


def _batches(rows: Iterator[Row]) -> Iterator[list[Row]]:
    """Yield the rows in batches; the last one may be empty, so that a query is always read."""
    batch: list[Row] = []
    size = 0
    for row in rows:
        batch.append(row)
        size += len(row.smiles)
        if len(batch) >= _BATCH_ROWS or size >= _BATCH_BYTES:
            yield batch
            batch, size = [], 0
    yield batch


def _score(engine: RowEngine, batch: list[Row], collector: Collector) -> None:
    answers = engine.answers([row.smiles for row in batch if not row.reject])
    for row in batch:
        collector.take(row, Answer(reject=row.reject) if row.reject else next(answers))
