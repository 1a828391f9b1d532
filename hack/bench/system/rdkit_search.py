"""One similarity search with RDKit in one process: prints the rows scored and the seconds taken."""

from __future__ import annotations

import csv
import gzip
import heapq
import itertools
import sys
import time
from pathlib import Path

from rdkit import Chem, DataStructs, rdBase
from rdkit.Chem import rdFingerprintGenerator


def main(path: Path, rows: int, query: str) -> None:
    """Score the first rows of a table."""
    rdBase.DisableLog("rdApp.*")
    generator = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)
    begin = time.perf_counter()
    target = generator.GetFingerprint(Chem.MolFromSmiles(query))
    scores = []
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as table:
        reader = csv.DictReader(table, delimiter="\t", quoting=csv.QUOTE_NONE)
        for row in itertools.islice(reader, rows):
            mol = Chem.MolFromSmiles(row["canonical_smiles"])
            if mol is not None:
                similarity = DataStructs.TanimotoSimilarity(target, generator.GetFingerprint(mol))
                scores.append((similarity, row["chembl_id"]))
    heapq.nlargest(100, scores)
    print(len(scores), time.perf_counter() - begin)


main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
