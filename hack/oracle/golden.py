#!/usr/bin/env python3
"""Print the golden answers that workers prove their engine with, by RDKit.

    golden.py < smiles.txt > workloads/golden/golden.tsv

Standard input has one SMILES a line. Of each, the output has the SMILES, a tab,
and the SHA-256 of the bytes of two Morgan fingerprints, one after the other: of
radius 2 and 2048 bits, and of radius 4 and 8192 bits, with bit i as bit i % 8 of
byte i // 8; or the word refused, if RDKit makes no molecule of it. The first
line names the release of RDKit.
"""

from __future__ import annotations

import hashlib
import sys

from rdkit import Chem, DataStructs, rdBase
from rdkit.Chem import rdFingerprintGenerator

GENERATORS = [rdFingerprintGenerator.GetMorganGenerator(radius=r, fpSize=n) for r, n in ((2, 2048), (4, 8192))]


def answer(smiles: str) -> str:
    """Return the digest of a molecule's fingerprints, or refused."""
    mol = Chem.MolFromSmiles(smiles)
    if mol is None:
        return "refused"
    bits = b"".join(DataStructs.BitVectToBinaryText(g.GetFingerprint(mol)) for g in GENERATORS)
    return hashlib.sha256(bits).hexdigest()


def main() -> None:
    """Answer every line."""
    rdBase.DisableLog("rdApp.*")
    print(f"# rdkit-model/{rdBase.rdkitVersion}")
    for line in sys.stdin:
        smiles = line.rstrip("\n")
        print(f"{smiles}\t{answer(smiles)}")


if __name__ == "__main__":
    main()
