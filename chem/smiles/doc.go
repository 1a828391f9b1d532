// Package smiles reads SMILES strings into molecular graphs, exactly as written.
//
// The grammar is the one that RDKit accepts (release 2026.09), which follows
// OpenSMILES with extensions: dative bonds -> and <-, the unspecified bond ~,
// the quadruple bond $, ring numbers up to %(99999), atomic numbers [#6], quoted
// and systematic names of the heaviest elements, and after a space the CXSMILES
// fields that change the graph. Hydrogen atoms stay as written, valence is not
// checked, and lower-case atoms only carry a flag: that is perception's work.
//
// Reading is one pass over the bytes with an explicit stack of branches, so the
// depth of nesting is limited by memory alone.
package smiles
