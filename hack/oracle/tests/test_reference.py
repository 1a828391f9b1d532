"""Tests of the reference program, with values worked out by hand where it matters."""

from __future__ import annotations

import gzip
import io
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest
import zstandard
from rdkit import Chem, DataStructs

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import reference as ref

HEADER = "chembl_id\tcanonical_smiles\n"
TABLE = HEADER + "A\tCCO\nB\tCCCO\nC\tOCC\nD\tnonsense\nE\tc1ccccc1O\nF\tCCN\n"


def run(table: str | bytes, **parameters: object) -> str:
    out = io.BytesIO()
    data = table.encode() if isinstance(table, str) else table
    ref.search(data, ref.Parameters(**parameters), out)  # type: ignore[arg-type]
    return out.getvalue().decode()


def ids(table: str | bytes, **parameters: object) -> list[str]:
    return [line.split(",")[1] for line in run(table, **parameters).split("\r\n")[1:-1]]


def scores(*counts: tuple[str, int, int]) -> list[ref.Score]:
    return [scored(id, "C", common, union) for id, common, union in counts]


def scored(id: str, smiles: str, common: int, union: int) -> ref.Score:
    return ref.Score(id, smiles, Fraction(common, union), common / union)


def select(hits: list[ref.Score], **parameters: object) -> list[str]:
    if "threshold" in parameters:
        parameters["threshold"] = ref.parse_decimal(str(parameters["threshold"]))
    return [h.id for h in ref.select(hits, ref.Parameters(query_smiles="C", **parameters))]  # type: ignore[arg-type]


def test_final_bytes() -> None:
    assert run(TABLE, query_id="A", top_k=2) == (
        "rank,chembl_id,canonical_smiles,similarity\r\n1,B,CCCO,0.555556\r\n2,F,CCN,0.333333\r\n"
    )


def test_similarity_is_rdkits() -> None:
    smiles = ["CCO", "CCCO", "c1ccccc1O", "CC(=O)Oc1ccccc1C(=O)O", "[Na+].[Cl-]", "C"]
    table = HEADER + "".join(f"M{i}\t{s}\n" for i, s in enumerate(smiles))
    query = ref.morgan(2, 2048).GetFingerprint(Chem.MolFromSmiles("CC(=O)O"))
    want = {
        f"M{i}": f"{DataStructs.TanimotoSimilarity(query, ref.morgan(2, 2048).GetFingerprint(Chem.MolFromSmiles(s))):.6f}"
        for i, s in enumerate(smiles)
    }
    got = dict(line.split(",")[1::2] for line in run(table, query_smiles="CC(=O)O").split("\r\n")[1:-1])
    assert got == want


def test_query_molecule_is_left_out_by_id_and_by_structure() -> None:
    assert ids(TABLE, query_id="A") == ["B", "F", "E"]
    assert ids(TABLE, query_smiles="C(O)C") == ["B", "F", "E"]
    assert "A" not in ids(HEADER + "A\tCCO\nA\tCCCC\nB\tCCCO\n", query_id="A")
    assert ids(HEADER + "L\tC[C@H](N)C(=O)O\nD\tC[C@@H](N)C(=O)O\n", query_id="L") == ["D"]


def test_query_id_is_looked_for_in_the_whole_input() -> None:
    assert ids(TABLE, query_id="F", max_rows=2) == ["A", "B"]
    assert ids(HEADER + "Q\tnonsense\nB\tCCCO\nQ\tCCO\nQ\tCCCO\n", query_id="Q") == ["B"]
    with pytest.raises(ref.Refused, match="no row with a valid SMILES has the id 'D'"):
        ids(TABLE, query_id="D")
    with pytest.raises(ref.Refused, match="'a'"):
        ids(TABLE, query_id="a")


def test_max_rows_counts_rejected_rows_and_no_blank_lines() -> None:
    table = HEADER + "\nA\tCC\n\r\nB\tnonsense\n\nC\tCCC\nD\tCCCC\n"
    assert ids(table, query_smiles="O", max_rows=3, threshold_direction="less") == ["A", "C"]


def test_ledger_accounts_for_every_row() -> None:
    out = io.BytesIO()
    ledger = ref.search(TABLE.encode() + b"short\n\xff\tC\n", ref.Parameters(query_id="A"), out)
    assert ledger == ref.Ledger(read=8, scored=3, excluded=2, rejected=3)


def test_order_and_ties() -> None:
    hits = scores(
        ("b", 1, 2), ("a", 2, 4), ("Z", 3, 6), ("é", 1, 2), ("c", 2, 3), ("\U0001f600", 1, 2), ("\uffff", 1, 2)
    )
    assert select(hits) == ["c", "Z", "a", "b", "é", "\uffff", "\U0001f600"]
    assert select(hits, threshold_direction="less") == ["Z", "a", "b", "é", "\uffff", "\U0001f600", "c"]
    assert select(hits, top_k=2) == ["c", "Z"]
    same = [scored("a", "N", 1, 2), scored("a", "C", 1, 2)]
    assert [h.smiles for h in ref.select(same, ref.Parameters(query_smiles="C"))] == ["C", "N"]


def test_similarities_that_print_alike_keep_their_order() -> None:
    hits = scores(("a", 333333, 1000000), ("b", 1, 3))
    assert hits[0].decimal() == hits[1].decimal()
    assert select(hits) == ["b", "a"]


@pytest.mark.parametrize(
    ("threshold", "greater", "less"),
    [
        ("0.7", ["h", "i"], ["i", "l"]),
        ("0.70", ["h", "i"], ["i", "l"]),
        ("7e-1", ["h", "i"], ["i", "l"]),
        ("0.700000000000000001", ["h"], ["i", "l"]),
        ("0.699999999999999999", ["h", "i"], ["l"]),
        ("0", ["h", "i", "l"], []),
        ("1", [], ["h", "i", "l"]),
    ],
)
def test_threshold_is_exact(threshold: str, greater: list[str], less: list[str]) -> None:
    hits = scores(("h", 71, 101), ("i", 7, 10), ("l", 69, 99))
    assert sorted(select(hits, threshold=threshold)) == greater
    assert sorted(select(hits, threshold=threshold, threshold_direction="less")) == less


def test_threshold_between_two_doubles() -> None:
    # Both texts read as the same double as 1/3; the first is more, the second less.
    assert float("0.33333333333333334") == 1 / 3 == float("0.33333333333333333")
    assert select(scores(("t", 1, 3)), threshold="0.33333333333333334") == []
    assert select(scores(("t", 1, 3)), threshold="0.33333333333333333") == ["t"]


def test_empty_fingerprints() -> None:
    # An empty SMILES is a molecule without atoms to RDKit.
    table = HEADER + "empty\t\nmethane\tC\n"
    assert run(table, query_smiles="C").endswith("\r\n1,empty,,0.000000\r\n")
    assert ref.similarity(0, 0, 0, ref.Parameters(query_smiles="C")) == (1, 1.0)
    assert ref.Score("x", "", Fraction(1), 1.0).decimal() == "1.000000"


MEASURES = {
    "dice": ({}, DataStructs.DiceSimilarity),
    "cosine": ({}, DataStructs.CosineSimilarity),
    "tversky": (
        {"alpha": Fraction(9, 10), "beta": Fraction(1, 4)},
        lambda a, b: DataStructs.TverskySimilarity(a, b, 0.9, 0.25),
    ),
}


@pytest.mark.parametrize("measure", MEASURES)
def test_measures_are_rdkits(measure: str) -> None:
    weights, rdkit = MEASURES[measure]
    smiles = ["CCO", "CCCO", "c1ccccc1O", "CC(=O)Oc1ccccc1C(=O)O", "[Na+].[Cl-]", "C"]
    table = HEADER + "".join(f"M{i}\t{s}\n" for i, s in enumerate(smiles))
    generator = ref.morgan(1, 128)
    query = generator.GetFingerprint(Chem.MolFromSmiles("CC(=O)O"))
    want = {f"M{i}": f"{rdkit(query, generator.GetFingerprint(Chem.MolFromSmiles(s))):.6f}" for i, s in enumerate(smiles)}
    text = run(table, query_smiles="CC(=O)O", measure=measure, radius=1, bits=128, **weights)
    assert dict(line.split(",")[1::2] for line in text.split("\r\n")[1:-1]) == want
    # The threshold of exactly the similarity of a hit includes it; of cosine, as its square.
    assert ref.similarity(4, 9, 3, ref.Parameters(query_smiles="C", measure="cosine")) == (Fraction(1, 4), 0.5)


def test_formats_give_the_same_hits() -> None:
    rows = [("A", "CCO"), ("B", "CCCO"), ("C", "c1ccccc1O"), ("D", "CCN")]
    fingerprints = {i: ref.morgan(2, 2048).GetFingerprint(Chem.MolFromSmiles(s)) for i, s in rows}
    texts = {
        "tsv": HEADER + "".join(f"{i}\t{s}\n" for i, s in rows),
        "csv": "canonical_smiles,chembl_id\r\n" + "".join(f'"{s}",{i}\r\n' for i, s in rows),
        "smi": "".join(f"{s} {i}\n" for i, s in rows),
        "fps": "#FPS1\n#num_bits=2048\n"
        + "".join(f"{DataStructs.BitVectToFPSText(f)}\t{i}\n" for i, f in fingerprints.items()),
    }
    want = run(texts["tsv"], query_id="A")
    assert run(texts["csv"], query_id="A", format="csv") == want
    assert run(texts["smi"], query_id="A", format="smi") == want
    without = [line.split(",") for line in run(texts["fps"], query_id="A", format="fps").split("\r\n")[1:-1]]
    assert [[*w[:2], "", w[3]] for w in (line.split(",") for line in want.split("\r\n")[1:-1])] == without


def test_fields_are_quoted_only_where_needed() -> None:
    table = HEADER + 'a,b\tC\nsay "hi"\tCC\ncr\rcr\tCCC\n plain\tCCCC\n\'q\tCCCCC\n'
    lines = run(table, query_smiles="O", threshold_direction="less")
    for field in ('"a,b"', '"say ""hi"""', '"cr\rcr"', ", plain,", ",'q,"):
        assert field in lines


def test_quotes_in_the_input_are_characters() -> None:
    assert ids(HEADER + '"A\tCC\nB"\tCCC\n', query_smiles="O", threshold_direction="less") == ['"""A"', '"B"""']


@pytest.mark.parametrize(
    "data",
    [
        "\ufeff" + TABLE,
        TABLE.replace("\n", "\r\n"),
        TABLE.rstrip("\n"),
        "\n\r\n" + TABLE.replace("\n", "\n\n"),
        "x\tcanonical_smiles\ty\tchembl_id\n"
        + "".join(f"1\t{s}\t\t{i}\n" for i, s in (r.split("\t") for r in TABLE.splitlines()[1:])),
        gzip.compress(TABLE.encode()),
        gzip.compress(TABLE[:40].encode()) + gzip.compress(TABLE[40:].encode()),
        zstandard.compress(TABLE.encode()),
        zstandard.compress(TABLE[:40].encode()) + zstandard.compress(TABLE[40:].encode()),
        b"\x50\x2a\x4d\x18\x03\x00\x00\x00abc" + zstandard.compress(TABLE.encode()),
        zstandard.ZstdCompressor(write_content_size=False).compress(TABLE.encode()),
    ],
    ids=[
        "bom",
        "crlf",
        "no-end",
        "blank",
        "columns",
        "gzip",
        "gzip-members",
        "zstd",
        "zstd-frames",
        "zstd-skippable",
        "zstd-unsized",
    ],
)
def test_forms_of_the_input(data: str | bytes) -> None:
    assert run(data, query_id="A") == run(TABLE, query_id="A")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "is empty"),
        (b"\n\r\n", "is empty"),
        (HEADER.encode(), "no rows"),
        (b"id\tcanonical_smiles\nA\tC\n", "one column chembl_id is needed; columns found: id, canonical_smiles"),
        (b"chembl_id\tcanonical_smiles\tchembl_id\nA\tC\tA\n", "one column chembl_id"),
        (b"chembl_id,canonical_smiles\nA,C\n", "one column chembl_id"),
        (gzip.compress(TABLE.encode())[:-12], "corrupt"),
        (gzip.compress(TABLE.encode())[:-8] + b"\0" * 8, "corrupt"),
        (zstandard.compress(TABLE.encode())[:-5], "corrupt"),
        (b"\x28\xb5\x2f\xfdgarbage", "corrupt"),
    ],
)
def test_inputs_that_are_refused(data: bytes, message: str) -> None:
    with pytest.raises(ref.Refused, match=message):
        run(data, query_smiles="C")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({}, "exactly one of"),
        ({"query_id": "A", "query_smiles": "C"}, "exactly one of"),
        (
            {
                "query_smiles": "C(",
            },
            "no valid SMILES",
        ),
        ({"query_id": "A", "top_k": 0}, "top_k"),
        ({"query_id": "A", "threshold": Fraction(3, 2)}, "threshold"),
        ({"query_id": "A", "threshold_direction": "above"}, "threshold_direction"),
        ({"query_id": "A", "max_rows": 0}, "max_rows"),
    ],
)
def test_parameters_that_are_refused(parameters: dict[str, object], message: str) -> None:
    with pytest.raises(ref.Refused, match=message):
        run(TABLE, **parameters)


@pytest.mark.parametrize("text", ["", ".5", "1.", "+1", "01", "0,5", "NaN", "1/2", " 1", "0x1", "1_0", "0." + "1" * 19])
def test_texts_that_are_no_decimal(text: str) -> None:
    with pytest.raises(ref.Refused):
        ref.parse_decimal(text)


def test_a_line_that_is_too_long_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ref, "MAX_LINE_BYTES", 9)
    rows = list(ref.read_table(HEADER.encode() + b"A\tCCCCCCC\nB\tCCCCCCCC\n"))
    assert [r.smiles for r in rows] == ["CCCCCCC", None]


def test_program(tmp_path: Path) -> None:
    table = tmp_path / "t.tsv"
    table.write_text(TABLE)

    def program(*arguments: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [sys.executable, ref.__file__, "--input", str(table), *arguments], capture_output=True, check=False
        )

    done = program("--query-id", "A", "--threshold", "0.4", "--top-k", "5")
    assert done.returncode == 0
    assert done.stdout == b"rank,chembl_id,canonical_smiles,similarity\r\n1,B,CCCO,0.555556\r\n"
    assert done.stderr == b"read=6 scored=3 excluded=2 rejected=1\n"
    refused = program("--query-id", "nobody")
    assert (refused.returncode, refused.stdout) == (1, b"")
    assert refused.stderr == b"reference.py: no row with a valid SMILES has the id 'nobody'\n"
    assert program("--threshold", "much").returncode == 1
    assert program("--bogus").returncode == 2
