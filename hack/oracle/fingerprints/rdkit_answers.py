"""Answers what RDKit makes of SMILES strings, for the Go test beside this file.

Reads one string a line from standard input, as bytes, and writes one record
each to standard output: a byte that says whether RDKit accepts the string and,
if so, the bits of its Morgan fingerprint (bit i is bit i % 8 of byte i // 8),
its canonical SMILES, a random spelling of the molecule, and a
byte that says whether that spelling leads to the same canonical SMILES. Texts
are preceded by their length, four bytes, least significant first.
"""

import argparse
import struct
import sys

from rdkit import Chem, DataStructs, RDLogger, rdBase
from rdkit.Chem import rdFingerprintGenerator


def text(value: str) -> bytes:
    data = value.encode()
    return struct.pack("<I", len(data)) + data


def answer(smiles: bytes, generator, seed: int, respell: bool) -> bytes:
    try:
        molecule = Chem.MolFromSmiles(smiles)
    except Exception:  # RDKit lets some internal errors through
        molecule = None
    if molecule is None:
        return b"\0"
    bits = DataStructs.BitVectToBinaryText(generator.GetFingerprint(molecule))
    try:
        canonical = Chem.MolToSmiles(molecule)
    except Exception:
        canonical = ""
    spelling, same = "", False
    if respell and canonical:
        spelling = Chem.MolToRandomSmilesVect(molecule, 1, randomSeed=seed)[0]
        again = Chem.MolFromSmiles(spelling)
        same = again is not None and Chem.MolToSmiles(again) == canonical
    return b"\1" + bits + text(canonical) + text(spelling) + bytes([same])


def main() -> None:
    RDLogger.DisableLog("rdApp.*")
    parser = argparse.ArgumentParser()
    parser.add_argument("--radius", type=int, default=2)
    parser.add_argument("--bits", type=int, default=2048)
    parser.add_argument("--respell", action="store_true")
    options = parser.parse_args()
    out = sys.stdout.buffer
    out.write(text(rdBase.rdkitVersion))
    generator = rdFingerprintGenerator.GetMorganGenerator(
        radius=options.radius, fpSize=options.bits
    )
    for number, line in enumerate(sys.stdin.buffer):
        out.write(answer(line.removesuffix(b"\n"), generator, number + 1, options.respell))
    out.flush()


if __name__ == "__main__":
    main()
