"""Prints RDKit's Tanimoto similarities, for the Go test beside this file.

Reads one SMILES a line from standard input and writes to standard output, for
each of the first molecules, its similarity to every molecule by
BulkTanimotoSimilarity: doubles, least significant byte first.
"""

import argparse
import struct
import sys

from rdkit import Chem, DataStructs
from rdkit.Chem import rdFingerprintGenerator


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--queries", type=int, required=True)
    options = parser.parse_args()
    generator = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)
    fingerprints = []
    for line in sys.stdin:
        molecule = Chem.MolFromSmiles(line.rstrip("\n"))
        if molecule is None:
            sys.exit(f"no molecule: {line!r}")
        fingerprints.append(generator.GetFingerprint(molecule))
    for query in fingerprints[: options.queries]:
        scores = DataStructs.BulkTanimotoSimilarity(query, fingerprints)
        sys.stdout.buffer.write(struct.pack(f"<{len(scores)}d", *scores))


if __name__ == "__main__":
    main()
