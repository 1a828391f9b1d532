"""RDKit as SciMesh uses it: Morgan fingerprints of radius 2 and 2048 bits."""

from __future__ import annotations

from collections.abc import Callable

from rdkit import Chem, rdBase
from rdkit.Chem import rdFingerprintGenerator
from rdkit.DataStructs import ExplicitBitVect

# ENGINE names what computes, and after it the release whose answers it gives:
# engines of one model are bit-equal.
ENGINE = f"rdkit/{rdBase.rdkitVersion} rdkit-model/{rdBase.rdkitVersion}"


class Molecules:
    """Reads SMILES and compares their fingerprints."""

    def __init__(self) -> None:
        rdBase.DisableLog("rdApp.*")
        self._morgan = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)

    def read(self, smiles: bytes) -> Chem.Mol | None:
        """Return the molecule, or None if RDKit refuses it."""
        return Chem.MolFromSmiles(smiles.decode())

    def fingerprint(self, mol: Chem.Mol) -> ExplicitBitVect:
        """Return the fingerprint of a molecule."""
        bits: ExplicitBitVect = self._morgan.GetFingerprint(mol)
        return bits

    def comparer(self, query: Chem.Mol) -> Callable[[bytes], tuple[int, int, bool] | None]:
        """Return a function from a SMILES to (common bits, union of bits, is the query molecule).

        The function returns None for a SMILES that RDKit refuses. Only molecules of
        equal fingerprints are compared by their canonical SMILES.
        """
        bits = self.fingerprint(query)
        ones = bits.GetNumOnBits()
        canonical = Chem.MolToSmiles(query)

        def compare(smiles: bytes) -> tuple[int, int, bool] | None:
            mol = self.read(smiles)
            if mol is None:
                return None
            other = self.fingerprint(mol)
            common = (bits & other).GetNumOnBits()
            union = ones + other.GetNumOnBits() - common
            return common, union, common == union and Chem.MolToSmiles(mol) == canonical

        return compare
