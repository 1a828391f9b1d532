"""The answers by which RDKit here proves to be the release that the engine's name claims.

An answer is the SHA-256 of the bytes of two Morgan fingerprints of a SMILES, one
after the other: of radius 2 and 2048 bits, and of radius 4 and 8192 bits, with bit
i as bit i % 8 of byte i // 8; or refused. The coordinator compares them with its own.
"""

from __future__ import annotations

import hashlib
from importlib.resources import files

from rdkit import Chem, DataStructs, rdBase
from rdkit.Chem import rdFingerprintGenerator

REFUSED = "refused"
_PARAMETERS = ((2, 2048), (4, 8192))  # radius, bits


def answers() -> dict[str, str]:
    """Answer for every molecule of golden.txt."""
    rdBase.DisableLog("rdApp.*")
    generators = [rdFingerprintGenerator.GetMorganGenerator(radius=r, fpSize=n) for r, n in _PARAMETERS]
    answered = {}
    for smiles in files(__package__).joinpath("golden.txt").read_text().splitlines():
        mol = Chem.MolFromSmiles(smiles)
        bits = [] if mol is None else [DataStructs.BitVectToBinaryText(g.GetFingerprint(mol)) for g in generators]
        answered[smiles] = hashlib.sha256(b"".join(bits)).hexdigest() if bits else REFUSED
    return answered
