"""Reads molecule tables: tab-separated text with a header, plain, gzip or zstd.

Lines end with LF or CRLF; the last one may lack its end. The first line that is
not blank is the header, before which a byte order mark is ignored; the columns
chembl_id and canonical_smiles must be there once each. Nothing is quoted. Blank
lines are not rows; every other line is one, counted from 1. A row that cannot
be used is returned with the reason: LineTooLong, TooFewColumns or InvalidUTF8,
looked for in this order. One line of at most 16 MiB is held at a time.
"""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

import zstandard

from scimesh_worker.workloads.base import WorkloadError, unsupported

ID_COLUMN = b"chembl_id"
SMILES_COLUMN = b"canonical_smiles"
MAX_LINE_BYTES = 16 << 20
# _KEPT_PREFIX is how much of a line that is too long is kept, to find its id.
_KEPT_PREFIX = 1 << 10
_CHUNK = 64 << 10
# A zstd block of four bytes may stand for 128 KiB, so little is fed at a time.
_ZSTD_CHUNK = 1 << 10
_MAX_WINDOW = 128 << 20
_INVALID = re.compile("[\udc80-\udcff]+")
_FOREIGN = (
    (b"PK\x03\x04", "a zip archive"),
    (b"BZh", "compressed with bzip2"),
    (b"\xfd7zXZ\x00", "compressed with xz"),
    (b"\xff\xfe", "UTF-16 text"),
    (b"\xfe\xff", "UTF-16 text"),
)


@dataclass(frozen=True)
class Row:
    """One row. In a rejected row smiles is empty, and so is the id if it was not found."""

    number: int
    id: bytes
    smiles: bytes
    reject: str = ""


def read_table(file: BinaryIO, max_line: int = MAX_LINE_BYTES) -> Iterator[Row]:
    """Yield the rows of a table. What is wrong with the input is a WorkloadError."""
    lines = _lines(_chunks(file), max_line)
    id_at, smiles_at = _header(lines, max_line)
    number = 0
    for line, too_long in lines:
        if not line and not too_long:
            continue
        number += 1
        if too_long:
            columns = line.split(b"\t")
            yield Row(number, columns[id_at] if id_at < len(columns) - 1 else b"", b"", "LineTooLong")
        else:
            yield _parse(number, line, id_at, smiles_at)


def valid_text(text: bytes) -> bytes:
    """Replace each run of bytes that are not UTF-8 by U+FFFD."""
    return _INVALID.sub("\ufffd", text.decode("utf-8", "surrogateescape")).encode()


def _parse(number: int, line: bytes, id_at: int, smiles_at: int) -> Row:
    columns = line.split(b"\t", max(id_at, smiles_at) + 1)
    if len(columns) <= max(id_at, smiles_at):
        return Row(number, columns[id_at] if id_at < len(columns) else b"", b"", "TooFewColumns")
    row = Row(number, columns[id_at], columns[smiles_at])
    try:
        row.id.decode()
        row.smiles.decode()
    except UnicodeDecodeError:
        return Row(number, row.id, b"", "InvalidUTF8")
    return row


def _header(lines: Iterator[tuple[bytes, bool]], max_line: int) -> tuple[int, int]:
    want = "expected a header line with the tab-separated columns chembl_id and canonical_smiles"
    first = True
    for raw, too_long in lines:
        line = raw.removeprefix(b"\xef\xbb\xbf") if first else raw
        first = False
        if too_long:
            raise WorkloadError("InputInvalid", f"the first line is longer than {max_line} bytes; {want}")
        if line:
            columns = line.split(b"\t")
            return _column(columns, ID_COLUMN), _column(columns, SMILES_COLUMN)
    raise WorkloadError("InputInvalid", f"the input is empty; {want}")


def _column(columns: list[bytes], name: bytes) -> int:
    if columns.count(name) == 1:
        return columns.index(name)
    if columns.count(name) > 1:
        raise WorkloadError(
            "InputInvalid", f"the header has {columns.count(name)} columns {name.decode()}, one is needed"
        )
    # It may be a table of another format, which the Go worker reads.
    raise unsupported(f"an input without a tab-separated column {name.decode()}")


def _lines(chunks: Iterator[bytes], limit: int) -> Iterator[tuple[bytes, bool]]:
    """Yield lines without their ends; a line beyond the limit as its beginning and True."""
    rest = b""
    skipped: bytes | None = None  # the beginning of a line that is being passed over
    for chunk in chunks:
        pieces = chunk.split(b"\n")
        if len(pieces) > 1 and skipped is not None:
            yield skipped, True
            skipped, pieces[0] = None, b""
            pieces = pieces[1:]
        elif skipped is not None:
            continue
        pieces[0] = rest + pieces[0]
        rest = pieces.pop()
        for line in pieces:
            yield _finish(line, limit)
        if len(rest) > limit + 1:  # one more may be the CR of a line of just the limit
            skipped, rest = rest[: min(_KEPT_PREFIX, limit)], b""
    if skipped is not None:
        yield skipped, True
    elif rest:
        yield _finish(rest, limit)


def _finish(line: bytes, limit: int) -> tuple[bytes, bool]:
    line = line.removesuffix(b"\r")
    if len(line) > limit:
        return line[: min(_KEPT_PREFIX, limit)], True
    return line, False


def _chunks(file: BinaryIO) -> Iterator[bytes]:
    """Yield the input, decompressed as its first bytes say."""
    start = file.read(6)
    file.seek(0)
    if start.startswith(b"\x1f\x8b"):
        return _gunzip(file)
    if start.startswith(b"\x28\xb5\x2f\xfd") or (start[1:4] == b"\x2a\x4d\x18" and start[0] & 0xF0 == 0x50):
        return _unzstd(file)
    for magic, name in _FOREIGN:
        if start.startswith(magic):
            raise WorkloadError(
                "InputInvalid", f"the input is {name}; it must be UTF-8 text, plain or compressed with gzip or zstd"
            )
    return iter(lambda: file.read(_CHUNK), b"")


def _gunzip(file: BinaryIO) -> Iterator[bytes]:
    try:
        with gzip.GzipFile(fileobj=file) as stream:
            while chunk := stream.read(_CHUNK):
                yield chunk
    except EOFError as e:
        raise WorkloadError("InputCorrupt", "the gzip data ends too early") from e
    except (gzip.BadGzipFile, zlib.error) as e:
        raise WorkloadError("InputCorrupt", "the gzip data is damaged") from e


def _unzstd(file: BinaryIO) -> Iterator[bytes]:
    decompressor = zstandard.ZstdDecompressor(max_window_size=_MAX_WINDOW)
    frame = None
    try:
        while data := file.read(_ZSTD_CHUNK):
            while data:
                if frame is None:
                    frame = decompressor.decompressobj()
                yield frame.decompress(data)
                data = frame.unused_data if frame.eof else b""
                if frame.eof:
                    frame = None
    except zstandard.ZstdError as e:
        raise WorkloadError("InputCorrupt", "the zstd data is damaged or needs a window of more than 128 MiB") from e
    if frame is not None:
        raise WorkloadError("InputCorrupt", "the zstd data ends too early")
