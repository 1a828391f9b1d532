// Package perceive turns a molecule as written into a molecule as a chemist
// sees it: hydrogens folded into their atoms, charges of common groups set
// right, valence checked, rings found, a Kekulé form assigned, radicals counted
// and aromaticity perceived.
//
// The steps and their order are those of RDKit's MolFromSmiles, release
// 2026.09, and so are the results, including which molecules are refused:
//
//	RemoveHydrogens          explicit [H] atoms become counts
//	cleanUp                  hypervalent N, P and halogen oxides become zwitterions
//	cleanUpOrganometallics   surplus bonds to metals become dative
//	valence                  explicit and implicit valence, strict
//	rings                    blocks and relevant cycles
//	Kekulé form              alternating bonds for lower-case atoms
//	radicals                 unpaired electrons of bracket atoms
//	aromaticity              Hückel's rule over rings and fused rings
//	hydrogens                counts that aromatic atoms need to keep
//
// A Perceiver holds the scratch memory of all steps; after a few molecules
// nothing is allocated any more.
package perceive
