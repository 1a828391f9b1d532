"""Times RDKit for the Go program beside this file.

Reads the number of strings and the strings, a line each; then, for every
further line, parses and fingerprints all of them once and prints how many
seconds of processor time that took.
"""

import sys
import time

from rdkit import Chem, RDLogger, rdBase
from rdkit.Chem import rdFingerprintGenerator

RDLogger.DisableLog("rdApp.*")
print(rdBase.rdkitVersion, flush=True)
generator = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)
count = int(sys.stdin.readline())
strings = [sys.stdin.readline().rstrip("\n") for _ in range(count)]
for _ in sys.stdin:
    start = time.process_time()
    for smiles in strings:
        molecule = Chem.MolFromSmiles(smiles)
        if molecule is not None:
            generator.GetFingerprint(molecule)
    print(time.process_time() - start, flush=True)
