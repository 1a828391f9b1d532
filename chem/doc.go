// Package chem computes from SMILES strings the Morgan fingerprints that RDKit
// computes, bit for bit, in pure Go and without allocating. It imports nothing
// but the standard library and can be used alone.
//
// An Engine is the scratch memory of one goroutine:
//
//	e := chem.New(chem.Options{}) // radius 2, 2048 bits
//	fp := make([]uint64, 32)
//	if err := e.Fingerprint(fp, []byte("CC(=O)Oc1ccccc1C(=O)O")); err != nil {
//		…
//	}
//
// An error means that RDKit's MolFromSmiles returns no molecule for the string:
// a *smiles.SyntaxError points at the byte where it stops being SMILES, a
// *SanitizeError names the atoms that make no acceptable structure.
//
// Bit i of a fingerprint is bit i%64 of word i/64; in bytes, least significant
// first, that is RDKit's and the FPS format's order.
//
// The parts are packages of their own: smiles reads, mol holds the graph,
// perceive finds rings, valence and aromaticity, morgan makes the bits, and
// stereo tells whether two strings spell the same molecule.
package chem
